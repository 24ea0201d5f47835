"""Relocations of files that were not linked: the debug files of kernel modules.

In such a file (``ET_REL``) every section begins at 0 and the numbers in the debug
sections are meaningless until the relocations beside them are applied.  Sections
that the kernel will load are laid out one behind the other, so that an address
tells its section; where the kernel puts them is known when the module is loaded.
"""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right
from itertools import pairwise

from stapy.arch import architecture
from stapy.debuginfo.elf import ET_REL, SHT_REL, SHT_RELA, ElfFile, Section
from stapy.debuginfo.errors import DebuginfoError

SHF_ALLOC = 2
_BASE = 0x100000  # of the first section: 0 stands for no address at all
_GAP = 0x10000  # what lies at a section's end is not at the beginning of the next one
_UNDEFINED, _FIRST_RESERVED, _ABSOLUTE = 0, 0xFF00, 0xFFF1
_ROW = 24
_STORE = {
    1: struct.Struct("<B").pack_into, 2: struct.Struct("<H").pack_into,
    4: struct.Struct("<I").pack_into, 8: struct.Struct("<Q").pack_into,
}  # fmt: skip


def layout(elf: ElfFile) -> list[int]:
    """Choose the address of each section, by number; 0 for those that are not loaded.

    In a linked file symbols have addresses and nothing is to be added: all 0.
    """
    addresses = [0] * len(elf.sections)
    if elf.type != ET_REL:
        return addresses
    at = _BASE
    for number, section in enumerate(elf.sections):
        if section.flags & SHF_ALLOC and section.size:
            align = max(section.alignment, 1)
            at = (at + align - 1) // align * align
            addresses[number] = at
            at += section.size + _GAP
    return addresses


class Relocations:
    """Applies the relocations of one file to copies of its sections."""

    def __init__(self, elf: ElfFile) -> None:
        self._elf = elf
        self.addresses = layout(elf)
        machine = architecture(elf.machine)
        kinds = machine.relocations if machine is not None else None
        if kinds is None:
            raise DebuginfoError(f"{elf.name}: relocations of {elf.machine} are not supported")
        self._kinds = kinds
        self._tables: dict[int, Section] = {}
        for section in elf.sections:
            if section.type == SHT_RELA:
                self._tables[section.info] = section
            elif section.type == SHT_REL and section.name.startswith(".rel.debug"):
                raise DebuginfoError(f"{elf.name}: relocations without addends")
        self._symbols: memoryview | None = None
        self._rows: dict[int, memoryview] = {}
        # Type and symbol of a row -> size, whether relative, value of the symbol.
        self._known: dict[int, tuple[int, bool, int]] = {}

    def has(self, section: int) -> bool:
        """Tell whether a section (by number) has relocations."""
        return section in self._tables

    def is_sorted(self, section: int) -> bool:
        """Tell whether a section's relocations are in the order of their places."""
        places = self._table(section).cast("Q")[::3].tolist() if self.has(section) else []
        return all(a <= b for a, b in pairwise(places))

    def apply(self, section: int, data: bytearray, start: int = 0, end: int | None = None) -> None:
        """Relocate ``data``, a section's content, between two offsets or in whole.

        A part only when the relocations are in order (`is_sorted`).  Doing it twice does no harm.
        """
        if not self.has(section):
            return
        table = self._table(section)
        if end is not None:
            rows = len(table) // _ROW
            words = table.cast("Q")
            low = bisect_left(range(rows), start, key=lambda row: words[3 * row])
            high = bisect_right(range(rows), end - 1, lo=low, key=lambda row: words[3 * row])
            table = table[low * _ROW : high * _ROW]
        try:
            self._run(table, data)
        except (struct.error, IndexError):
            name = self._elf.sections[section].name
            raise DebuginfoError(f"{self._elf.name}: damaged relocations of {name}") from None

    def _run(self, table: memoryview, data: bytearray) -> None:
        known = self._known
        put4, put8 = _STORE[4], _STORE[8]
        for place, info, addend in struct.iter_unpack("<QQq", table):
            found = known.get(info)
            if found is None:
                found = known[info] = self._resolve(info)
            size, relative, value = found
            value += addend
            if relative:
                value -= place
            if size == 4:
                put4(data, place, value & 0xFFFFFFFF)
            elif size == 8:
                put8(data, place, value & 0xFFFFFFFFFFFFFFFF)
            elif size:
                _STORE[size](data, place, value & ((1 << 8 * size) - 1))

    def _resolve(self, info: int) -> tuple[int, bool, int]:
        kind = info & 0xFFFFFFFF
        if kind not in self._kinds:
            raise DebuginfoError(f"{self._elf.name}: relocation of unknown type {kind}")
        size, relative = self._kinds[kind]
        return size, relative, self._symbol(info >> 32)

    def _symbol(self, number: int) -> int:
        """Compute a symbol's address; 0, which is no address, for a symbol of another file.

        Raises `DebuginfoError` for a symbol in no section.
        """
        if self._symbols is None:
            section = self._elf.section(".symtab")
            self._symbols = memoryview(self._elf.content(section) if section else b"")
        section_number, value = struct.unpack_from("<6xHQ", self._symbols, _ROW * number)
        if section_number == _UNDEFINED:
            return 0
        if section_number >= _FIRST_RESERVED or section_number >= len(self.addresses):
            if section_number == _ABSOLUTE:
                return int(value)
            raise DebuginfoError(f"{self._elf.name}: symbol {number} is in no section")
        return int(self.addresses[section_number] + value)

    def _table(self, section: int) -> memoryview:
        found = self._rows.get(section)
        if found is None:
            content = memoryview(self._elf.content(self._tables[section]))
            found = self._rows[section] = content[: len(content) // _ROW * _ROW]
        return found
