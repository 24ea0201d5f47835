"""What becomes of values that could not be resolved, before they are reported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stapy.elaborate.lower.pending import Pending
from stapy.ir import program as p
from stapy.ir.walk import transform, walk

if TYPE_CHECKING:
    from stapy.diagnostics import Diagnostics
    from stapy.elaborate.lower.lowered import LoweredProbe


def leave_out(
    probes: list[LoweredProbe], verbose: bool, diagnostics: Diagnostics
) -> list[LoweredProbe]:
    """Drop probes of copies by the compiler that lack variables; keep all if none is left.

    A wildcard takes in ``f.isra.0`` though nothing is known of its parameters; a
    script that reads them means the other functions.
    """
    kept: list[LoweredProbe] = []
    dropped: list[LoweredProbe] = []
    for raw in probes:
        clones = all(getattr(match.site, "unasked_clone", False) for match in raw.matches)
        values = raw.slots.values if clones and raw.slots is not None else []
        trees: list[p.Node] = [raw.body, *values] if clones else []
        useless = any(isinstance(item, Pending) for tree in trees for item in walk(tree))
        (dropped if useless else kept).append(raw)
    if not kept:
        return probes
    if dropped and verbose:
        names = [match.point for raw in dropped for match in raw.matches]
        text = f"left out, their variables are not known: {', '.join(names)}"
        diagnostics.warning("W0642", text, dropped[0].derived.span)
    return kept


def skip(tree: Any, diagnostics: Diagnostics) -> Any:
    """Apply ``--skip-badvars``: what is missing is 0 and is not written, with a warning."""

    def change(node: p.Node) -> p.Node:
        if isinstance(node, Pending) and node.diagnostic.code.startswith("E024"):
            item = node.diagnostic
            hint = "the value is taken as 0"
            diagnostics.warning("W0640", item.message, item.span, where=item.where, hint=hint)
            return p.Const(node.span, p.LONG, 0)
        if isinstance(node, (p.AssignOp, p.IncrementOp)) and isinstance(node.target, p.Const):
            return node.value if isinstance(node, p.AssignOp) else node.target
        return node

    return transform(tree, change)
