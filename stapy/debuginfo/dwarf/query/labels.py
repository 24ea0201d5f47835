"""What lies inside of functions: labels and the ends of prologues."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stapy.debuginfo.dwarf import constants as k
from stapy.debuginfo.dwarf.read.ranges import contains, low_pc, ranges_of
from stapy.debuginfo.glob import matcher
from stapy.record import Record, replace

if TYPE_CHECKING:
    from stapy.debuginfo.dwarf.query.answers import CodePlace
    from stapy.debuginfo.dwarf.query.code import DwarfCode
    from stapy.debuginfo.dwarf.query.spec import Spec
    from stapy.debuginfo.dwarf.read.units import Die

_MAX_BLOCKS = 64  # blocks in blocks


class CodeLabel(Record):
    """A label of the source that code was kept for; ``place.line`` is the label's own."""

    name: str
    place: CodePlace


def parts_of(entry: Die, depth: int = 0) -> Iterator[Die]:
    """Yield a function's own entries: also those in its blocks, but not of what is inlined."""
    for child in entry.children():
        if child.tag != k.LEXICAL_BLOCK:
            yield child
        elif depth < _MAX_BLOCKS:
            yield from parts_of(child, depth + 1)


# --- labels -------------------------------------------------------------------


def labels(dwarf: DwarfCode, spec: Spec, pattern: str) -> list[CodeLabel]:
    """Find labels whose name matches, in all functions and instances that a pattern means."""
    match = matcher(pattern)
    found: list[CodeLabel] = []
    for row in dwarf.index.functions(spec.function, spec.file):
        for site in row.sites:
            for entry in parts_of(dwarf.info.entry(site.entry)):
                address = low_pc(entry) if entry.tag == k.LABEL else None
                if not address or not match(entry.name()):
                    continue
                line = entry.inherited(k.AT_DECL_LINE)
                place = dwarf.place(row, site, address, line if isinstance(line, int) else 0)
                if place is not None:
                    found.append(CodeLabel(entry.name(), place))
    return found


# --- prologues ----------------------------------------------------------------


def behind_prologue(dwarf: DwarfCode, place: CodePlace) -> CodePlace:
    """Find where the second row of a function's lines begins: its frame is set up.

    The place itself when the function has no second row.
    """
    entry = dwarf.info.entry(place.entry)
    ranges = ranges_of(entry)
    _, rows = dwarf.line_table(dwarf.info.number_of(place.entry))
    later = [
        row
        for row in rows
        if row.address > place.address and not row.ends_sequence and contains(ranges, row.address)
    ]
    if not later:
        return place
    first = min(later, key=lambda row: row.address)
    offset = place.offset + first.address - place.address
    moved = replace(place, address=first.address, offset=offset, is_exact=False)
    return moved
