"""The debug sections of one file: windows on the map, inflated where they are compressed."""

from __future__ import annotations

from stapy.debuginfo.elf import SHF_COMPRESSED, SHT_NOBITS, Buffer, ElfFile
from stapy.debuginfo.errors import DebuginfoError


class Sections:
    """Debug sections by name without ``.debug_``; what a file lacks is empty."""

    def __init__(self, elf: ElfFile) -> None:
        self.elf = elf
        self._open: dict[str, Buffer] = {}

    def section(self, name: str) -> Buffer:
        """A section; uncompressed ones are not copied."""
        found = self._open.get(name)
        if found is None:
            full = name if name.startswith(".") else ".debug_" + name
            found = self._open[name] = self._read(full)
        return found

    def _read(self, full: str) -> Buffer:
        row = self.elf.section(full)
        if row is None or row.type == SHT_NOBITS:
            return b""
        if row.flags & SHF_COMPRESSED or row.name.startswith(".z"):
            return self.elf.content(row)
        if row.offset + row.size > len(self.elf.data):
            raise DebuginfoError(f"{self.elf.name}: section {full} ends outside of the file")
        return memoryview(self.elf.data)[row.offset : row.offset + row.size]

    def string(self, name: str, offset: int) -> str:
        """The string at an offset of ``str`` or ``line_str``."""
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


