"""What lies inside of functions: labels, the ends of prologues, single addresses."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from stapy.debuginfo.dwarf import constants as k
from stapy.debuginfo.dwarf.index import FunctionRow, Site
from stapy.debuginfo.dwarf.ranges import arange_units, contains, entry_address, low_pc, ranges_of
from stapy.debuginfo.glob import matcher
from stapy.record import Record, replace

if TYPE_CHECKING:
    from stapy.debuginfo.dwarf.kernel import DwarfFile, Place
    from stapy.debuginfo.dwarf.lines import Row
    from stapy.debuginfo.dwarf.spec import Spec
    from stapy.debuginfo.dwarf.units import Entry

_MAX_BLOCKS = 64  # blocks in blocks


class Label(Record):
    """A label of the source that code was kept for; ``place.line`` is the label's own."""

    name: str
    place: Place


class Statement(Record):
    """What the line table has for an address: ``start`` is where its row begins."""

    start: int
    place: Place


def parts_of(entry: Entry, depth: int = 0) -> Iterator[Entry]:
    """Entries of a function's own: also those in its blocks, but not of what is inlined."""
    for child in entry.children():
        if child.tag != k.LEXICAL_BLOCK:
            yield child
        elif depth < _MAX_BLOCKS:
            yield from parts_of(child, depth + 1)


# --- labels -------------------------------------------------------------------


def labels(dwarf: DwarfFile, spec: Spec, pattern: str) -> list[Label]:
    """Labels whose name matches, in all functions and inlined instances that a pattern means."""
    match = matcher(pattern)
    found: list[Label] = []
    for row in dwarf.index.functions(spec.function, spec.file):
        for site in row.sites:
            for entry in parts_of(dwarf.info.entry(site.entry)):
                address = low_pc(entry) if entry.tag == k.LABEL else None
                if not address or not match(entry.name()):
                    continue
                line = entry.inherited(k.AT_DECL_LINE)
                place = dwarf.place(row, site, address, line if isinstance(line, int) else 0)
                if place is not None:
                    found.append(Label(entry.name(), place))
    return found


# --- prologues ----------------------------------------------------------------


def behind_prologue(dwarf: DwarfFile, place: Place) -> Place:
    """Where the second row of a function's lines begins: its frame is set up there.

    The place itself when the function has no second row.
    """
    entry = dwarf.info.entry(place.entry)
    ranges = ranges_of(entry)
    _, rows = dwarf.line_table(dwarf.info.number_of(place.entry))
    later = [
        row
        for row in rows
        if row.address > place.address and not row.end and contains(ranges, row.address)
    ]
    if not later:
        return place
    first = min(later, key=lambda row: row.address)
    offset = place.offset + first.address - place.address
    moved: Place = replace(place, address=first.address, offset=offset, exact=False)
    return moved


# --- addresses ----------------------------------------------------------------


def at_address(dwarf: DwarfFile, address: int) -> Statement | None:
    """The row of the line table that an address lies in, None when no code is known there."""
    units = arange_units(dwarf.info)
    at = bisect_right(units, (address, 1 << 64, 0)) - 1
    if at < 0 or not units[at][0] <= address < units[at][1]:
        return None
    number = dwarf.info.number_of(units[at][2])
    files, rows = dwarf.line_table(number)
    row = _row_of(rows, address)
    if row is None:
        return None
    holder = _innermost(dwarf.info.unit(number).root, row.address)
    if holder is None:
        return None
    entry, site = holder
    file = files[row.file] if row.file < len(files) else ""
    function = FunctionRow(entry.name(), file, row.line, entry.offset, [])
    place = dwarf.place(function, site, row.address, row.line)
    return None if place is None else Statement(row.address, place)


def _row_of(rows: list[Row], address: int) -> Row | None:
    """The last row at or below an address in the sequence that covers it."""
    best: Row | None = None
    for row, following in pairwise(rows):
        if row.end or not row.address <= address < following.address:
            continue
        if best is None or row.statement:
            best = row
    return best


def _innermost(root: Entry, address: int) -> tuple[Entry, Site] | None:
    """The function or inlined instance that an address lies in."""
    holder = next(
        (
            child
            for child in root.children()
            if child.tag == k.SUBPROGRAM and contains(ranges_of(child), address)
        ),
        None,
    )
    if holder is None:
        return None
    for _ in range(_MAX_BLOCKS):
        inner = next(
            (
                part
                for part in parts_of(holder)
                if part.tag == k.INLINED_SUBROUTINE and contains(ranges_of(part), address)
            ),
            None,
        )
        if inner is None:
            break
        holder = inner
    inlined = holder.tag == k.INLINED_SUBROUTINE
    return holder, Site(entry_address(holder) or 0, holder.offset, inlined)
