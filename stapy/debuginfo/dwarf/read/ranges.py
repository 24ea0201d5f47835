"""Address ranges of entries: ``low_pc``/``high_pc``, ``.debug_ranges``, ``.debug_rnglists``."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from stapy.debuginfo.dwarf import constants as k
from stapy.debuginfo.dwarf.numbers import number
from stapy.debuginfo.dwarf.read.lists import MAX_ADDRESS, RANGES, next_range
from stapy.debuginfo.dwarf.read.units import Die, DwarfUnit, Info
from stapy.debuginfo.errors import DebuginfoError

Range = tuple[int, int]
_MAX_SCOPES = 32  # namespaces in namespaces
_MAX_BLOCKS = 64  # blocks in blocks


def low_pc(entry: Die) -> int | None:
    """Read the entry's first address; None where it has none."""
    value = entry.values.get(k.AT_LOW_PC)
    return value if isinstance(value, int) else None


def ranges_of(entry: Die) -> list[Range]:
    """Read the half-open ranges of an entry's code; empty when it has none."""
    start = low_pc(entry)
    if k.AT_HIGH_PC in entry.values and start is not None:
        high = entry.number(k.AT_HIGH_PC)
        absolute = entry.forms[k.AT_HIGH_PC] in (
            k.ADDR, k.ADDRX, k.ADDRX1, k.ADDRX2, k.ADDRX3, k.ADDRX4,
        )  # fmt: skip
        return [(start, high if absolute else start + high)]
    if k.AT_RANGES in entry.values:
        return _listed(entry)
    return []


def entry_address(entry: Die) -> int | None:
    """Find where execution enters a function or an inlined instance; None without code."""
    value = entry.values.get(k.AT_ENTRY_PC)
    start = low_pc(entry)
    if isinstance(value, int):
        if entry.forms[k.AT_ENTRY_PC] in (k.ADDR, k.ADDRX, k.ADDRX1, k.ADDRX2):
            return value
        if start is None:
            listed = ranges_of(entry)
            start = listed[0][0] if listed else None
        return None if start is None else start + value
    if start:
        return start
    listed = ranges_of(entry)
    return listed[0][0] if listed else start


def contains(ranges: list[Range], address: int) -> bool:
    """Tell whether an address lies in one of the ranges."""
    return any(start <= address < end for start, end in ranges)


def function_around(holder: Die, address: int, depth: int = 0) -> Die | None:
    """Find the function out of line whose code has an address, or None.

    ``holder`` is a unit or one of its scopes.
    """
    for child in holder.children():
        if child.tag == k.SUBPROGRAM:
            if contains(ranges_of(child), address):
                return child
        elif child.tag in k.SCOPES and depth < _MAX_SCOPES:
            found = function_around(child, address, depth + 1)
            if found is not None:
                return found
    return None


def inlined_ranges(entry: Die, depth: int = 0) -> Iterator[tuple[int, int]]:
    """Yield the ranges of what is inlined into a function: its lines are another's."""
    for child in entry.children():
        if child.tag == k.INLINED_SUBROUTINE:
            yield from ranges_of(child)
        elif child.tag == k.LEXICAL_BLOCK and depth < _MAX_BLOCKS:
            yield from inlined_ranges(child, depth + 1)


def _listed(entry: Die) -> list[Range]:
    unit = entry.unit
    offset = entry.number(k.AT_RANGES)
    base = low_pc(unit.root) or 0
    try:
        if unit.header.version < 5:
            return _old(unit, offset, base)
        if entry.forms[k.AT_RANGES] == k.RNGLISTX:
            start = unit.base(k.AT_RNGLISTS_BASE, 12)
            offset = start + number(unit.info.sections.section("rnglists"), start + 4 * offset, 4)
        return _new(unit, offset, base)
    except (IndexError, struct.error):
        raise DebuginfoError(f"{unit.info.name}: damaged range list at {offset:#x}") from None


def _old(unit: DwarfUnit, offset: int, base: int) -> list[Range]:
    data = unit.info.sections.section("ranges")
    found: list[Range] = []
    while True:
        start, end = struct.unpack_from("<QQ", data, offset)
        offset += 16
        if not start and not end:
            return found
        if start == MAX_ADDRESS:
            base = end
        elif start < end:
            found.append((base + start, base + end))


def _new(unit: DwarfUnit, offset: int, base: int) -> list[Range]:
    data = unit.info.sections.section("rnglists")
    found: list[Range] = []
    entry = next_range(unit, data, offset, base, RANGES)
    while entry is not None:
        start, end, at, base = entry
        if start < end:
            found.append((start, end))
        entry = next_range(unit, data, at, base, RANGES)
    return found


def arange_units(info: Info) -> list[tuple[int, int, int]]:
    """List ``(start, end, offset of the unit)`` of all code, sorted.

    By ``.debug_aranges``, or by the units' own ranges when there is none: clang
    leaves it out.
    """
    data = info.sections.section("aranges")
    if not len(data):
        return sorted(
            (start, end, header.offset)
            for number, header in enumerate(info.headers)
            for start, end in ranges_of(info.unit(number).root)
        )
    found: list[tuple[int, int, int]] = []
    at = 0
    while at + 12 <= len(data):
        length, version, unit, address_size, segments = struct.unpack_from("<IHIBB", data, at)
        end = at + 4 + length
        if length >= 0xFFFFFFF0 or end > len(data) or version != 2:
            raise DebuginfoError(f"{info.name}: damaged .debug_aranges at {at:#x}")
        if address_size == 8 and not segments:
            body = bytes(data[at + 16 : end])
            rows = struct.iter_unpack("<QQ", body[: len(body) & ~15])
            found += [(start, start + size, unit) for start, size in rows if size]
        at = end
    found.sort()
    return found
