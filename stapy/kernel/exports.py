"""What a kernel exports to modules: its ``Module.symvers``, mapped and searched in place."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path

from stapy.record import Record

_MANY = 64  # so many searches through the file cost as much as a set of its names


class Export(Record):
    """One exported symbol; ``owner`` is "vmlinux" or a module's path in the tree."""

    name: str
    crc: int
    owner: str
    gpl_only: bool
    namespace: str


class Exports:
    """The exported symbols of one kernel; empty when there is no such file."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._data: mmap.mmap | bytes | None = None
        self._asked = 0
        self._names: frozenset[bytes] | None = None

    def _map(self) -> mmap.mmap | bytes:
        if self._data is None:
            self._data = b""
            if self.path is not None:
                try:
                    with self.path.open("rb") as file:
                        self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                except (OSError, ValueError):
                    self._data = b""
        return self._data

    @property
    def is_known(self) -> bool:
        """False when no list of exports was found."""
        return len(self._map()) > 0

    def _line(self, name: str) -> int:
        """Find the start of the line that exports ``name``, -1 when there is none."""
        data, needle = self._map(), b"\t%b\t" % name.encode()
        at = data.find(needle)
        while at >= 0:
            start = data.rfind(b"\n", 0, at) + 1
            if data.find(b"\t", start, at) < 0:  # the second field: not an owner of that name
                return start
            at = data.find(needle, at + 1)
        return -1

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        self._asked += 1
        if self._asked < _MANY:
            return self._line(name) >= 0
        if self._names is None:
            rows = (line.split(b"\t", 2) for line in bytes(self._map()).split(b"\n"))
            self._names = frozenset(row[1] for row in rows if len(row) == 3)
        return name.encode() in self._names

    def get(self, name: str) -> Export | None:
        """Find the export of that name; None when the kernel has none."""
        start = self._line(name)
        if start < 0:
            return None
        data = self._map()
        end = data.find(b"\n", start)
        return _parse(data[start : end if end >= 0 else len(data)])

    def __iter__(self) -> Iterator[Export]:
        for line in bytes(self._map()[:]).splitlines():
            row = _parse(line)
            if row is not None:
                yield row


def _parse(line: bytes) -> Export | None:
    fields = line.decode("utf-8", "replace").split("\t")
    if len(fields) < 4:
        return None
    try:
        crc = int(fields[0], 16)
    except ValueError:
        return None
    namespace = fields[4].strip() if len(fields) > 4 else ""
    return Export(fields[1], crc, fields[2], "GPL" in fields[3], namespace)
