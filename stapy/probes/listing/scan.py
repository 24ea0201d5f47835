"""What -l prints of functions that wildcards name, without resolving a single one.

The catalogue of the kernel or module (`catalogue.py`) has it all; here is
what a pattern and the words behind it choose.  What may be probed is decided where ``resolve()``
of the family asks as well (`decide.py`), and every list is what that gives;
`tests/probes/test_listed.py` compares the two.
"""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING

from stapy.debuginfo.dwarf.index.reader import file_matcher
from stapy.debuginfo.dwarf.query.spec import Spec, parse
from stapy.debuginfo.glob import has_wildcard, matching
from stapy.ir.literals import quote_name
from stapy.probes.decide import Wanted
from stapy.probes.family import print_component, text_of
from stapy.probes.listing import catalogue as c
from stapy.probes.listing.store import units

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from stapy.parse.nodes import PointComponent, ProbePoint
    from stapy.services import Services

_WORDS = {"kernel", "module", "function", "call", "inline", "return", "exported"}
_EXACT = ("::", "(", ".", "\\")  # what is looked at more closely than a catalogue can


class _Question:
    """A point and the rows that its words choose."""

    def __init__(
        self, point: ProbePoint, found: dict[str, PointComponent], spec: Spec, services: Services
    ) -> None:
        self.point, self.spec, self.services = point, spec, services
        module = text_of(found["module"]) if "module" in found else None
        self.units = units(services.debuginfo, module)
        self.wanted = Wanted(found.keys(), services.options.guru)
        self.by_dwarf = not self.wanted.own_code or bool(spec.file)
        self.all = not spec.function.strip("*")
        self._chosen: dict[str | None, bytes | bytearray | None] = {}

    def rows(self, names: Sequence[str]) -> Sequence[int]:
        """List the places of the names that match."""
        return range(len(names)) if self.all else matching(self.spec.function, names)

    def chosen(self, unit: str | None, table: c.FunctionLines) -> bytes | bytearray | None:
        """Mark by 1 each row whose name and file match; None for all of them."""
        if unit not in self._chosen:
            self._chosen[unit] = _chosen(self, table)
        return self._chosen[unit]


def lines(point: ProbePoint, services: Services) -> list[str] | None:
    """List the points of a list; None when they must be resolved one by one.

    That is so for all but wildcards, and when nothing matches: then there is
    something to say about it.
    """
    found = {component.name: component for component in point.components}
    if "function" not in found or found.keys() - _WORDS or services.options.prologue_search:
        return None
    text = text_of(found["function"])
    spec = parse(text)
    if spec is None or spec.lines is not None or not has_wildcard(spec.function):
        return None
    if spec.function.startswith("__pfx_") or any(word in spec.function for word in _EXACT):
        return None
    asked = _Question(point, found, spec, services)
    result: list[str] = []
    known: dict[str | None, set[str]] = {}
    refused = False
    if not asked.by_dwarf:
        for unit in asked.units.names():
            table = asked.units.functions(unit)
            if table is None:
                return None
            shown, known[unit], more = _names(asked, unit, table)
            declared = _declared(asked, unit)
            result += _printed(
                asked, unit, (declared.get(name) or quote_name(name)[1:-1] for name in shown)
            )
            refused = refused or more
    if asked.by_dwarf or result or not refused:
        for unit in asked.units.names():
            some = _lines(asked, unit, known.get(unit, set()))
            if some is None:
                return None
            result += _printed(asked, unit, some)
    return result or None


def _printed(asked: _Question, unit: str | None, names: Iterable[str]) -> list[str]:
    """Print points with names that are fit for quotes already."""
    parts = []
    for component in asked.point.components:
        if component.name == "module":
            parts.append(f"module({quote_name(unit or '')})")
        else:
            here = component.name == "function"
            parts.append('function("\n")' if here else print_component(component))
    head, _, tail = ".".join(parts).partition("\n")
    return [head + name + tail for name in names]


def _declared(asked: _Question, unit: str | None) -> dict[str, str]:
    """Map names to ``name@file:line``, or "" for several, of functions that DWARF knows."""
    if asked.point.components[0].name not in ("kernel", "module"):
        return {}
    table = asked.units.lines(unit, False) if asked.units.has_dwarf(unit, False) else None
    if table is None:
        return {}
    found: dict[str, str] = {}
    chosen = asked.chosen(unit, table)
    rows = set(table.out_line)
    for row in rows if chosen is None else (row for row in rows if chosen[row]):
        text = table.texts[row]
        name = text.partition("@")[0]
        found[name] = "" if name in found else text
    return found


def _names(
    asked: _Question, unit: str | None, table: c.FunctionNames
) -> tuple[list[str], set[str], bool]:
    """List names to print, those DWARF needs not tell again, and whether any was refused."""
    info, meant = asked.services.debuginfo, asked.rows(table.names)
    rows = [
        (row, table.names[row], table.bits[row])
        for row in meant
        if table.bits[row] & c.WANTED and not table.bits[row] & c.SECOND
    ]
    if not asked.all:
        rows += _second(table, set(meant))
    several = any(bits & c.SEVERAL for _, _, bits in rows)
    # One function of several of a name is worth asking a server; copies are not.
    by_dwarf = asked.units.has_dwarf(unit, several)
    left = c.SEVERAL | c.COPY if by_dwarf else 0
    known = {name for _, name, bits in rows if not bits & left}
    chosen = [(row, name) for row, name, _ in rows if name in known]
    if asked.wanted.exported_only:
        chosen = [(row, name) for row, name in chosen if info.exported(name)]
    shown = [name for row, name in chosen if table.allowed[row] & asked.wanted.bit]
    return shown, known, len(shown) < len(chosen)


def _second(table: c.FunctionNames, meant: set[int]) -> list[tuple[int, str, int]]:
    """Find functions that only another name than BTF's matches, by the first such name."""
    named = [(row, group) for row, group in table.groups if row in meant]
    taken = {group for row, group in named if not table.bits[row] & c.SECOND}
    found = []
    for row, group in named:
        if group not in taken:
            taken.add(group)
            if table.bits[row] & c.WANTED:
                found.append((row, table.names[row], table.bits[row]))
    return found


def _lines(asked: _Question, unit: str | None, known: set[str]) -> Iterable[str] | None:
    """List ``name@file:line`` of what DWARF has; None when that cannot be known this way."""
    if not asked.units.has_dwarf(unit, asked.by_dwarf):
        return []
    table = asked.units.lines(unit, asked.by_dwarf)
    if table is None:
        return None
    chosen = asked.chosen(unit, table)
    shown = bytearray(len(table.texts))
    if asked.wanted.inlined:
        shown[:] = bytes(1 if bits & asked.wanted.bit else 0 for bits in table.bits)
    if asked.wanted.own_code:
        _own_code(asked, table, chosen, known, shown)
    return compress(table.texts, shown if chosen is None else map(min, shown, chosen))


def _chosen(asked: _Question, table: c.FunctionLines) -> bytes | bytearray | None:
    """Mark by 1 each row whose name and file match; None for all of them."""
    chosen: bytes | bytearray | None = None
    if not asked.all:
        chosen = bytearray(len(table.texts))
        for number in asked.rows(table.names):
            low, high = table.first[number], table.first[number + 1]
            chosen[low:high] = b"\1" * (high - low)
    if asked.spec.file:
        test = file_matcher(asked.spec.file)
        files = {number for number, path in enumerate(table.files) if test(path)}
        of_file = bytes(1 if number in files else 0 for number in table.file)
        chosen = of_file if chosen is None else bytes(map(min, chosen, of_file))
    return chosen


def _own_code(
    asked: _Question,
    table: c.FunctionLines,
    chosen: bytes | bytearray | None,
    known: set[str],
    shown: bytearray,
) -> None:
    """Mark the functions whose own code is to be printed: one of those at one address."""
    seen: set[int] = set()
    columns = zip(table.out_line, table.out_symbol, table.out_address, table.out_bits, strict=True)
    for row, symbol, address, bits in columns:
        if symbol in known or address in seen or not (chosen is None or chosen[row]):
            continue
        seen.add(address)
        if bits & asked.wanted.bit and not shown[row]:
            name = table.texts[row].partition("@")[0]
            if not asked.wanted.exported_only or asked.services.debuginfo.exported(name):
                shown[row] = 1
