"""The build configuration of a kernel, parsed when the first option is asked for."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path


class Config(Mapping[str, str]):
    """``CONFIG_X`` -> the text after ``=`` (strings keep their quotes); absent when not set.

    The first readable file of ``candidates`` counts.
    """

    def __init__(self, candidates: list[Path]) -> None:
        self._candidates = candidates
        self._values: dict[str, str] | None = None
        self._text: str | None = None
        self.path: Path | None = None

    def _written(self) -> str:
        """Read the file, once; "" without one."""
        if self._text is None:
            self._text = ""
            for path in self._candidates:
                text = _read(path)
                if text:
                    self.path, self._text = path, text
                    break
        return self._text

    def _load(self) -> dict[str, str]:
        if self._values is None:
            self._values = parse(self._written())
        return self._values

    @property
    def is_known(self) -> bool:
        """False when no configuration was found: then every option looks unset."""
        return bool(self._load())

    def __getitem__(self, name: str) -> str:
        return self._load()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._load())

    def __len__(self) -> int:
        return len(self._load())

    def is_enabled(self, name: str) -> bool:
        """Tell whether an option is ``y`` or ``m``.

        Who asks nothing else is spared the ten thousand lines: those of the name are looked at.
        """
        if self._values is None:
            return _value(self._written(), name) in ("y", "m")
        return self._values.get(name) in ("y", "m")

    def text(self, name: str) -> str:
        """Return the value of a string option without its quotes, "" when it is not set."""
        return self._load().get(name, "").strip('"')


def parse(text: str) -> dict[str, str]:
    """Parse a ``.config``: option to value, only those that are set."""
    values: dict[str, str] = {}
    for line in text.splitlines():
        if line.startswith("CONFIG_"):
            name, equals, value = line.partition("=")
            if equals:
                values[name] = value
    return values


def _value(text: str, name: str) -> str | None:
    """Find what `parse` has for an option, None when it is not set."""
    start = f"{name}="
    at = text.rfind(f"\n{start}") + 1  # the last counts
    if not text.startswith(start, at):
        return None
    end = text.find("\n", at)
    lines = text[at + len(start) : end if end >= 0 else None].splitlines()
    return lines[0] if lines else ""


def _read(path: Path) -> str:
    try:
        data = path.read_bytes()
        if data[:2] == b"\x1f\x8b":
            data = zlib.decompress(data, 31)
    except (OSError, zlib.error):
        return ""
    return data.decode("utf-8", "replace")
