"""Rules that need the finished program: what survived the optimiser must be right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stapy.elaborate import program as p
from stapy.elaborate.effects import access
from stapy.elaborate.pending import Pending
from stapy.elaborate.walk import walk

if TYPE_CHECKING:
    from stapy.diagnostics import Diagnostics
    from stapy.elaborate.effects import CallGraph


def pending(node: Any, diagnostics: Diagnostics) -> None:
    """Report what could not be resolved and is still used."""
    for item in walk(node):
        if isinstance(item, Pending):
            diagnostics.add(item.diagnostic)


def loops(node: Any, graph: CallGraph, diagnostics: Diagnostics) -> None:
    """An array must not change while a loop goes over it."""
    for item in walk(node):
        if isinstance(item, p.Foreach):
            _loop(item, graph, diagnostics)


def _loop(loop: p.Foreach, graph: CallGraph, diagnostics: Diagnostics) -> None:
    name = loop.var.c_name
    for item in walk(loop.body):
        if isinstance(item, p.CallOp):
            found = graph.access.get(item.function.c_name)
            if found is not None and (name in found.writes or name in found.inserts):
                diagnostics.error(
                    "semantic error",
                    "E0260",
                    f"function call modifies var '{loop.var.name}' during 'foreach' iteration",
                    item.span,
                    where=f"'{item.function.name}' changes the array",
                    hint="collect the changes in another array, or leave the loop first",
                )
        elif isinstance(item, (p.AssignOp, p.IncrementOp, p.Delete)):
            own = access(item)
            if name in own.writes or name in own.inserts:
                diagnostics.error(
                    "semantic error",
                    "E0260",
                    f"variable '{loop.var.name}' modified during 'foreach' iteration",
                    item.span,
                    where="the loop goes over this array",
                    hint="collect the changes in another array, or leave the loop first",
                )


def slices(node: Any, diagnostics: Diagnostics) -> None:
    """``a[*]`` as a value is only there for statistics."""
    inside_delete: set[int] = set()
    for item in walk(node):
        if isinstance(item, p.Delete):
            inside_delete.add(id(item.target))
        elif (
            isinstance(item, p.ElementRef)
            and None in item.keys
            and item.var.type != p.STATS
            and id(item) not in inside_delete
        ):
            diagnostics.error(
                "semantic error", "E0255", "unexpected wildcard in array index", item.span
            )


def unassigned(body: Any, names: set[str]) -> list[p.LocalRef]:
    """First uses of the locals that a body reads and never sets."""
    first: dict[str, p.LocalRef] = {}
    assigned: set[str] = set()
    for item in walk(body):
        if isinstance(item, (p.AssignOp, p.IncrementOp)) and isinstance(item.target, p.LocalRef):
            assigned.add(item.target.name)
        elif isinstance(item, p.Foreach):
            assigned.update(key.name for key in item.keys)
        elif isinstance(item, p.ForeachBucket):
            assigned.add(item.bucket.name)
        elif isinstance(item, p.LocalRef):
            first.setdefault(item.name, item)
        if isinstance(item, (p.Foreach, p.ForeachBucket)) and item.value is not None:
            assigned.add(item.value.name)
        if isinstance(item, p.Try) and item.variable is not None:
            assigned.add(item.variable.name)
    return [ref for name, ref in first.items() if name in names and name not in assigned]
