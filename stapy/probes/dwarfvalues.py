"""What DWARF says about where a value is, as expressions of the handler.

`describe` runs the operations on expressions instead of numbers.  Numbers of a
base type (``convert``) wrap as that type does; all others are 64 bits wide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from stapy.debuginfo import ctypes
from stapy.diagnostics import NOWHERE
from stapy.elaborate.program import (
    LONG,
    BinaryOp,
    Conditional,
    Const,
    ContextValue,
    EmbeddedValue,
    Expr,
    MemoryRead,
    ModuleAddress,
)
from stapy.elaborate.scope import TargetVariable

if TYPE_CHECKING:
    from stapy.debuginfo.dwarf.expressions import Op
    from stapy.debuginfo.dwarf.kernel import DwarfFile, Place
    from stapy.debuginfo.dwarf.variables import Variable

WORD = 8
_BITS = 8 * WORD
_REGISTERS = 17  # of the DWARF numbers of x86-64 those that pt_regs has
_ARITHMETIC = frozenset(("+", "-", "*", "&", "|", "^", "<<"))
_COMPARISONS = frozenset(("==", "!=", "<", "<=", ">", ">="))
_MAX_SIZE = 200  # nodes that one location may become
_MAX_BYTES = 4096  # of a value that is nowhere in memory
# Always there, and the runtime is linked with it: other addresses are told from it.
_BASE = "register_kprobe"
# x86-64 counts per-CPU variables of the kernel from 0, where no address is one of the kernel.
_PER_CPU_END = 1 << 31


class Unavailable(Exception):
    """A location that cannot be computed in a handler; the text, if any, says why."""


def describe(variable: Variable, place: Place, dwarf: DwarfFile) -> TargetVariable:
    """A variable at a place; `Unavailable` when it cannot be had there."""
    name, type, ops = "$" + variable.name, variable.type, variable.ops
    if not ops:
        raise Unavailable
    machine = _Machine(place, dwarf)
    if any(op.name == "piece" for op in ops):
        return _in_pieces(name, type, ops, machine)
    scalar = not isinstance(ctypes.strip(type), (ctypes.Struct, ctypes.Array))
    size = ctypes.size_of(type)
    if len(ops) == 1 and ops[0].name == "register":
        number = ops[0].first
        if not scalar:
            if size > WORD:
                raise Unavailable
            return TargetVariable(name, type, None, None, [_register(number)])
        width = size if size in (1, 2, 4, 8) else WORD
        value = _register(number, width, ctypes.is_signed(type))
        return TargetVariable(name, type, value, writable=True)
    if len(ops) == 1 and ops[0].name == "bytes":
        return _in_pieces(name, type, ops, machine)
    result, is_value = machine.run(ops)
    if not is_value:
        return TargetVariable(name, type, None, result)
    if not scalar:
        if size > WORD:
            raise Unavailable
        return TargetVariable(name, type, None, None, [result])
    return TargetVariable(name, type, _cut(result, type))


# --- pieces -------------------------------------------------------------------


class _Piece(NamedTuple):
    """Bits of a value; ``ops`` is empty for bits that are nowhere."""

    ops: list[Op]
    bits: int
    offset: int


def _in_pieces(name: str, type: ctypes.CType, ops: list[Op], machine: _Machine) -> TargetVariable:
    """A value in several places, as words that are put together; some bits may be missing."""
    size = ctypes.size_of(type) * 8
    if not 0 < size <= _MAX_BYTES * 8:
        raise Unavailable
    pieces = _split(ops, size)
    words: list[Expr | None] = [None] * ((size + _BITS - 1) // _BITS)
    gaps: list[tuple[int, int]] = []
    at = 0
    for piece in pieces:
        if piece.ops:
            for value, bits in _chunks(piece, machine):
                _store(words, at, value, min(bits, size - at))
                at += bits
        else:
            gaps.append((at, min(at + piece.bits, size)))
            at += piece.bits
        if at >= size:
            break
    if at < size:
        gaps.append((at, size))
    gaps = [(start, end) for start, end in gaps if start < end]
    if sum(end - start for start, end in gaps) >= size:
        raise Unavailable
    struct = isinstance(ctypes.strip(type), (ctypes.Struct, ctypes.Array))
    parts = [word if word is not None else _const(0) for word in words]
    if not struct:
        if gaps:
            raise Unavailable("a part of it is optimised out")
        if len(parts) == 1:
            return TargetVariable(name, type, _cut(parts[0], type))
    return TargetVariable(name, type, None, None, parts, gaps=gaps)


def _split(ops: list[Op], size: int) -> list[_Piece]:
    pieces: list[_Piece] = []
    pending: list[Op] = []
    for op in ops:
        if op.name == "piece":
            pieces.append(_Piece(pending, op.first, op.second))
            pending = []
        else:
            pending.append(op)
    if pending:  # the whole is one constant, or the last piece lacks its size
        pieces.append(_Piece(pending, max(0, size - sum(piece.bits for piece in pieces)), 0))
    return pieces


def _chunks(piece: _Piece, machine: _Machine) -> list[tuple[Expr, int]]:
    """``(value, bits)`` of at most one word each, the lowest first."""
    ops, bits, offset = piece
    if len(ops) == 1 and ops[0].name == "bytes":
        number = ops[0].first >> offset
        return [
            (_const(number >> at & ((1 << min(_BITS, bits - at)) - 1)), min(_BITS, bits - at))
            for at in range(0, bits, _BITS)
        ]
    if len(ops) == 1 and ops[0].name == "register":
        value: Expr = _register(ops[0].first)
    else:
        value, is_value = machine.run(ops)
        if not is_value:
            return _from_memory(value, bits, offset)
    if bits + offset > _BITS:
        raise Unavailable
    return [(_mask(_right(value, offset), bits), bits)]


def _from_memory(address: Expr, bits: int, offset: int) -> list[tuple[Expr, int]]:
    if offset % 8 or bits % 8:  # a bit field: all its bytes, then its bits
        whole = (offset % 8 + bits + 7) // 8
        if whole > WORD:
            raise Unavailable
        ((value, _),) = _from_memory(_add(address, offset // 8), 64, 0)
        return [(_mask(_right(value, offset % 8), bits), bits)]
    found: list[tuple[Expr, int]] = []
    at, end = offset // 8, (offset + bits) // 8
    while at < end:
        width = next(size for size in (8, 4, 2, 1) if size <= end - at)
        found.append((MemoryRead(NOWHERE, LONG, _add(address, at), width, False), 8 * width))
        at += width
    return found


def _store(words: list[Expr | None], at: int, value: Expr, bits: int) -> None:
    """Put a value's lowest bits at a place among the words; what lies there is 0."""
    number, shift = divmod(at, _BITS)
    if bits <= 0 or number >= len(words):
        return
    _or(words, number, _binary("<<", value, _const(shift)) if shift else value)
    if shift + bits > _BITS and number + 1 < len(words):
        _or(words, number + 1, _right(value, _BITS - shift))


def _or(words: list[Expr | None], number: int, value: Expr) -> None:
    known = words[number]
    words[number] = value if known is None else _binary("|", known, value)


# --- numbers ------------------------------------------------------------------


def _const(value: int) -> Const:
    value &= (1 << 64) - 1
    return Const(NOWHERE, LONG, value - (1 << 64) if value >> 63 else value)


def _register(number: int, size: int = WORD, signed: bool = False) -> ContextValue:
    if number >= _REGISTERS:
        raise Unavailable
    return ContextValue(NOWHERE, LONG, "register", number, size, signed)


def _binary(operator: str, left: Expr, right: Expr) -> Expr:
    return BinaryOp(NOWHERE, LONG, operator, left, right)


def _add(left: Expr, offset: int) -> Expr:
    return _binary("+", left, _const(offset)) if offset else left


def _right(value: Expr, bits: int) -> Expr:
    """Shifted to the right, zeros coming in: the language's own shift brings the sign."""
    if not bits:
        return value
    return _binary("&", _binary(">>", value, _const(bits)), _const((1 << (_BITS - bits)) - 1))


def _mask(value: Expr, bits: int) -> Expr:
    return value if bits >= _BITS else _binary("&", value, _const((1 << bits) - 1))


def _widen(value: Expr, bits: int, signed: bool) -> Expr:
    """The lowest bits of a value as a number."""
    if not 0 < bits < _BITS:
        return value
    if isinstance(value, Const):
        number = value.value & ((1 << bits) - 1)
        if signed and number >> (bits - 1):
            number -= 1 << bits
        return Const(NOWHERE, LONG, number)
    if signed:
        up = _const(_BITS - bits)
        return _binary(">>", _binary("<<", value, up), up)
    return _mask(value, bits)


def _cut(value: Expr, type: ctypes.CType) -> Expr:
    """A computed value as its type has it: the expression stack is 64 bits wide."""
    return _widen(value, 8 * ctypes.size_of(type), ctypes.is_signed(type))


def per_cpu_address(offset: int) -> Expr:
    """The address of this CPU's copy of a per-CPU variable of the kernel."""
    code = f"(int64_t)(__per_cpu_offset[raw_smp_processor_id()] + {offset}L)"
    return EmbeddedValue(NOWHERE, LONG, code, {"pure", "unprivileged"})


def address_of(address: int, dwarf: DwarfFile) -> Expr:
    """An address of the debug file in the kernel that runs, wherever that was moved to."""
    if dwarf.module is not None:
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


class _Machine:
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
            stack.append(_compute("-", _Value(_const(0)), _pop(stack)))
        elif op.name == "~":
            value = _pop(stack)
            stack.append(_compute("^", value, _Value(_const(-1))))
        elif op.name == "add":
            value = _pop(stack)
            stack.append(_typed(_add(value.expr, op.first), value))
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
            return _const(op.first)
        if op.name == "address_in":
            return _add(_register(op.first), op.second)
        if op.name == "cfa":
            return self._frame_address()
        if op.name == "frame":
            return _add(self._frame_base(), op.first)
        if op.name == "address":
            return address_of(op.first, self._dwarf)
        if op.name == "entry_register":
            if self._at_entry():
                return _register(op.first)
            function = self._place.function
            raise Unavailable(
                f"it was in a register when '{function}' was entered, and that has been "
                "overwritten since: a probe at the entry has it"
            )
        if op.name == "implicit_pointer":
            raise Unavailable("what it points to has no address: the compiler works on its parts")
        raise Unavailable

    def _at_entry(self) -> bool:
        return self._place.exact

    def _frame_address(self) -> Expr:
        rule = self._dwarf.frame_address(self._place)
        if rule is None:
            raise Unavailable
        return _add(_register(rule[0]), rule[1])

    def _frame_base(self) -> Expr:
        ops = self._dwarf.frame_base(self._place)
        if len(ops) != 1:
            raise Unavailable
        if ops[0].name == "cfa":
            return self._frame_address()
        if ops[0].name == "register":
            return _register(ops[0].first)
        if ops[0].name == "address_in":
            return _add(_register(ops[0].first), ops[0].second)
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
        return _typed(_binary(operator, a, b), like)
    unsigned = bool(like.size) and not like.signed
    if operator in _COMPARISONS:
        if unsigned and like.size == WORD and operator not in ("==", "!="):
            # The language compares with sign: move both by half the range.
            half = _const(1 << 63)
            a, b = _binary("^", a, half), _binary("^", b, half)
        return _Value(_binary(operator, a, b))
    if operator in (">>", ">>>"):
        if left.size and not left.signed:
            operator = ">>>"
        return _typed(_shifted(operator, left, b), left)
    if (like.size == WORD and unsigned) or (operator == "%" and not like.size):
        raise Unavailable  # the language divides with sign
    return _typed(_binary(operator, a, b), like)


def _shifted(operator: str, left: _Value, by: Expr) -> Expr:
    if operator == ">>":
        return _binary(">>", left.expr, by)
    # Bits above a type's size are its sign, not its value.
    value = _mask(left.expr, 8 * left.size) if left.size else left.expr
    if isinstance(by, Const):
        return _right(value, by.value) if 0 <= by.value < _BITS else _const(0)
    one_less = _binary(">>", _right(value, 1), _binary("-", by, _const(1)))
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
