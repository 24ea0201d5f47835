"""Constant folding with the language's 64-bit wrapping arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from stapy.ir import program as p

Literal = TypeVar("Literal", int, str)
ValueOf = Callable[[p.Expr], "int | str | None"]


def wrap(value: int) -> int:
    """Reduce a value to a signed 64-bit number, as C does on overflow."""
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


def _divide(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return wrap(-quotient if (a < 0) != (b < 0) else quotient)


def _arithmetic(op: str, a: int, b: int) -> int | None:
    """Compute ``a op b`` in 64 bits; None when it is an error at run time, or no arithmetic."""
    if op in ("/", "%"):
        if b == 0:
            return None
        quotient = _divide(a, b)
        return quotient if op == "/" else wrap(a - quotient * b)
    if op == "<<":
        return wrap(a << (b & 63))
    if op == ">>":
        return wrap(a >> (b & 63))
    table = {
        "+": a + b,
        "-": a - b,
        "*": a * b,
        "&": a & b,
        "|": a | b,
        "^": a ^ b,
    }
    return wrap(table[op]) if op in table else None


def _compare(op: str, a: Literal, b: Literal) -> int | None:
    table = {
        "<": a < b,
        ">": a > b,
        "<=": a <= b,
        ">=": a >= b,
        "==": a == b,
        "!=": a != b,
    }
    return int(table[op]) if op in table else None


def literal(node: p.Expr) -> int | str | None:
    """Return the value of a literal, None for all else."""
    return node.value if isinstance(node, (p.Const, p.Text)) else None


def constant(node: p.Expr) -> int | str | None:
    """Compute the value of an expression that is known now, else return None."""
    return _known(node, constant)


def _known(node: p.Expr, value_of: ValueOf) -> int | str | None:
    """Compute the value of an expression by the values of its parts; None if it is not known."""
    if isinstance(node, (p.Const, p.Text)):
        return node.value
    if isinstance(node, p.UnaryOp):
        value = value_of(node.operand)
        if not isinstance(value, int):
            return None
        return {"-": wrap(-value), "~": ~value, "!": int(not value)}[node.op]
    if isinstance(node, p.BinaryOp):
        return _binary(node, value_of)
    if isinstance(node, p.LogicalOp):
        left = value_of(node.left)
        if not isinstance(left, int):
            return None
        if bool(left) == (node.op == "||"):
            return int(bool(left))
        right = value_of(node.right)
        return int(bool(right)) if isinstance(right, int) else None
    if isinstance(node, p.Conditional):
        cond = value_of(node.cond)
        if isinstance(cond, int):
            return value_of(node.yes if cond else node.no)
    return None


def _binary(node: p.BinaryOp, value_of: ValueOf) -> int | str | None:
    left = value_of(node.left)
    if left is None:
        return None
    right = value_of(node.right)
    if right is None or type(left) is not type(right):
        return None
    if isinstance(left, str) and isinstance(right, str):
        return left + right if node.op == "." else _compare(node.op, left, right)
    assert isinstance(left, int) and isinstance(right, int)
    result = _arithmetic(node.op, left, right)
    if result is None and node.op not in ("/", "%"):
        result = _compare(node.op, left, right)
    return result


def fold(node: p.Expr) -> p.Expr:
    """Return a literal when the value is known, else a simpler or the same expression.

    What is below has been folded before, so only literals are looked at: deep
    trees would be walked again at each level.
    """
    if isinstance(node, (p.UnaryOp, p.BinaryOp, p.LogicalOp, p.Conditional)):
        known = _known(node, literal)
        if isinstance(known, int):
            return p.Const(node.span, p.LONG, known)
        if isinstance(known, str):
            return p.Text(node.span, p.STRING, known)
    if isinstance(node, p.Conditional):
        cond = literal(node.cond)
        if isinstance(cond, int):
            return node.yes if cond else node.no
    if isinstance(node, p.LogicalOp) and isinstance(literal(node.left), int):
        # The left side does not decide (that was folded above): the right side does.
        return p.BinaryOp(node.span, p.LONG, "!=", node.right, p.Const(node.span, p.LONG, 0))
    if isinstance(node, p.BinaryOp):
        return _identity(node)
    return node


def _identity(node: p.BinaryOp) -> p.Expr:
    """Simplify ``x + 0``, ``x . ""``, and sums of several numbers; return all else unchanged."""
    right = literal(node.right)
    left = literal(node.left)
    if node.op == "+" and left == 0 and node.right.type == p.LONG:
        return node.right
    if node.op in ("+", "-", "|", "^", "<<", ">>") and right == 0 and node.left.type == p.LONG:
        return node.left
    if node.op == "." and right == "" and node.left.type == p.STRING:
        return node.left
    if node.op == "." and left == "" and node.right.type == p.STRING:
        return node.right
    inner = node.left
    if (
        node.op == "+"
        and isinstance(right, int)
        and isinstance(inner, p.BinaryOp)
        and inner.op == "+"
    ):
        base = literal(inner.right)
        if isinstance(base, int):
            assert isinstance(inner.right, p.Const) and isinstance(node.right, p.Const)
            name = node.right.member_name or inner.right.member_name
            total = p.Const(node.span, p.LONG, wrap(base + right), name)
            return p.BinaryOp(node.span, p.LONG, "+", inner.left, total)
    return node
