"""Single instructions that refuse probes: what a kernel patches while it runs, and its traps.

Tables in the kernel's image list them; each row begins with the distance from itself
to the instruction (``arch/*/include/asm/{jump_label,bug}.h``, ``static_call_types.h``).
A module's tables are sections, which its debug file has by name only: their content
and relocations are in the module.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from stapy.debuginfo.dwarf.read.relocate import Relocations, layout
from stapy.debuginfo.elf import ElfFile

ET_EXEC = 2
_SHF_EXECINSTR = 4
_DISTANCE = struct.Struct("<i")
# A module's section, whose name the image's symbols contain; bytes of a row; what is there.
_TABLES = (
    ("__jump_table", 16, "a jump label"),
    (".static_call_sites", 8, "a static call"),
    ("__bug_table", 12, "the trap of a WARN or BUG"),
)


def refused(elf: ElfFile, address_of: Callable[[str], int | None]) -> dict[int, str]:
    """Map the addresses that refuse probes to what is there.

    Empty for a file without the tables' content.
    """
    rows = {}
    for name, size, _ in _TABLES:
        symbol = name.removeprefix(".")
        first, last = address_of(f"__start_{symbol}"), address_of(f"__stop_{symbol}")
        rows[name] = _rows(elf, first, last, size)
    return _believed(rows, elf, [section.address for section in elf.sections])


def refused_in_module(module: ElfFile, debug: ElfFile) -> dict[int, str]:
    """Read what is at addresses of a module that refuse probes, as its debug file counts them."""
    addresses = layout(debug)
    by_name = {section.name: at for section, at in zip(debug.sections, addresses, strict=True)}
    relocations = Relocations(module)
    relocations.addresses = [by_name.get(section.name, 0) for section in module.sections]
    rows = {}
    for name, size, _ in _TABLES:
        section = module.section(name)
        if section is not None:
            table = bytearray(module.content(section))
            relocations.apply(module.number(section), table)
            rows[name] = _targets(table, 0, size)
    return _believed(rows, debug, addresses)


def _believed(rows: dict[str, list[int]], elf: ElfFile, addresses: list[int]) -> dict[int, str]:
    """Map addresses of tables to what is there; a table counts if all of them are code.

    Rows of another size than ours point anywhere.
    """
    code = [
        range(address, address + section.size)
        for section, address in zip(elf.sections, addresses, strict=True)
        if section.flags & _SHF_EXECINSTR
    ]
    found: dict[int, str] = {}
    for name, _, what in _TABLES:
        if all(any(address in part for part in code) for address in rows.get(name, ())):
            found.update(dict.fromkeys(rows.get(name, ()), what))
    return found


def _rows(elf: ElfFile, start: int | None, stop: int | None, size: int) -> list[int]:
    """Read the addresses that the rows between two addresses tell; none without a table."""
    if elf.type != ET_EXEC or start is None or stop is None:
        return []
    for section in elf.sections:
        if section.address and section.address <= start < stop <= section.address + section.size:
            table = elf.content(section)[start - section.address : stop - section.address]
            return _targets(table, start, size)
    return []


def _targets(table: bytes | bytearray, start: int, size: int) -> list[int]:
    places = range(0, len(table) - len(table) % size, size)
    return [start + at + int(_DISTANCE.unpack_from(table, at)[0]) for at in places]
