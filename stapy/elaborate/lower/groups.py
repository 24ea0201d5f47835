"""``$$vars`` and its kin: all variables of a place as one text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.elaborate.lower.chains import Place, place_of
from stapy.elaborate.lower.entries import save
from stapy.elaborate.lower.pretty import listing
from stapy.ir import program as p
from stapy.parse import nodes as n

if TYPE_CHECKING:
    from stapy.elaborate.lower.context import Context
    from stapy.ir.scope import TargetScope


def group(low: Context, node: n.Target, scope: TargetScope) -> p.Expr:
    """Build the text of ``$$vars`` and its kin; parameters of a return probe are taken at entry."""
    depth = 0
    if node.chain and isinstance(node.chain[-1], n.Pretty):
        depth = node.chain[-1].depth
    if node.name not in scope.groups:
        return low.pending("E0241", f"unable to find '{node.name}' here", node.span)
    here: list[tuple[str, Place | None]] = []
    saved: list[tuple[str, Place | None]] = []
    entry = scope.entry.variables if scope.entry is not None else {}
    for name, variable in scope.members(node.name):
        if variable is not None:
            here.append((name[1:], place_of(variable)))
        elif name in entry:
            saved.append((name[1:], place_of(entry[name])))
        else:
            here.append((name[1:], None))
    parts: list[p.Expr] = []
    if saved:
        parts.append(save(low, listing(low, saved, depth, node.span), node.span))
    if here:
        parts.append(listing(low, here, depth, node.span))
    if not parts:
        return p.Text(node.span, p.STRING, "")
    result = parts[0]
    for part in parts[1:]:
        space = p.Text(node.span, p.STRING, " ")
        result = p.BinaryOp(node.span, p.STRING, ".", result, space)
        result = p.BinaryOp(node.span, p.STRING, ".", result, part)
    return result
