"""What functions call and have inlined, and where those calls return to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from stapy.debuginfo.dwarf import constants as k
from stapy.debuginfo.dwarf.index.reader import (
    FunctionRow,
    Site,
    file_matcher,
    scope_matches,
    split_scope,
)
from stapy.debuginfo.dwarf.query.labels import parts_of
from stapy.debuginfo.dwarf.read import calls
from stapy.debuginfo.dwarf.read.ranges import entry_address
from stapy.debuginfo.glob import matcher, plain
from stapy.record import Record, new

if TYPE_CHECKING:
    from stapy.debuginfo.dwarf.query.answers import CodePlace
    from stapy.debuginfo.dwarf.query.dwarf_file import DwarfFile
    from stapy.debuginfo.dwarf.query.spec import Spec
    from stapy.debuginfo.dwarf.read.units import Die

MAX_CALLEES = 20_000  # places that one point may reach by .callees(DEPTH)


class TooManyCallees(Exception):
    """``.callees(DEPTH)`` goes too deep; the message says how far it got."""


class ReturnAddress(NamedTuple):
    """Where a call comes back to: an address of one debug file."""

    dwarf: DwarfFile
    address: int


class Elsewhere(Record):
    """A function of another kernel object than its caller: ``module`` is None for the kernel.

    ``dwarf`` is that object's, None when it has none: then only the name is known.
    """

    name: str
    module: str | None
    dwarf: DwarfFile | None


class Callee(Record):
    """A function that another one calls or has inlined.

    ``caller`` is the function whose source has the call.  ``frames`` are the
    return addresses that must be on the stack for the call to be the one that
    is meant, the innermost frame's first, each a list of alternatives; there
    are none for what is inlined into the first function.  ``place`` is None for
    a function of which no debug file tells: then there is ``outside``.
    """

    name: str
    place: CodePlace | None
    caller: FunctionRow
    frames: list[list[ReturnAddress]] = new(list)
    outside: Elsewhere | None = None


# Which other object defines a function; None when no one is known to.
Finder = Callable[[str], "Elsewhere | None"]


def callees(
    dwarf: DwarfFile,
    spec: Spec,
    wanted: Spec,
    depth: int = 1,
    *,
    with_tail_calls: bool = False,
    elsewhere: Finder = lambda name: None,
) -> list[Callee]:
    """List what the functions that a pattern means call, down to a depth.

    Jumps at the end of a function leave no trace on the stack: such callees are
    only given with ``with_tail_calls``.  ``elsewhere`` is asked about functions that the
    debug file only declares.
    """
    walk = _Walk(wanted, depth, with_tail_calls, elsewhere)
    for row in dwarf.index.functions(spec.function, spec.file):
        for site in row.sites:
            walk.function(dwarf, row, dwarf.info.entry(site.entry), [], 1)
    return walk.found


class _Target(NamedTuple):
    """A called function out of line, in whichever debug file."""

    dwarf: DwarfFile
    row: FunctionRow
    site: Site


class _Walk:
    """Goes from function to function along calls."""

    def __init__(self, wanted: Spec, depth: int, with_tails: bool, elsewhere: Finder) -> None:
        self._scope, name = split_scope(wanted.function)
        self._name = matcher(name)
        self._file = file_matcher(wanted.file) if wanted.file else None
        self._depth = depth
        self._tails = with_tails
        self._elsewhere = elsewhere
        self._targets: dict[tuple[str | None, int], list[_Target] | Elsewhere] = {}
        self.found: list[Callee] = []

    def function(
        self,
        dwarf: DwarfFile,
        caller: FunctionRow,
        entry: Die,
        frames: list[list[ReturnAddress]],
        level: int,
    ) -> None:
        """Collect all that one function or inlined instance calls."""
        called: dict[int, list[ReturnAddress]] = {}
        for part in self._own_parts(entry):
            if part.tag == k.INLINED_SUBROUTINE:
                self._inlined(dwarf, caller, part, frames, level)
            elif part.tag in (k.CALL_SITE, k.GNU_CALL_SITE):
                self._call(dwarf, part, called)
        for offset, returns in called.items():
            # Other objects are only opened for what may be meant.
            if level == self._depth and not self._name(dwarf.info.entry(offset).name()):
                continue
            targets = self._sites(dwarf, offset)
            deeper = [returns, *frames]
            if isinstance(targets, Elsewhere):
                if not self._scope and self._name(targets.name) and self._file is None:
                    self._add(Callee(targets.name, None, caller, deeper, targets), level)
                continue
            for target in targets:
                self._take(target, caller, target.site.pc, deeper, level)

    def _own_parts(self, entry: Die) -> Iterator[Die]:
        """Yield the parts of a function; where it was inlined into itself, their parts."""
        own = entry.origin()
        for part in parts_of(entry):
            if part.tag == k.INLINED_SUBROUTINE and own is not None:
                origin = part.origin()
                if origin is not None and origin.offset == own.offset:
                    yield from self._own_parts(part)
                    continue
            yield part

    def _call(self, dwarf: DwarfFile, part: Die, called: dict[int, list[ReturnAddress]]) -> None:
        target = calls.target(part)
        if target is None or (calls.is_tail(part) and not self._tails):
            return  # by a pointer, or nothing to be seen on the stack
        behind = calls.return_address(part)
        if behind:
            called.setdefault(target.offset, []).append(ReturnAddress(dwarf, behind))

    def _inlined(
        self,
        dwarf: DwarfFile,
        caller: FunctionRow,
        part: Die,
        frames: list[list[ReturnAddress]],
        level: int,
    ) -> None:
        origin, address = part.origin(), entry_address(part)
        if origin is None or not address:
            return
        row = next(_rows(dwarf, origin), None)
        if row is not None:
            target = _Target(dwarf, row, Site(address, part.offset, True))
            self._take(target, caller, address, frames, level)

    def _take(
        self,
        target: _Target,
        caller: FunctionRow,
        address: int,
        frames: list[list[ReturnAddress]],
        level: int,
    ) -> None:
        dwarf, row, site = target
        if self._is_wanted(row):
            place = dwarf.place(row, site, address, row.line)
            if place is not None:
                self._add(Callee(row.qualified, place, caller, frames), level)
        if level < self._depth:
            self.function(dwarf, row, dwarf.info.entry(site.entry), frames, level + 1)

    def _is_wanted(self, row: FunctionRow) -> bool:
        return (
            self._name(row.name)
            and (not self._scope or scope_matches(row.scope, self._scope))
            and (self._file is None or self._file(row.file))
        )

    def _add(self, callee: Callee, level: int) -> None:
        self.found.append(callee)
        if len(self.found) > MAX_CALLEES:
            raise TooManyCallees(f"more than {MAX_CALLEES} places at depth {level}")

    def _sites(self, dwarf: DwarfFile, offset: int) -> list[_Target] | Elsewhere:
        """Find where a called function lies, out of line; what was found is remembered."""
        key = dwarf.module, offset
        known = self._targets.get(key)
        if known is None:
            known = self._targets[key] = self._find(dwarf, offset)
        return known

    def _find(self, dwarf: DwarfFile, offset: int) -> list[_Target] | Elsewhere:
        entry = dwarf.info.entry(offset)
        rows = list(_rows(dwarf, entry)) or _external(dwarf, entry.name())
        if not rows:
            other = self._elsewhere(entry.name())
            if other is None:
                return []
            if other.dwarf is None:
                return other
            dwarf, offset = other.dwarf, -1
            rows = _external(dwarf, other.name)
            if not rows:  # assembly, or a second name
                return Elsewhere(other.name, other.module, None)
        sites = [_Target(dwarf, row, s) for row in rows for s in row.sites if not s.inlined]
        return [item for item in sites if item.site.entry == offset] or sites


def _rows(dwarf: DwarfFile, target: Die) -> Iterator[FunctionRow]:
    """Yield the functions of the index that an entry describes."""
    names = {target.offset}
    origin = target.origin()
    if origin is not None:
        names.add(origin.offset)
    for row in dwarf.index.functions(plain(target.name())):
        if row.entry in names or any(site.entry in names for site in row.sites):
            yield row


def _external(dwarf: DwarfFile, name: str) -> list[FunctionRow]:
    """List the functions of a name that other units, and objects, can call."""
    rows = dwarf.index.functions(plain(name))
    return [row for row in rows if dwarf.info.entry(row.entry).inherited(k.AT_EXTERNAL)]
