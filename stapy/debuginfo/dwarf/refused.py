"""Single instructions that refuse probes: what a kernel patches while it runs, and its traps.

Tables in the kernel's image list them; each row begins with the distance from itself
to the instruction (``arch/*/include/asm/{jump_label,bug}.h``, ``static_call_types.h``).
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from stapy.debuginfo.elf import ElfFile

ET_EXEC = 2
_SHF_EXECINSTR = 4
_DISTANCE = struct.Struct("<i")
# First and last symbol, bytes of a row, what is there.
_TABLES = (
    ("__start___jump_table", "__stop___jump_table", 16, "a jump label"),
    ("__start_static_call_sites", "__stop_static_call_sites", 8, "a static call"),
    ("__start___bug_table", "__stop___bug_table", 12, "the trap of a WARN or BUG"),
)


def refused(elf: ElfFile, address_of: Callable[[str], int | None]) -> dict[int, str]:
    """What is at the addresses that refuse probes; empty for a file without the tables' content."""
    found: dict[int, str] = {}
    code = [
        range(section.address, section.address + section.size)
        for section in elf.sections
        if section.flags & _SHF_EXECINSTR
    ]
    for first, last, size, what in _TABLES:
        rows = _rows(elf, address_of(first), address_of(last), size)
        # Rows of another size than ours, as some configurations have them, point anywhere.
        if all(any(address in part for part in code) for address in rows):
            found.update(dict.fromkeys(rows, what))
    return found


def _rows(elf: ElfFile, start: int | None, stop: int | None, size: int) -> list[int]:
    """The addresses that the rows between two addresses tell."""
    if elf.type != ET_EXEC or start is None or stop is None:
        return []
    for section in elf.sections:
        if section.address and section.address <= start < stop <= section.address + section.size:
            table = elf.content(section)[start - section.address : stop - section.address]
            places = range(0, len(table) - len(table) % size, size)
            return [start + at + int(_DISTANCE.unpack_from(table, at)[0]) for at in places]
    return []
