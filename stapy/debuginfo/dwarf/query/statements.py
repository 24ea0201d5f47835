"""Statements: the addresses of source lines, as SystemTap chooses them.

Asked for a line of a file, SystemTap takes in each function and each inlined
instance that has code of it the lowest such address, whether the compiler
recommends it as a place to stop or not, for half of a kernel's lines have no
recommended one.  At each of these addresses there is a probe for every function
and instance that holds it, since each sees other variables: a line of an inlined
function is one of the functions around it as well.

That is what SystemTap 4.8 answers for each of the 679 lines of ``fs/open.c`` of a
kernel 6.1: 2,004 different probes.  A range is the sum of its lines here, and ``*``
the lines of the source of those functions that are named, from the first to the next
function; SystemTap leaves out lines that share their first address with another one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import TYPE_CHECKING

from stapy.debuginfo.dwarf.index.reader import FunctionRow, Site
from stapy.debuginfo.dwarf.query.answers import Answer
from stapy.debuginfo.dwarf.query.code import DwarfCode
from stapy.debuginfo.dwarf.query.spec import EVERY
from stapy.debuginfo.dwarf.read.ranges import Range, ranges_of
from stapy.record import Record

if TYPE_CHECKING:
    from stapy.debuginfo.dwarf.query.spec import Spec
    from stapy.debuginfo.dwarf.read.lines import LineRow


class LineMap(Record):
    """Lines of one file in one unit, by address; two lists of the same length."""

    addresses: list[int]
    lines: list[int]


class CodeScope(Record):
    """A function out of line or an inlined instance; ``lowest`` has an address for each line."""

    row: FunctionRow
    site: Site
    ranges: list[Range]
    lowest: dict[int, int]


def line_map(files: list[str], rows: Iterable[LineRow], path: str) -> LineMap:
    """Collect the rows of a unit's table that name a file, sorted by address."""
    own = {number for number, name in enumerate(files) if name == path}
    found = sorted(
        {
            (row.address, row.line)
            for row in rows
            if row.file in own and row.line and not row.ends_sequence
        }
    )
    return LineMap([address for address, _ in found], [line for _, line in found])


def scope_of(dwarf: DwarfCode, row: FunctionRow, site: Site, table: LineMap) -> CodeScope:
    """Describe a site with the lines of its code, that of what is inlined into it included."""
    ranges = ranges_of(dwarf.info.entry(site.entry)) or [(site.pc, site.pc + 1)]
    lowest: dict[int, int] = {}
    for start, end in ranges:
        first = bisect_left(table.addresses, start)
        for at in range(first, bisect_left(table.addresses, end, first)):
            line, address = table.lines[at], table.addresses[at]
            if address < lowest.get(line, 1 << 64):
                lowest[line] = address
    return CodeScope(row, site, ranges, lowest)


def find(dwarf: DwarfCode, spec: Spec, allow_nearest: bool) -> Answer:
    """Find all statements at the lines that a pattern asks for."""
    answer = Answer()
    groups: dict[tuple[int, str], list[tuple[FunctionRow, Site]]] = {}
    for row in dwarf.index.functions(spec.function, spec.file):
        answer.functions += 1
        for site in row.sites:
            unit = dwarf.info.number_of(site.entry)
            groups.setdefault((unit, row.file), []).append((row, site))
    for (unit, path), sites in groups.items():
        table = line_map(*dwarf.line_table(unit), path)
        scopes = [scope_of(dwarf, row, site, table) for row, site in sites]
        _add(answer, dwarf, scopes, spec, allow_nearest)
    return answer


def _add(
    answer: Answer, dwarf: DwarfCode, scopes: list[CodeScope], spec: Spec, allow_nearest: bool
) -> None:
    """Add the statements of one unit to the answer."""
    # Lines asked for from a function's beginning are other ones in each function.
    ranges = _ranges(dwarf, scopes, spec)
    bases = {scope.row.line for scope in scopes} if spec.is_relative else {0}
    for base in sorted(bases):
        some = [scope for scope in scopes if not spec.is_relative or scope.row.line == base]
        chosen = {
            (scope.lowest[line], line)
            for scope in some
            for line in _wanted(answer, scope, ranges, base, spec, allow_nearest)
        }
        ordered = sorted(chosen)
        addresses = [address for address, _ in ordered]
        for scope in some:
            held: list[tuple[int, int]] = []
            for start, end in scope.ranges:
                first = bisect_left(addresses, start)
                held += ordered[first : bisect_left(addresses, end, first)]
            for address, line in sorted(held, key=lambda pair: (pair[1], pair[0])):
                dwarf.add_place(answer, scope.row, scope.site, address, line)


def _ranges(dwarf: DwarfCode, scopes: list[CodeScope], spec: Spec) -> list[tuple[int, int]]:
    """Find the ranges of lines asked for; ``*`` is the source of the functions that are named."""
    if spec.lines != [EVERY]:
        return spec.lines or []
    found: list[tuple[int, int]] = []
    for first, last in sorted({(s.row.line, dwarf.following_line(s.row) - 1) for s in scopes}):
        if found and first <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(last, found[-1][1])
        else:
            found.append((first, last))
    return found


def _wanted(
    answer: Answer,
    scope: CodeScope,
    ranges: list[tuple[int, int]],
    base: int,
    spec: Spec,
    allow_nearest: bool,
) -> set[int]:
    """Choose the lines of a scope that are asked for.

    Those close to one that has no code are noted in the answer.
    """
    lines = scope.lowest
    wanted: set[int] = set()
    for low, high in ranges:
        first, last = base + low, base + high
        if first == last:
            found = [first] if first in lines else []
        else:
            found = [line for line in lines if first <= line <= last]
        if not found and lines:
            close = sorted(lines, key=lambda line: (abs(line - first), line))
            answer.near_lines += [n for n in close[:2] if n not in answer.near_lines]
            # A line outside of the function asks for another one, unless its name is given.
            if allow_nearest and (spec.has_plain_name or min(lines) <= first <= max(lines)):
                found = close[:1]
        wanted.update(found)
    return wanted
