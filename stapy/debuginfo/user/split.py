"""Split DWARF: programs whose entries lie in files of their own (``.dwo``)."""

from __future__ import annotations

import struct

from stapy.debuginfo.dwarf.read.sections import Sections
from stapy.debuginfo.elf import ElfFile

_SKELETON = 4  # the kind of a unit that only says where its entries are


def is_split(elf: ElfFile) -> bool:
    """Tell whether no unit of a file has its own entries."""
    if elf.section(".debug_addr") is None:
        return False
    data = Sections(elf).section("info")
    at = 0
    while at + 12 <= len(data):
        length, version = struct.unpack_from("<IH", data, at)
        # The fourth version has the section of addresses for such units only.
        if version > 4 and data[at + 6] != _SKELETON:
            return False
        at += 4 + length
    return at > 0
