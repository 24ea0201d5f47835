"""Places that a kernel patches itself while it runs: its jump labels refuse probes."""

from __future__ import annotations

import struct

from stapy.debuginfo.elf import ElfFile

ET_EXEC = 2
_ROW = struct.Struct("<iiq")  # distances from the row's own fields to the code and its target; key


def jump_labels(elf: ElfFile, start: int | None, stop: int | None) -> frozenset[int]:
    """Addresses of the patched instructions by the table between two addresses.

    Empty for a file without a table, or without the content of its section.
    """
    if elf.type != ET_EXEC or start is None or stop is None:
        return frozenset()
    for section in elf.sections:
        if section.address and section.address <= start < stop <= section.address + section.size:
            content = elf.content(section)[start - section.address : stop - section.address]
            whole = len(content) - len(content) % _ROW.size
            rows = _ROW.iter_unpack(content[:whole])
            return frozenset(
                start + number * _ROW.size + distance
                for number, (distance, _, _) in enumerate(rows)
            )
    return frozenset()
