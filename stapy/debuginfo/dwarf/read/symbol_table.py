"""Single symbols of a big file, found in its tables without reading them all."""

from __future__ import annotations

import struct

from stapy.debuginfo.dwarf.read.relocate import layout
from stapy.debuginfo.elf import ElfFile

_ROW = struct.Struct("<IBBHQQ")
_VALUE = 8  # where the value is in a row


class ElfSymbols:
    """The symbols of one file; its tables are copied on first use."""

    def __init__(self, elf: ElfFile) -> None:
        self._elf = elf
        self._content: tuple[bytes, bytes] | None = None

    def address(self, name: str) -> int | None:
        """Find the address of the only symbol of a name; None for none, or several."""
        place = self._place(name)
        if place is None:
            return None
        section, value = place
        known = section < len(self._elf.sections)
        return value + layout(self._elf)[section] if known else value

    def aliases(self, name: str) -> list[str]:
        """List other names of the only symbol of a name: symbols of the same place."""
        place = self._place(name)
        if place is None:
            return []
        rows, names = self._tables()
        found: list[str] = []
        wanted = place[1].to_bytes(8, "little")
        at = rows.find(wanted)
        while at >= 0:
            start = at - _VALUE
            if start >= 0 and start % _ROW.size == 0:
                text, _, _, section, _, _ = _ROW.unpack_from(rows, start)
                other = names[text : names.find(b"\0", text)].decode("utf-8", "replace")
                if section == place[0] and other and other != name:
                    found.append(other)
            at = rows.find(wanted, at + 1)
        return found

    def _tables(self) -> tuple[bytes, bytes]:
        if self._content is None:
            self._content = self._read()
        return self._content

    def _place(self, name: str) -> tuple[int, int] | None:
        """Find section and value of the only symbol of a name; None for none, or several."""
        rows, names = self._tables()
        found = set(_with_names(rows, set(_offsets(names, name.encode() + b"\0"))))
        return found.pop() if len(found) == 1 else None

    def _read(self) -> tuple[bytes, bytes]:
        elf = self._elf
        table = elf.section(".symtab")
        if table is None or table.link >= len(elf.sections):
            return b"", b""
        return elf.content(table), elf.content(elf.sections[table.link])


def _offsets(names: bytes, text: bytes) -> list[int]:
    """Find every place of a text: linkers let names share their tails."""
    found: list[int] = []
    at = names.find(text)
    while at >= 0:
        found.append(at)
        at = names.find(text, at + 1)
    return found


def _with_names(rows: bytes, offsets: set[int]) -> list[tuple[int, int]]:
    """List ``(section, value)`` of defined symbols whose names are at some offsets.

    A search for the bytes of an offset is many times faster than a look at each row.
    """
    found: list[tuple[int, int]] = []
    for offset in sorted(offsets):
        wanted = offset.to_bytes(4, "little")
        start = rows.find(wanted)
        while start >= 0:
            if start % _ROW.size == 0 and start + _ROW.size <= len(rows):
                _, _, _, section, value, _ = _ROW.unpack_from(rows, start)
                if section:
                    found.append((section, value))
            start = rows.find(wanted, start + 1)
    return found
