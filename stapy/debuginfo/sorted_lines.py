"""Sorted text lines that are searched where they lie, without making objects of them.

An index of 100 000 names costs nothing to open in this form and some
microseconds per question.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stapy.debuginfo.elf import Buffer


class SortedLines:
    """Sorted lines between ``start`` and ``end`` of a buffer; each ends with a newline."""

    def __init__(self, data: Buffer, start: int = 0, end: int | None = None) -> None:
        self._data = bytes(data) if isinstance(data, memoryview) else data
        self.start = start
        self.end = len(data) if end is None else end

    @staticmethod
    def encode(lines: Iterable[bytes]) -> bytes:
        """Sort some lines and join them as one text."""
        rows = sorted(lines)
        return b"\n".join(rows) + b"\n" if rows else b""

    def text(self) -> bytes:
        """Copy all lines as one text."""
        return bytes(self._data[self.start : self.end])

    def __bool__(self) -> bool:
        return self.end > self.start

    def _first(self, key: bytes) -> int:
        """Find the position of the first line that is not less than ``key``."""
        data, low, high = self._data, self.start, self.end
        while low < high:
            middle = data.rfind(b"\n", low, (low + high) // 2) + 1 or low
            end = data.find(b"\n", middle, self.end)
            end = self.end if end < 0 else end
            if data[middle:end] < key:
                low = min(end + 1, self.end)
            else:
                high = middle
        return low

    def range(self, prefix: bytes) -> tuple[int, int]:
        """Find the part of the buffer whose lines start with ``prefix``: start and end."""
        low = self._first(prefix)
        high = self._first(prefix + b"\xff" * 8) if prefix else self.end
        return low, high

    def text_of(self, prefix: bytes) -> str:
        """Read the lines that start with ``prefix``; each byte is one character."""
        low, high = self.range(prefix)
        return str(self._data[low:high], "latin-1")

    def with_prefix(self, prefix: bytes) -> Iterator[bytes]:
        """Yield the lines that start with ``prefix``, without it."""
        low, high = self.range(prefix)
        skip = len(prefix)
        # Not splitlines(): a damaged name may hold a carriage return.
        for line in bytes(self._data[low:high]).removesuffix(b"\n").split(b"\n"):
            if line:
                yield line[skip:]

    def get(self, key: bytes) -> list[bytes]:
        """List what follows ``key`` and a space, for each such line."""
        wanted = key + b" "
        at = self._first(wanted)
        found: list[bytes] = []
        while at < self.end:
            end = self._data.find(b"\n", at, self.end)
            end = self.end if end < 0 else end
            line = bytes(self._data[at:end])
            if not line.startswith(wanted):
                break
            found.append(line[len(wanted) :])
            at = end + 1
        return found
