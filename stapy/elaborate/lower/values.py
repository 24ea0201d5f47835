"""The value at the end of a chain: a number, a string, an address, or a text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.debuginfo import ctypes
from stapy.elaborate.lower.chains import Place, address_of, follow, rvalue
from stapy.elaborate.lower.pending import Pending
from stapy.elaborate.lower.pretty import pretty
from stapy.ir import program as p
from stapy.parse import nodes as n

if TYPE_CHECKING:
    from stapy.diagnostics import Span
    from stapy.elaborate.lower.context import Context


def finish(
    low: Context, place: Place, chain: list[n.Component], span: Span, take_address: bool
) -> p.Expr:
    """Follow a chain and give the value, the address or the pretty-printed text."""
    depth = 0
    if chain and isinstance(chain[-1], n.Pretty):
        depth = chain[-1].depth
        chain = chain[:-1]
    found = follow(low, place, chain, span)
    if isinstance(found, Pending):
        return found
    if depth:
        return pretty(low, found, depth, span)
    if take_address:
        result = address_of(low, found, span)
        if not isinstance(result, Pending):
            low.values.remember(result, ctypes.Pointer(found.type, is_user=found.is_user))
        return result
    return rvalue(low, found, span)
