"""Values of a function's entry that its return probe sees: ``@entry`` and what is saved for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.elaborate.lower.pending import Pending
from stapy.ir import program as p
from stapy.ir.walk import fingerprint
from stapy.parse import nodes as n

if TYPE_CHECKING:
    from stapy.diagnostics import Span
    from stapy.elaborate.lower.context import Context


def save(low: Context, value: p.Expr, span: Span) -> p.Expr:
    """Let the entry side compute ``value``; the result reads the slot."""
    if isinstance(value, Pending):
        return value
    slots = low.body.entry
    assert slots is not None
    key = fingerprint(value)
    number = slots.keys.get(key)
    if number is None:
        number = len(slots.values)
        slots.keys[key] = number
        slots.values.append(value)
        slots.types.append(value.type)
    result = p.SavedEntry(span, slots.types[number], number)
    low.values.remember(result, low.values.ctype(value))
    return result


def saved(low: Context, operand: n.Expr, span: Span) -> p.Expr:
    """Lower the value that an expression had when the function was entered."""
    body = low.body
    if body.entry is None:
        return low.error(
            "E0247", "@entry is only valid in .return probes", span, where="no function entry here"
        )
    mine, body.locals = body.locals, body.entry.locals
    body.at_entry = True
    try:
        value = low.expr(operand)
    finally:
        body.at_entry = False
        body.locals = mine
    return save(low, value, span)


def entry(low: Context, node: n.Entry) -> p.Expr:
    """Lower ``@entry(expr)``; a `Pending` error outside .return probes."""
    scope = low.body.scope
    if low.body.entry is None or (scope is not None and not scope.is_return):
        return low.pending(
            "E0247",
            "@entry is only valid in .return probes",
            node.span,
            where="no function entry here",
        )
    if low.body.at_entry:
        return low.error("E0247", "@entry cannot be nested", node.span)
    return saved(low, node.operand, node.span)
