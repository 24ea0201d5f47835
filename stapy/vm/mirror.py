"""Files that grow in the share appear, as they grow, where the user wants them."""

from __future__ import annotations

import os
from pathlib import Path

from stapy.run.output import open_file
from stapy.vm.errors import VmError

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
            done, size = self._done.get(name, -1), path.stat().st_size
            if size == done:
                continue
            fresh = not 0 <= done <= size
            # The name may lead elsewhere by now: it is looked at each time.
            fd = open_file(str(self.target / name), is_emptied=fresh)
            done = 0 if fresh else done
            with path.open("rb") as source, os.fdopen(fd, "ab") as target:
                source.seek(done)
                while block := source.read(_BLOCK):
                    target.write(block)
                    done += len(block)
            self._done[name] = done
