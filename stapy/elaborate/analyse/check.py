"""Rules that need the finished program: what survived the optimiser must be right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.diagnostics.suggest import did_you_mean
from stapy.elaborate.lower.pending import Pending
from stapy.ir import program as p
from stapy.ir.effects import access
from stapy.ir.walk import walk

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stapy.diagnostics import Diagnostics, Span
    from stapy.ir.effects import CallGraph


def settings(given: dict[str, str], variables: list[p.Global], diagnostics: Diagnostics) -> None:
    """Report ``-G NAME=VALUE`` where NAME is no scalar or the value does not fit its type.

    ``variables`` are those of the program, the script's own behind the library's of
    that name; one that does not exist is warned of.
    """
    known = {var.name: var for var in variables}
    for name, value in given.items():
        var = known.get(name)
        if var is None:
            diagnostics.warning(
                "W0614",
                f"no global variable '{name}' to set with -G",
                hint=did_you_mean(name, list(known)),
            )
        elif var.keys or var.type == p.STATS:
            diagnostics.error(
                "semantic error",
                "E0292",
                f"-G cannot set '{name}'",
                var.span,
                where="arrays and statistics have no single value",
            )
        elif var.type == p.LONG and not _is_number(value):
            diagnostics.error(
                "semantic error",
                "E0292",
                f"-G {name}={value}: the value is not a number",
                var.span,
                where="this variable is a number",
            )


def _is_number(text: str) -> bool:
    """Tell whether the kernel's kstrtoll() takes a text: decimal, 0x hex or 0 octal, 64 bits."""
    digits = text.removeprefix("-").removeprefix("+")
    try:
        octal = len(digits) > 1 and digits.isdigit() and digits[0] == "0"
        value = int(digits, 8 if octal else 0)
    except ValueError:
        return False
    return value <= 1 << 63


def pending(bodies: Iterable[p.Node], diagnostics: Diagnostics) -> None:
    """Report what could not be resolved and is still used, once for each place in the script."""
    found: dict[tuple[str, Span], list[Pending]] = {}
    for node in bodies:
        for item in walk(node):
            if isinstance(item, Pending):
                found.setdefault((item.diagnostic.code, item.diagnostic.span), []).append(item)
    for items in found.values():
        first = items[0].diagnostic
        if items[0].explain is not None:
            items[0].explain(first)
        others = len({item.diagnostic.message for item in items}) - 1
        if others:
            where = f" ({items[0].point})" if items[0].point else ""
            first.notes.append(f"this is so at the first place{where}, and at others too")
        diagnostics.add(first)


def loops(node: p.Node, graph: CallGraph, diagnostics: Diagnostics) -> None:
    """Report arrays that change while a ``foreach`` below ``node`` goes over them."""
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


def slices(node: p.Node, diagnostics: Diagnostics) -> None:
    """Report ``a[*]`` as a value where ``a`` is not an array of statistics."""
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
                "semantic error", "E0255", "wildcard not allowed in array index", item.span
            )


def unassigned(body: p.Node, names: set[str]) -> list[p.LocalRef]:
    """Find the locals among ``names`` that a body reads and never sets: the first use of each."""
    first: dict[str, p.LocalRef] = {}
    assigned = assigned_names(body)
    for item in walk(body):
        if isinstance(item, p.LocalRef):
            first.setdefault(item.name, item)
    return [ref for name, ref in first.items() if name in names and name not in assigned]


def assigned_names(body: p.Node) -> set[str]:
    """Find the locals that a body sets."""
    assigned: set[str] = set()
    for item in walk(body):
        if isinstance(item, (p.AssignOp, p.IncrementOp)) and isinstance(item.target, p.LocalRef):
            assigned.add(item.target.name)
        elif isinstance(item, p.Foreach):
            assigned.update(key.name for key in item.keys)
        elif isinstance(item, p.ForeachBucket):
            assigned.add(item.bucket.name)
        if isinstance(item, (p.Foreach, p.ForeachBucket)) and item.value is not None:
            assigned.add(item.value.name)
        if isinstance(item, p.Try) and item.variable is not None:
            assigned.add(item.variable.name)
    return assigned
