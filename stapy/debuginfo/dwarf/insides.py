"""What lies inside of functions: labels, the ends of prologues, single addresses."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from stapy.debuginfo.dwarf import constants as k
from stapy.debuginfo.dwarf.index import FunctionRow, Site
from stapy.debuginfo.dwarf.ranges import (
    arange_units,
    contains,
    entry_address,
    function_around,
    low_pc,
    ranges_of,
)
from stapy.debuginfo.glob import matcher, plain
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
    number = _unit_at(dwarf, address)
    if number is None:
        return None
    files, rows = dwarf.line_table(number)
    row = _row_of(rows, address)
    if row is None:
        return None
    holders = _holders(dwarf.info.unit(number).root, row.address)
    if not holders:
        return None
    file = files[row.file] if row.file < len(files) else ""
    function, site = _row_and_site(dwarf, holders[-1])
    function = replace(function, file=file, line=row.line)
    place = dwarf.place(function, site, row.address, row.line)
    return None if place is None else Statement(row.address, place)


def function_at(dwarf: DwarfFile, address: int, *, inlined: bool) -> Place | None:
    """Where the function begins that an address lies in, None when no code is known there.

    With ``inlined`` the innermost one counts, an instance of an inlined function perhaps.
    """
    number = _unit_at(dwarf, address)
    holders = [] if number is None else _holders(dwarf.info.unit(number).root, address)
    if not holders:
        return None
    function, site = _row_and_site(dwarf, holders[-1] if inlined else holders[0])
    return dwarf.place(function, site, site.pc, function.line)


def _unit_at(dwarf: DwarfFile, address: int) -> int | None:
    """The number of the unit that has the code at an address."""
    units = arange_units(dwarf.info)
    at = bisect_right(units, (address, 1 << 64, 0)) - 1
    if at < 0 or not units[at][0] <= address < units[at][1]:
        return None
    return dwarf.info.number_of(units[at][2])


def _row_of(rows: list[Row], address: int) -> Row | None:
    """The last row at or below an address in the sequence that covers it."""
    best: Row | None = None
    for row, following in pairwise(rows):
        if row.end or not row.address <= address < following.address:
            continue
        if best is None or row.statement:
            best = row
    return best


def _holders(root: Entry, address: int) -> list[Entry]:
    """The function that an address lies in, and the inlined instances, the innermost last."""
    function = function_around(root, address)
    found: list[Entry] = []
    while function is not None and len(found) < _MAX_BLOCKS:
        found.append(function)
        function = next(
            (
                part
                for part in parts_of(function)
                if part.tag == k.INLINED_SUBROUTINE and contains(ranges_of(part), address)
            ),
            None,
        )
    return found


def _row_and_site(dwarf: DwarfFile, entry: Entry) -> tuple[FunctionRow, Site]:
    """What the index has for the entry of a function or an inlined instance."""
    for row in dwarf.index.functions(plain(entry.name())):
        for site in row.sites:
            if site.entry == entry.offset:
                return row, site
    site = Site(entry_address(entry) or 0, entry.offset, entry.tag == k.INLINED_SUBROUTINE)
    return FunctionRow(entry.name(), "", 0, entry.offset, [site]), site
