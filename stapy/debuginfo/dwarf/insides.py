"""What lies inside of functions: labels, calls and where they return to, single addresses."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from stapy.debuginfo.dwarf import constants as k
from stapy.debuginfo.dwarf.index import FunctionRow, Site, file_matcher
from stapy.debuginfo.dwarf.kernel import Place
from stapy.debuginfo.dwarf.ranges import arange_units, contains, entry_address, low_pc, ranges_of
from stapy.debuginfo.glob import matcher
from stapy.record import Record, new, replace

if TYPE_CHECKING:
    from stapy.debuginfo.dwarf.kernel import DwarfFile
    from stapy.debuginfo.dwarf.lines import Row
    from stapy.debuginfo.dwarf.spec import Spec
    from stapy.debuginfo.dwarf.units import Entry

_MAX_BLOCKS = 64  # blocks in blocks
MAX_CALLEES = 20_000  # places that one point may reach by .callees(DEPTH)


class TooManyCallees(Exception):
    """``.callees(DEPTH)`` goes too deep; the message says how far it got."""


class Label(Record):
    """A label of the source that code was kept for; ``place.line`` is the label's own."""

    name: str
    place: Place


class Callee(Record):
    """A function that another one calls or has inlined.

    ``caller`` is the function whose source has the call.  ``frames`` are the
    return addresses that must be on the stack for the call to be the one that
    is meant, the innermost frame's first, each a list of alternatives in
    addresses of the file; there are none for what is inlined into the first
    function.
    """

    place: Place
    caller: FunctionRow
    frames: list[list[int]] = new(list)


class Statement(Record):
    """What the line table has for an address: ``start`` is where its row begins."""

    start: int
    place: Place


def _parts(entry: Entry, depth: int = 0) -> Iterator[Entry]:
    """Entries of a function's own: also those in its blocks, but not of what is inlined."""
    for child in entry.children():
        if child.tag != k.LEXICAL_BLOCK:
            yield child
        elif depth < _MAX_BLOCKS:
            yield from _parts(child, depth + 1)


def _place(dwarf: DwarfFile, row: FunctionRow, site: Site, address: int, line: int) -> Place | None:
    anchor = dwarf.index.anchor(address)
    if anchor is None:
        return None
    exact = address == site.pc and not site.inlined
    return Place(
        row.name, row.file, line, *anchor, address, site.entry, site.inlined, exact, dwarf.module
    )


# --- labels -------------------------------------------------------------------


def labels(dwarf: DwarfFile, spec: Spec, pattern: str) -> list[Label]:
    """Labels whose name matches, in all functions and inlined instances that a pattern means."""
    match = matcher(pattern)
    found: list[Label] = []
    for row in dwarf.index.functions(spec.function, spec.file):
        for site in row.sites:
            for entry in _parts(dwarf.info.entry(site.entry)):
                address = low_pc(entry) if entry.tag == k.LABEL else None
                if not address or not match(entry.name()):
                    continue
                line = entry.inherited(k.AT_DECL_LINE)
                place = _place(dwarf, row, site, address, line if isinstance(line, int) else 0)
                if place is not None:
                    found.append(Label(entry.name(), place))
    return found


# --- callees ------------------------------------------------------------------


def callees(
    dwarf: DwarfFile, spec: Spec, wanted: Spec, depth: int = 1, *, tails: bool = False
) -> list[Callee]:
    """What the functions that a pattern means call, down to a depth.

    Jumps at the end of a function leave no trace on the stack: such callees are
    only given with ``tails``.
    """
    walk = _Callees(dwarf, wanted, depth, tails)
    for row in dwarf.index.functions(spec.function, spec.file):
        for site in row.sites:
            walk.function(row, dwarf.info.entry(site.entry), [], 1)
    return walk.found


class _Callees:
    """Walks calls from function to function."""

    def __init__(self, dwarf: DwarfFile, wanted: Spec, depth: int, tails: bool) -> None:
        self._dwarf = dwarf
        self._name = matcher(wanted.function)
        self._file = file_matcher(wanted.file) if wanted.file else None
        self._depth = depth
        self._tails = tails
        self._targets: dict[int, list[tuple[FunctionRow, Site]]] = {}
        self.found: list[Callee] = []

    def function(
        self, caller: FunctionRow, entry: Entry, frames: list[list[int]], level: int
    ) -> None:
        """All that one function or inlined instance calls."""
        called: dict[int, list[int]] = {}
        for part in self._own_parts(entry):
            if part.tag == k.INLINED_SUBROUTINE:
                self._inlined(caller, part, frames, level)
            elif part.tag in (k.CALL_SITE, k.GNU_CALL_SITE):
                self._call(part, called)
        for offset, returns in called.items():
            for row, site in self._sites(offset):
                self._take(caller, row, site, site.pc, [returns, *frames], level)

    def _own_parts(self, entry: Entry) -> Iterator[Entry]:
        """The parts of a function; a part of itself that was inlined is no callee."""
        own = entry.origin()
        for part in _parts(entry):
            if part.tag == k.INLINED_SUBROUTINE and own is not None:
                origin = part.origin()
                if origin is not None and origin.offset == own.offset:
                    yield from self._own_parts(part)
                    continue
            yield part

    def _call(self, part: Entry, called: dict[int, list[int]]) -> None:
        tail = part.number(k.AT_CALL_TAIL_CALL) or part.number(k.AT_GNU_TAIL_CALL)
        target = part.refer(k.AT_CALL_ORIGIN) or part.refer(k.AT_ABSTRACT_ORIGIN)
        if target is None or (tail and not self._tails):
            return  # by a pointer, or nothing to be seen on the stack
        behind = part.number(k.AT_CALL_RETURN_PC) or part.number(k.AT_LOW_PC)
        if behind:
            called.setdefault(target.offset, []).append(behind)

    def _inlined(
        self, caller: FunctionRow, part: Entry, frames: list[list[int]], level: int
    ) -> None:
        origin, address = part.origin(), entry_address(part)
        if origin is None or not address:
            return
        row = next(self._rows(origin), None)
        if row is not None:
            self._take(caller, row, Site(address, part.offset, True), address, frames, level)

    def _take(
        self,
        caller: FunctionRow,
        row: FunctionRow,
        site: Site,
        address: int,
        frames: list[list[int]],
        level: int,
    ) -> None:
        if self._name(row.name) and (self._file is None or self._file(row.file)):
            place = _place(self._dwarf, row, site, address, row.line)
            if place is not None:
                self.found.append(Callee(place, caller, frames))
                if len(self.found) > MAX_CALLEES:
                    raise TooManyCallees(f"more than {MAX_CALLEES} places at depth {level}")
        if level < self._depth:
            self.function(row, self._dwarf.info.entry(site.entry), frames, level + 1)

    def _rows(self, target: Entry) -> Iterator[FunctionRow]:
        """Functions of the index that an entry describes."""
        names = {target.offset}
        origin = target.origin()
        if origin is not None:
            names.add(origin.offset)
        for row in self._dwarf.index.functions(_plain(target.name())):
            if row.entry in names or any(site.entry in names for site in row.sites):
                yield row

    def _sites(self, offset: int) -> list[tuple[FunctionRow, Site]]:
        """Where a called function lies, out of line."""
        known = self._targets.get(offset)
        if known is not None:
            return known
        target = self._dwarf.info.entry(offset)
        rows = list(self._rows(target))
        if not rows:  # declared here, defined in another unit
            rows = [
                row
                for row in self._dwarf.index.functions(_plain(target.name()))
                if self._dwarf.info.entry(row.entry).inherited(k.AT_EXTERNAL)
            ]
        sites = [(row, site) for row in rows for site in row.sites if not site.inlined]
        own = [item for item in sites if item[1].entry == offset]
        self._targets[offset] = own or sites
        return self._targets[offset]


def _plain(name: str) -> str:
    """A name as a pattern that matches nothing else (operators of C++ have stars)."""
    return name if not any(char in name for char in "*?[") else name.replace("*", "[*]")


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
    place = _place(dwarf, function, site, row.address, row.line)
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
                for part in _parts(holder)
                if part.tag == k.INLINED_SUBROUTINE and contains(ranges_of(part), address)
            ),
            None,
        )
        if inner is None:
            break
        holder = inner
    inlined = holder.tag == k.INLINED_SUBROUTINE
    return holder, Site(entry_address(holder) or 0, holder.offset, inlined)
