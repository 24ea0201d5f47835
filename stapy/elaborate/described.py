"""What -L tells of points: what handlers may read there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stapy.debuginfo import ctypes
from stapy.diagnostics import Diagnostics
from stapy.elaborate.analyse.types import Inference
from stapy.elaborate.lower.resolve import Resolver
from stapy.ir import program as p
from stapy.ir.walk import walk
from stapy.parse import nodes as n
from stapy.parse.doc_comment import parse_comment
from stapy.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stapy.elaborate.lower.lowered import Lowered, LoweredProbe
    from stapy.elaborate.typevars import TypeTable
    from stapy.ir.scope import TargetScope, TargetVariable
    from stapy.parse.nodes import Script
    from stapy.services import Services


class DescribedPoint(Record):
    """A point with what its handler may read: what an alias sets, and variables of the place.

    ``locals`` have a name and a type of the language; ``site`` is the family's record.
    """

    point: str
    locals: dict[str, str]
    targets: dict[str, TargetVariable]
    site: Any
    summary: str = ""  # what the comment of an alias says it is


def described_lines(scripts: list[Script], services: Services) -> list[str]:
    """Write a line for each point that the scripts' probes stand for, with its variables."""
    return [_line(row, services) for row in described_points(scripts, services)]


def described_points(scripts: list[Script], services: Services) -> list[DescribedPoint]:
    """Resolve the points that the scripts' probes stand for, with what handlers may read there."""
    lowered = Resolver(services).run(scripts)
    asked = [raw for raw in lowered.probes if raw.derived.is_user]
    if not asked:
        return []
    _infer(lowered, services)
    return [row for raw in asked for row in _described(raw, lowered.types, services)]


def _infer(lowered: Lowered, services: Services) -> None:
    """Infer the types of the locals; mismatches are of no interest in a list."""
    inference = Inference(lowered.types, Diagnostics(services.sources))
    for raw in lowered.probes:
        inference.body(raw.body)
    for item in lowered.functions:
        if item.function.body is not None:
            inference.body(item.function.body, item.function)
    inference.finish()


def _described(raw: LoweredProbe, types: TypeTable, services: Services) -> Iterator[DescribedPoint]:
    found = _locals(raw, types)
    for match in raw.matches:
        scope = raw.derived.family.scope(match.site, services)
        name = raw.derived.alias if raw.derived.chain else match.point
        targets = _targets(scope) if scope is not None else {}
        summary = _summary(raw.derived.alias, services) if raw.derived.chain else ""
        yield DescribedPoint(name, found, targets, match.site, summary)


def _summary(alias: str, services: Services) -> str:
    """Find what the comment of an alias says it is: for -v only, "" for one without."""
    if not services.options.verbose[1]:
        return ""
    parts = tuple(alias.split("."))
    for names, path in services.library.alias_names():
        script = services.library.load(path) if names == parts else None
        for decl in script.decls if script is not None else []:
            if isinstance(decl, n.AliasDecl) and tuple(one.name for one in decl.name) == parts:
                return parse_comment(decl.doc).summary.replace("*/", "* /")
    return ""


def _line(row: DescribedPoint, services: Services) -> str:
    """Write a line of -L."""
    text = row.point + "".join(f" {name}:{kind}" for name, kind in row.locals.items())
    for name, variable in row.targets.items():
        text += f" {name}:{'string' if variable.is_text else _spelled(variable.type)}"
    if services.options.verbose[1]:
        text += _rungs(row.site)
        text += f" /* {row.summary} */" if row.summary else ""
    return text


def _rungs(site: object) -> str:
    """Tell, as a C comment, which source knew a place and its types; "" when none is recorded."""
    source = getattr(site, "source", "")
    if not source:
        return ""
    types = "BTF" if getattr(site, "type", None) is not None else ""
    if not types and getattr(site, "place", None) is not None:
        types = "DWARF"
    if not types:
        return f" /* {source}, no types */"
    return f" /* {source} */" if types == source else f" /* {source}, types: {types} */"


def _locals(raw: LoweredProbe, types: TypeTable) -> dict[str, str]:
    """List what an alias sets for the user's handler, (name, type), in the order of its text."""
    found: dict[str, str] = {}
    for item in walk(raw.body):
        if isinstance(item, p.AssignOp) and isinstance(item.target, p.LocalRef):
            name = item.target.name
            if not name.startswith("__"):
                found.setdefault(name, str(types.find(item.target.type)))
    return found


def _spelled(type: ctypes.CType) -> str:
    """Write a C type as SystemTap does: ``struct file*``."""
    return ctypes.c_name(type).replace(" *", "*")


def _targets(scope: TargetScope) -> dict[str, TargetVariable]:
    shown = dict(scope.variables)
    if scope.entry is not None:
        shown.update(scope.entry.variables)
    # Others are second names, for texts of groups.
    return {name: variable for name, variable in shown.items() if not name.startswith("$$")}
