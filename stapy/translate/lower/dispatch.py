"""From a node to the rule that lowers it: the one place that knows no subject.

The modules by subject enter their rules here when they are imported, so that none
of them has to import another only to reach an operand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stapy.diagnostics import Bug
from stapy.ir import program as p
from stapy.ir.effects import effects
from stapy.record import Record
from stapy.translate.c.values import Value
from stapy.translate.lower.body import FunctionWriter
from stapy.translate.tables.places import hint_of

Lowering = Callable[[FunctionWriter, Any], Value]
TABLE: dict[type, Lowering] = {}


def lowers(*kinds: type) -> Callable[[Lowering], Lowering]:
    """Register the lowering of some classes of expressions."""

    def register(function: Lowering) -> Lowering:
        for kind in kinds:
            TABLE[kind] = function
        return function

    return register


def lower(body: FunctionWriter, expr: p.Expr) -> Value:
    """Write what must be a statement, return the rest as an expression."""
    try:
        lowering = TABLE[type(expr)]
    except KeyError:
        raise Bug(f"pass 3 has no rule for {type(expr).__name__}") from None
    value = lowering(body, expr)
    if expr.type == p.STRING and not value.room:
        value.room = body.room_of(expr)
    return value


def lower_many(
    body: FunctionWriter, exprs: Sequence[p.Expr], names: Sequence[str] = ()
) -> list[Value]:
    """Lower operands from left to right so that each has the value of its own moment."""
    done: list[Value] = []
    for number, expr in enumerate(exprs):
        if number:
            change = effects(expr)
            for at, value in enumerate(done):
                if value.reads & change.writes or (value.is_fleeting and change.takes_time):
                    hint = names[at] if at < len(names) else hint_for(body, exprs[at])
                    done[at] = body.keep(value, hint, exprs[at].type == p.STRING)
        done.append(lower(body, expr))
    return done


class Destination(Record):
    """An array of C that a string is written to: its name, its size in C and in bytes."""

    text: str
    size: str
    room: int


StringLowering = Callable[[FunctionWriter, Any, Destination], bool]
_STRINGS: dict[type, StringLowering] = {}


def lowers_into(kind: type) -> Callable[[StringLowering], StringLowering]:
    """Register what writes a string of this class straight into a variable, if it can."""

    def register(function: StringLowering) -> StringLowering:
        _STRINGS[kind] = function
        return function

    return register


def lower_into(body: FunctionWriter, expr: p.Expr, target: Destination) -> bool:
    """Write a string straight to its place; False when it must be copied there."""
    lowering = _STRINGS.get(type(expr))
    return lowering is not None and lowering(body, expr, target)


def hint_for(body: FunctionWriter, expr: p.Expr, default: str = "value") -> str:
    """Find a word for a temporary that holds an expression."""
    return hint_of(expr, body.unit.sources, default)
