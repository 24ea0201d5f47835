"""Elements of global arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.ir import program as p
from stapy.parse import nodes as n

if TYPE_CHECKING:
    from stapy.elaborate.lower.context import Context


def element(low: Context, node: n.Index, allow_wildcard: bool = False) -> p.Expr:
    """Lower ``array[keys]``; an error value (reported) when it is no element of a global array."""
    if not isinstance(node.base, n.Name):
        return low.error("E0250", "only a global array can have keys", node.base.span)
    var = low.array(node.base, len(node.keys))
    keys_or_any: list[p.Expr | None] = []
    for key in node.keys:
        if key is None and not allow_wildcard:
            return low.error(
                "E0255",
                "wildcard not allowed in array index",
                node.span,
                hint="'*' stands for any key only in 'in', 'delete', 'foreach' and aggregates",
            )
        keys_or_any.append(low.expr(key) if key is not None else None)
    if var is None:
        return p.Const(node.span, low.types.new(), 0)
    return p.ElementRef(node.span, var.type, var, keys_or_any)
