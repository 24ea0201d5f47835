"""What the code at an address is: its statement, and the functions that hold it."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING

from stapy.debuginfo.dwarf import constants as k
from stapy.debuginfo.dwarf.index.reader import FunctionRow, Site
from stapy.debuginfo.dwarf.query.labels import parts_of
from stapy.debuginfo.dwarf.read.ranges import (
    arange_units,
    contains,
    entry_address,
    function_around,
    ranges_of,
)
from stapy.debuginfo.glob import plain
from stapy.record import Record, replace

if TYPE_CHECKING:
    from stapy.debuginfo.dwarf.query.answers import CodePlace
    from stapy.debuginfo.dwarf.query.code import DwarfCode
    from stapy.debuginfo.dwarf.read.lines import LineRow
    from stapy.debuginfo.dwarf.read.units import Die

_MAX_INSTANCES = 64  # instances in instances


class Statement(Record):
    """What the line table has for an address: ``start`` is where its row begins."""

    start: int
    place: CodePlace


def statement_at(dwarf: DwarfCode, address: int) -> Statement | None:
    """Find the row of the line table that an address lies in; None without code there."""
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


def function_at(dwarf: DwarfCode, address: int, *, inlined: bool) -> CodePlace | None:
    """Find where the function begins that an address lies in; None without code there.

    With ``inlined`` the innermost one counts, an instance of an inlined function perhaps.
    """
    number = _unit_at(dwarf, address)
    holders = [] if number is None else _holders(dwarf.info.unit(number).root, address)
    if not holders:
        return None
    function, site = _row_and_site(dwarf, holders[-1] if inlined else holders[0])
    return dwarf.place(function, site, site.pc, function.line)


def _unit_at(dwarf: DwarfCode, address: int) -> int | None:
    """Find the number of the unit that has the code at an address, or None."""
    units = arange_units(dwarf.info)
    at = bisect_right(units, (address, 1 << 64, 0)) - 1
    if at < 0 or not units[at][0] <= address < units[at][1]:
        return None
    return dwarf.info.number_of(units[at][2])


def _row_of(rows: list[LineRow], address: int) -> LineRow | None:
    """Find the last row at or below an address in the sequence that covers it, or None.

    Rows that begin a statement come first.
    """
    best: LineRow | None = None
    for row, following in pairwise(rows):
        if row.ends_sequence or not row.address <= address < following.address:
            continue
        if best is None or row.is_statement:
            best = row
    return best


def _holders(root: Die, address: int) -> list[Die]:
    """List the function that an address lies in, then the inlined instances to the innermost."""
    function = function_around(root, address)
    found: list[Die] = []
    while function is not None and len(found) < _MAX_INSTANCES:
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


def _row_and_site(dwarf: DwarfCode, entry: Die) -> tuple[FunctionRow, Site]:
    """Look up what the index has for the entry of a function or an inlined instance.

    An entry that the index does not have gets a row and a site of its own.
    """
    for row in dwarf.index.functions(plain(entry.name())):
        for site in row.sites:
            if site.entry == entry.offset:
                return row, site
    site = Site(entry_address(entry) or 0, entry.offset, entry.tag == k.INLINED_SUBROUTINE)
    return FunctionRow(entry.name(), "", 0, entry.offset, [site]), site
