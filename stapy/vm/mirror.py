"""Files that grow in the share appear, as they grow, where the user wants them."""

from __future__ import annotations

from pathlib import Path

from stapy.vm import VmError

_BLOCK = 1 << 20


class Mirror:
    """Copies what was added to the files of one folder into another."""

    def __init__(self, source: Path, target: Path) -> None:
        self.source = source
        self.target = target
        self._done: dict[str, int] = {}
        source.mkdir(parents=True, exist_ok=True)

    def copy(self) -> None:
        """Bring the target up to date: new bytes, new files, files that went.

        Raises VmError when the target cannot be written.
        """
        try:
            self._copy()
        except OSError as error:
            name = error.filename or self.target
            raise VmError(f"Couldn't write output file '{name}': {error.strerror}") from None

    def _copy(self) -> None:
        present = {path.name: path for path in self.source.iterdir()}
        for name in self._done.keys() - present.keys():  # rotated away
            (self.target / name).unlink(missing_ok=True)
            del self._done[name]
        for name, path in present.items():
            done = self._done.get(name, -1)
            if done < 0 or path.stat().st_size < done:
                (self.target / name).write_bytes(b"")
                done = 0
            with path.open("rb") as source, (self.target / name).open("ab") as target:
                source.seek(done)
                while block := source.read(_BLOCK):
                    target.write(block)
                    done += len(block)
            self._done[name] = done
