"""Runs DWARF expressions on expressions of the handler instead of numbers.

Numbers of a base type (``convert``) wrap as that type does; all others are 64
bits wide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from stapy.debuginfo import ctypes
from stapy.diagnostics import NOWHERE
from stapy.elaborate.program import (
    LONG,
    PER_CPU,
    BinaryOp,
    Conditional,
    Const,
    ContextValue,
    EmbeddedValue,
    Entrance,
    EntryRegister,
    Expr,
    MemoryRead,
    ModuleAddress,
)

if TYPE_CHECKING:
    from stapy.debuginfo.dwarf.expressions import Op
    from stapy.debuginfo.dwarf.kernel import DwarfFile, Place

WORD = 8
BITS = 8 * WORD
ARGUMENTS = (5, 4, 1, 2, 8, 9)  # DWARF numbers of the registers that take arguments
NO_ADDRESS = "what it points to has no address: the compiler works on its parts"
_REGISTERS = 17  # of the DWARF numbers of x86-64 those that pt_regs has
_ARITHMETIC = frozenset(("+", "-", "*", "&", "|", "^", "<<"))
_COMPARISONS = frozenset(("==", "!=", "<", "<=", ">", ">="))
_MAX_SIZE = 200  # nodes that one location may become
# Always there, and the runtime is linked with it: other addresses are told from it.
_BASE = "register_kprobe"
# x86-64 counts per-CPU variables of the kernel from 0, where no address is one of the kernel.
_PER_CPU_END = 1 << 31


class Unavailable(Exception):
    """A location that cannot be computed in a handler; the text, if any, says why."""


# --- numbers ------------------------------------------------------------------


def const(value: int) -> Const:
    """A number, as the language has it: 64 bits with sign."""
    value &= (1 << 64) - 1
    return Const(NOWHERE, LONG, value - (1 << 64) if value >> 63 else value)


def register(number: int, size: int = WORD, signed: bool = False) -> ContextValue:
    """A register by its DWARF number, ``size`` bytes of it."""
    if number >= _REGISTERS:
        raise Unavailable
    return ContextValue(NOWHERE, LONG, "register", number, size, signed)


def binary(operator: str, left: Expr, right: Expr) -> Expr:
    """``left operator right`` on two numbers of 64 bits."""
    return BinaryOp(NOWHERE, LONG, operator, left, right)


def add(left: Expr, offset: int) -> Expr:
    """``left + offset``."""
    return binary("+", left, const(offset)) if offset else left


def shift_right(value: Expr, bits: int) -> Expr:
    """Shifted to the right, zeros coming in: the language's own shift brings the sign."""
    if not bits:
        return value
    return binary("&", binary(">>", value, const(bits)), const((1 << (BITS - bits)) - 1))


def mask(value: Expr, bits: int) -> Expr:
    """The lowest bits of a value."""
    return value if bits >= BITS else binary("&", value, const((1 << bits) - 1))


def _widen(value: Expr, bits: int, signed: bool) -> Expr:
    """The lowest bits of a value as a number."""
    if not 0 < bits < BITS:
        return value
    if isinstance(value, Const):
        number = value.value & ((1 << bits) - 1)
        if signed and number >> (bits - 1):
            number -= 1 << bits
        return Const(NOWHERE, LONG, number)
    if signed:
        up = const(BITS - bits)
        return binary(">>", binary("<<", value, up), up)
    return mask(value, bits)


def cut(value: Expr, type: ctypes.CType) -> Expr:
    """A computed value as its type has it: the expression stack is 64 bits wide."""
    return _widen(value, 8 * ctypes.size_of(type), ctypes.is_signed(type))


def per_cpu_address(offset: int, module: str | None = None) -> Expr:
    """The address of this CPU's copy of a per-CPU variable of the kernel (None) or a module."""
    if module is not None:
        return ModuleAddress(NOWHERE, LONG, module, PER_CPU, offset)
    code = f"(int64_t)(__per_cpu_offset[raw_smp_processor_id()] + {offset}L)"
    return EmbeddedValue(NOWHERE, LONG, code, {"pure", "unprivileged"})


def address_of(address: int, dwarf: DwarfFile) -> Expr:
    """An address of the debug file in the kernel that runs, wherever that was moved to."""
    if dwarf.module is not None:
        offset = dwarf.per_cpu_offset(address)
        if offset is not None:
            return per_cpu_address(offset, dwarf.module)
        anchor = dwarf.index.anchor(address)
        if anchor is None:
            raise Unavailable
        return ModuleAddress(NOWHERE, LONG, dwarf.module, *anchor)
    if address < _PER_CPU_END:
        return per_cpu_address(address)
    base = next(
        (site.pc for row in dwarf.index.functions(_BASE) for site in row.sites if not site.inlined),
        None,
    )
    if base is None:
        raise Unavailable
    # All of the kernel moves as one piece.
    code = f"(int64_t)((unsigned long){_BASE} + ({address - base}L))"
    return EmbeddedValue(NOWHERE, LONG, code, {"pure", "unprivileged"})


# --- the machine --------------------------------------------------------------


class _Value(NamedTuple):
    """One entry of the stack: a plain number of 64 bits, or one of a type."""

    expr: Expr
    size: int = 0
    signed: bool = True


class Machine:
    """Runs the operations on expressions instead of numbers."""

    def __init__(self, place: Place, dwarf: DwarfFile) -> None:
        self._place = place
        self._dwarf = dwarf
        self._steps = 0

    def run(self, ops: list[Op]) -> tuple[Expr, bool]:
        """The result, and whether it is the value itself and not its address."""
        return self._from(ops, 0, [])

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
        elif op.name == "add":
            value = _pop(stack)
            stack.append(_typed(add(value.expr, op.first), value))
        elif op.name == "convert":
            value = _pop(stack)
            number = _widen(value.expr, 8 * op.first, bool(op.second))
            stack.append(_Value(number, op.first, bool(op.second)))
        elif op.name == "read" and op.first in (1, 2, 4, 8):
            address = _pop(stack).expr
            stack.append(_Value(MemoryRead(NOWHERE, LONG, address, op.first, False)))
        elif not _shuffle(op, stack):
            stack.append(_Value(self._known(op)))

    def _known(self, op: Op) -> Expr:
        """What an operation puts on the stack without taking anything."""
        if op.name == "const":
            return const(op.first)
        if op.name == "address_in":
            return add(register(op.first), op.second)
        if op.name == "cfa":
            return self._frame_address()
        if op.name == "frame":
            return add(self._frame_base(), op.first)
        if op.name == "address":
            return address_of(op.first, self._dwarf)
        if op.name == "entry_register":
            return self._at_entry(op.first)
        if op.name == "implicit_pointer":
            raise Unavailable(NO_ADDRESS)
        raise Unavailable

    def _at_entry(self, number: int) -> Expr:
        """What a register had when the function around the place was entered."""
        if self._place.exact:
            return register(number)
        entrance = self._dwarf.entrance(self._place)
        if entrance is None:
            raise Unavailable
        symbol, offset, address = entrance
        if address == self._place.address:
            return register(number)
        if number not in ARGUMENTS:
            raise Unavailable(
                f"it was in a register that takes no argument when '{symbol}' was entered"
            )
        function = Entrance(symbol, self._place.module, offset)
        which = ARGUMENTS.index(number)
        return EntryRegister(NOWHERE, LONG, function, which, self._frame_address())

    def _frame_address(self) -> Expr:
        rule = self._dwarf.frame_address(self._place)
        if rule is None:
            raise Unavailable
        return add(register(rule[0]), rule[1])

    def _frame_base(self) -> Expr:
        ops = self._dwarf.frame_base(self._place)
        if len(ops) != 1:
            raise Unavailable
        if ops[0].name == "cfa":
            return self._frame_address()
        if ops[0].name == "register":
            return register(ops[0].first)
        if ops[0].name == "address_in":
            return add(register(ops[0].first), ops[0].second)
        raise Unavailable


def _pop(stack: list[_Value]) -> _Value:
    if not stack:
        raise Unavailable
    return stack.pop()


def _typed(result: Expr, like: _Value) -> _Value:
    """A result wraps as its operands do."""
    return _Value(_widen(result, 8 * like.size, like.signed), like.size, like.signed)


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
        raise Unavailable  # the language divides with sign
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
    """Move what is on the stack; False when the operation is another one."""
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
