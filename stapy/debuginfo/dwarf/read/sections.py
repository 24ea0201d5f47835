"""The debug sections of one file: windows on the map, inflated where they are compressed."""

from __future__ import annotations

from stapy.debuginfo.dwarf.read.relocate import Relocations
from stapy.debuginfo.elf import ET_REL, SHF_COMPRESSED, SHT_NOBITS, Buffer, ElfFile, Section
from stapy.debuginfo.errors import DebuginfoError

_INFO = ".debug_info"


class Sections:
    """Debug sections by name without ``.debug_``; what a file lacks is empty.

    Files that were not linked are relocated: ``in_parts`` does that for
    ``.debug_info`` only where `prepare` asks for it, which needs relocations in
    the order of their places.
    """

    def __init__(self, elf: ElfFile, *, in_parts: bool = False) -> None:
        self.elf = elf
        self._open: dict[str, Buffer] = {}
        self._relocations = Relocations(elf) if elf.type == ET_REL else None
        self._in_parts = in_parts and self._relocations is not None

    def section(self, name: str) -> Buffer:
        """Open a section, empty if there is none; uncompressed ones are not copied.

        Those of files that were not linked always are.
        """
        found = self._open.get(name)
        if found is None:
            full = name if name.startswith(".") else ".debug_" + name
            found = self._open[name] = self._read(full)
        return found

    def _read(self, full: str) -> Buffer:
        row = self.elf.section(full)
        if row is None or row.type == SHT_NOBITS:
            return b""
        data = self._content(row)
        relocations = self._relocations
        number = self.elf.number(row)
        if relocations is None or not relocations.has(number):
            return data
        copy = bytearray(data)
        if full != _INFO or not self._in_parts:
            relocations.apply(number, copy)
        return copy

    def _content(self, row: Section) -> Buffer:
        if row.flags & SHF_COMPRESSED or row.name.startswith(".z"):
            return self.elf.content(row)
        if row.offset + row.size > len(self.elf.data):
            raise DebuginfoError(f"{self.elf.name}: section {row.name} ends outside of the file")
        return memoryview(self.elf.data)[row.offset : row.offset + row.size]

    def prepare(self, start: int, end: int) -> None:
        """Make ``.debug_info`` between two offsets ready to be read."""
        if self._in_parts and self._relocations is not None:
            row, data = self.elf.section(_INFO), self.section("info")
            if row is not None and isinstance(data, bytearray):
                self._relocations.apply(self.elf.number(row), data, start, end)

    def is_sorted(self) -> bool:
        """Tell whether ``.debug_info`` can be read in parts."""
        row = self.elf.section(_INFO)
        if self._relocations is None or row is None:
            return False
        return self._relocations.is_sorted(self.elf.number(row))

    def string(self, name: str, offset: int) -> str:
        """Read the string at an offset of ``str`` or ``line_str``.

        Raises `DebuginfoError` outside of the section.
        """
        data = self.section(name)
        # A window has no find(): look for the end in growing pieces.
        size = 64
        while True:
            piece = bytes(data[offset : offset + size])
            end = piece.find(b"\0")
            if end >= 0:
                return piece[:end].decode("utf-8", "replace")
            if len(piece) < size:
                raise DebuginfoError(f"{self.elf.name}: string outside of .debug_{name}")
            size *= 4
