"""Single symbols of a big file, found in its tables without reading them all."""

from __future__ import annotations

import struct

from stapy.debuginfo.dwarf.relocate import layout
from stapy.debuginfo.elf import ElfFile

_ROW = struct.Struct("<IBBHQQ")


class SymbolTable:
    """The symbols of one file; its tables are copied on first use."""

    def __init__(self, elf: ElfFile) -> None:
        self._elf = elf
        self._content: tuple[bytes, bytes] | None = None

    def address(self, name: str) -> int | None:
        """The address of the only symbol of a name; None when there is none, or several."""
        if self._content is None:
            self._content = self._read()
        rows, names = self._content
        found = {
            (section, value)
            for offset in _offsets(names, name.encode() + b"\0")
            for section, value in _with_name(rows, offset)
        }
        if len(found) != 1:
            return None
        ((section, value),) = found
        known = section < len(self._elf.sections)
        return value + layout(self._elf)[section] if known else value

    def _read(self) -> tuple[bytes, bytes]:
        elf = self._elf
        table = elf.section(".symtab")
        if table is None or table.link >= len(elf.sections):
            return b"", b""
        return elf.content(table), elf.content(elf.sections[table.link])


def _offsets(names: bytes, text: bytes) -> list[int]:
    """Every place of a text: linkers let names share their tails."""
    found: list[int] = []
    at = names.find(text)
    while at >= 0:
        found.append(at)
        at = names.find(text, at + 1)
    return found


def _with_name(rows: bytes, offset: int) -> list[tuple[int, int]]:
    """``(section, value)`` of the defined symbols whose name is at an offset."""
    found: list[tuple[int, int]] = []
    wanted = offset.to_bytes(4, "little")
    at = rows.find(wanted)
    while at >= 0:
        if at % _ROW.size == 0 and at + _ROW.size <= len(rows):
            _, _, _, section, value, _ = _ROW.unpack_from(rows, at)
            if section:
                found.append((section, value))
        at = rows.find(wanted, at + 1)
    return found
