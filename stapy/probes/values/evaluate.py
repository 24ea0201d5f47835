"""Runs DWARF expressions on expressions of the handler instead of numbers.

Numbers of a base type (``convert``) wrap as that type does; all others are 64
bits wide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from stapy.diagnostics import NOWHERE
from stapy.ir.program import LONG, Conditional, Const, Expr, MemoryRead
from stapy.probes.values.numbers import (
    BITS,
    WORD,
    Unavailable,
    add,
    binary,
    const,
    mask,
    shift_right,
    widen,
)

if TYPE_CHECKING:
    from stapy.debuginfo.dwarf.read.expressions import Op

NO_ADDRESS = "what it points to has no address: the compiler works on its parts"
_ARITHMETIC = frozenset(("+", "-", "*", "&", "|", "^", "<<"))
_COMPARISONS = frozenset(("==", "!=", "<", "<=", ">", ">="))
_MAX_SIZE = 200  # operations of one location
_MAX_NODES = 2000  # of the expression that it becomes: what is duplicated is written twice


class Frame(Protocol):
    """What operations ask about the call that they are run for."""

    def register(self, number: int) -> Expr:
        """Read a register by its DWARF number."""

    def address(self) -> Expr:
        """Compute the canonical frame address: the stack pointer from before the call."""

    def base(self) -> Expr:
        """Compute what offsets of local variables count from."""

    def address_of(self, address: int) -> Expr:
        """Turn an address of the debug file into one at run time."""

    def in_thread(self, offset: Expr) -> Expr:
        """Compute an address in what the thread has for itself."""

    def at_entry(self, number: int) -> Expr:
        """Read what a register had when the function was entered."""

    def parameter(self, entry: int) -> Expr:
        """Compute what the caller would have passed for a parameter that is not passed."""


class _Value(NamedTuple):
    """One entry of the stack: a plain number of 64 bits, or one of a type."""

    expr: Expr
    size: int = 0
    signed: bool = True


class Evaluator:
    """Runs the operations on expressions instead of numbers."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self._steps = 0

    def run(self, ops: list[Op]) -> tuple[Expr, bool]:
        """Run operations: the result, and whether it is the value and not its address.

        Raises `Unavailable` when it cannot be computed.
        """
        value, is_value = self._from(ops, 0, [])
        _check(value)
        return value, is_value

    def _from(self, ops: list[Op], at: int, stack: list[_Value]) -> tuple[Expr, bool]:
        """Go on at an operation; a branch makes both ways, and branches lead forward only."""
        while at < len(ops):
            op = ops[at]
            at += 1
            self._steps += 1
            if self._steps > _MAX_SIZE:
                raise Unavailable
            if op.name == "value":
                if at < len(ops):
                    raise Unavailable
                return _pop(stack).expr, True
            if op.name == "skip":
                at = op.first
            elif op.name == "branch":
                condition = _pop(stack).expr
                yes, is_value = self._from(ops, op.first, list(stack))
                no, same = self._from(ops, at, stack)
                if is_value != same:
                    raise Unavailable
                return Conditional(NOWHERE, LONG, condition, yes, no), same
            else:
                self._step(op, stack)
        return _pop(stack).expr, False

    def _step(self, op: Op, stack: list[_Value]) -> None:
        if op.name in _ARITHMETIC or op.name in _COMPARISONS or op.name in ("/", "%", ">>", ">>>"):
            right, left = _pop(stack), _pop(stack)
            stack.append(_compute(op.name, left, right))
        elif op.name == "neg":
            stack.append(_compute("-", _Value(const(0)), _pop(stack)))
        elif op.name == "~":
            value = _pop(stack)
            stack.append(_compute("^", value, _Value(const(-1))))
        elif op.name == "thread":
            stack.append(_Value(self.frame.in_thread(_pop(stack).expr)))
        elif op.name == "add":
            value = _pop(stack)
            stack.append(_typed(add(value.expr, op.first), value))
        elif op.name == "convert":
            value = _pop(stack)
            number = widen(value.expr, 8 * op.first, bool(op.second))
            stack.append(_Value(number, op.first, bool(op.second)))
        elif op.name == "read" and op.first in (1, 2, 4, 8):
            address = _pop(stack).expr
            stack.append(_Value(MemoryRead(NOWHERE, LONG, address, op.first, False)))
        elif not _shuffle(op, stack):
            stack.append(_Value(self._known(op)))

    def _known(self, op: Op) -> Expr:
        """Compute what an operation puts on the stack without taking anything.

        Raises `Unavailable` for any other operation.
        """
        if op.name == "const":
            return const(op.first)
        if op.name == "address_in":
            return add(self.frame.register(op.first), op.second)
        if op.name == "cfa":
            return self.frame.address()
        if op.name == "frame":
            return add(self.frame.base(), op.first)
        if op.name == "address":
            return self.frame.address_of(op.first)
        if op.name == "entry_register":
            return self.frame.at_entry(op.first)
        if op.name == "parameter":
            return self.frame.parameter(op.first)
        if op.name == "implicit_pointer":
            raise Unavailable(NO_ADDRESS)
        raise Unavailable


def _check(value: Expr) -> None:
    """Raise `Unavailable` for a large expression: what is duplicated grows by powers of two."""
    left, count = [value], 0
    while left:
        node = left.pop()
        count += 1
        if count > _MAX_NODES:
            raise Unavailable
        parts = (getattr(node, field) for field in type(node).fields)
        left += [part for part in parts if isinstance(part, Expr)]


def _pop(stack: list[_Value]) -> _Value:
    if not stack:
        raise Unavailable
    return stack.pop()


def _typed(result: Expr, like: _Value) -> _Value:
    """Wrap a result as its operands do."""
    return _Value(widen(result, 8 * like.size, like.signed), like.size, like.signed)


def _compute(operator: str, left: _Value, right: _Value) -> _Value:
    # Of a plain number and one of a type the result has the type.
    like = left if left.size else right
    a, b = left.expr, right.expr
    if operator in _ARITHMETIC:
        return _typed(binary(operator, a, b), like)
    unsigned = bool(like.size) and not like.signed
    if operator in _COMPARISONS:
        if unsigned and like.size == WORD and operator not in ("==", "!="):
            # The language compares with sign: move both by half the range.
            half = const(1 << 63)
            a, b = binary("^", a, half), binary("^", b, half)
        return _Value(binary(operator, a, b))
    if operator in (">>", ">>>"):
        if left.size and not left.signed:
            operator = ">>>"
        return _typed(_shifted(operator, left, b), left)
    if (like.size == WORD and unsigned) or (operator == "%" and not like.size):
        operator = "u" + operator  # the language divides with sign
    return _typed(binary(operator, a, b), like)


def _shifted(operator: str, left: _Value, by: Expr) -> Expr:
    if operator == ">>":
        return binary(">>", left.expr, by)
    # Bits above a type's size are its sign, not its value.
    value = mask(left.expr, 8 * left.size) if left.size else left.expr
    if isinstance(by, Const):
        return shift_right(value, by.value) if 0 <= by.value < BITS else const(0)
    one_less = binary(">>", shift_right(value, 1), binary("-", by, const(1)))
    return Conditional(NOWHERE, LONG, by, one_less, value)


def _shuffle(op: Op, stack: list[_Value]) -> bool:
    """Move what is on the stack; return False for an operation that does something else."""
    depth = {"dup": 0, "over": 1, "pick": op.first}.get(op.name)
    if depth is not None:
        if depth >= len(stack):
            raise Unavailable
        stack.append(stack[-1 - depth])
    elif op.name == "drop":
        _pop(stack)
    elif op.name in ("swap", "rotate"):
        count = 2 if op.name == "swap" else 3
        if len(stack) < count:
            raise Unavailable
        stack.insert(-(count - 1), stack.pop())
    else:
        return False
    return True
