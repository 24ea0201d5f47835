"""Target variables of places that DWARF told: its operations as expressions of the handler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stapy.debuginfo import ctypes
from stapy.debuginfo.errors import DebuginfoError
from stapy.diagnostics import NOWHERE
from stapy.elaborate.program import (
    LONG,
    BinaryOp,
    Const,
    ContextValue,
    EmbeddedValue,
    Expr,
    MemoryRead,
)
from stapy.elaborate.scope import TargetScope, TargetVariable
from stapy.probes import abi

if TYPE_CHECKING:
    from stapy.debuginfo.dwarf.expressions import Op
    from stapy.debuginfo.dwarf.kernel import DwarfFile, Place
    from stapy.debuginfo.dwarf.variables import Variable

WORD = 8
_REGISTERS = 17  # of the DWARF numbers of x86-64 those that pt_regs has
_ARITHMETIC = frozenset(("+", "-", "*", "&", "|", "^", "<<", ">>", ">>>"))
_COMPARISONS = frozenset(("==", "!=", "<", "<=", ">", ">="))
_SHOWN_LINES = 6
_MAX_SIZE = 200  # nodes that one location may become
# Always there, and the runtime is linked with it: other addresses are told from it.
_BASE = "register_kprobe"


class _Unavailable(Exception):
    """A location that cannot be computed in a handler."""


def scope(site: Any, services: Any) -> TargetScope:
    """Parameters and locals at a place."""
    place: Place = site.place
    dwarf: DwarfFile = services.debuginfo.dwarf_of(place.module)
    found: dict[str, TargetVariable] = {}
    parameters: list[str] = []
    locals_: list[str] = []
    unavailable: dict[str, str] = {}
    missing = f"these are the variables of '{place.function}'"
    try:
        for variable in dwarf.variables(place):
            name = "$" + variable.name
            try:
                found[name] = _target(variable, place, dwarf)
            except _Unavailable:
                unavailable[name] = _where_else(variable, place, dwarf)
                continue
            (parameters if variable.parameter else locals_).append(name)
    except DebuginfoError as error:  # what was read before the damage is good
        missing = str(error)
    return TargetScope(
        place.module or "kernel",
        found,
        {"$$parms": parameters, "$$locals": locals_, "$$vars": parameters + locals_},
        missing=missing,
        key=f"dwarf:{place.module}:{place.address:#x}:{place.entry:#x}",
        unavailable=unavailable,
    )


def return_scope(site: Any, entry: TargetScope, services: Any) -> TargetScope:
    """The result of a function that only DWARF describes; parameters are saved at its entry."""
    place: Place = site.place
    debuginfo = services.debuginfo
    own: dict[str, TargetVariable] = {}
    dwarf = debuginfo.dwarf_of(place.module)
    prototype = debuginfo.safe(None, dwarf.prototype, place)
    result = abi.result(prototype) if prototype is not None else None
    if result is not None:
        own["$return"] = result
    names = entry.groups["$$parms"]
    groups = {"$$return": list(own), "$$vars": [*names, *own], "$$parms": names, "$$locals": []}
    return TargetScope(
        entry.module,
        own,
        groups,
        entry=entry,
        is_return=True,
        missing=entry.missing,
        key=f"{entry.key}:return",
        unavailable=entry.unavailable,
    )


def _where_else(variable: Variable, place: Place, dwarf: DwarfFile) -> str:
    lines = dwarf.lines_with(place, variable) if variable.ranges else []
    if not lines:
        return "the compiler has optimised it out"
    shown = ", ".join(str(line) for line in lines[:_SHOWN_LINES])
    more = " …" if len(lines) > _SHOWN_LINES else ""
    return f"it is available at {place.file}:{shown}{more}"


def _target(variable: Variable, place: Place, dwarf: DwarfFile) -> TargetVariable:
    name, type, ops = "$" + variable.name, variable.type, variable.ops
    if not ops:
        raise _Unavailable
    size = ctypes.size_of(type)
    scalar = not isinstance(ctypes.strip(type), (ctypes.Struct, ctypes.Array))
    if any(op.name == "piece" for op in ops):
        return TargetVariable(name, type, None, None, _pieces(ops, size))
    if len(ops) == 1 and ops[0].name == "register":
        number = ops[0].first
        if not scalar:
            if size > WORD:
                raise _Unavailable
            return TargetVariable(name, type, None, None, [_register(number)])
        width = size if size in (1, 2, 4, 8) else WORD
        value = _register(number, width, ctypes.is_signed(type))
        return TargetVariable(name, type, value, writable=True)
    if len(ops) == 1 and ops[0].name == "bytes":
        return TargetVariable(name, type, _cut(_const(ops[0].first), type))
    result, is_value = _Machine(place, dwarf).run(ops)
    if not is_value:
        return TargetVariable(name, type, None, result)
    if not scalar:
        if size > WORD:
            raise _Unavailable
        return TargetVariable(name, type, None, None, [result])
    return TargetVariable(name, type, _cut(result, type))


def _pieces(ops: list[Op], size: int) -> list[Expr]:
    """A small struct in several registers, eight bytes in each."""
    parts: list[Expr] = []
    for where, piece in zip(ops[::2], ops[1::2]):
        last = len(parts) == len(ops) // 2 - 1
        whole = piece.first == WORD or (last and 0 < piece.first < WORD)
        if where.name != "register" or piece.name != "piece" or not whole:
            raise _Unavailable
        parts.append(_register(where.first))
    if not parts or len(ops) % 2 or len(parts) * WORD < size:
        raise _Unavailable
    return parts


def _const(value: int) -> Const:
    value &= (1 << 64) - 1
    return Const(NOWHERE, LONG, value - (1 << 64) if value >> 63 else value)


def _register(number: int, size: int = WORD, signed: bool = False) -> ContextValue:
    if number >= _REGISTERS:
        raise _Unavailable
    return ContextValue(NOWHERE, LONG, "register", number, size, signed)


def _binary(operator: str, left: Expr, right: Expr) -> Expr:
    return BinaryOp(NOWHERE, LONG, operator, left, right)


def _cut(value: Expr, type: ctypes.CType) -> Expr:
    """A computed value as its type has it: the expression stack is 64 bits wide."""
    bits = 8 * ctypes.size_of(type)
    if not 0 < bits < 64:
        return value
    if isinstance(value, Const):
        number = value.value & ((1 << bits) - 1)
        if ctypes.is_signed(type) and number >> (bits - 1):
            number -= 1 << bits
        return Const(NOWHERE, LONG, number)
    if ctypes.is_signed(type):
        up = _const(64 - bits)
        return _binary(">>", _binary("<<", value, up), up)
    return _binary("&", value, _const((1 << bits) - 1))


def kernel_address(address: int, dwarf: DwarfFile) -> Expr:
    """An address of the kernel's file in the kernel that runs, wherever that was moved to."""
    if dwarf.module is not None:  # each of its sections lies elsewhere
        raise _Unavailable
    base = next(
        (
            site.pc
            for row in dwarf.index.functions(_BASE)
            for site in row.sites
            if not site.inlined
        ),
        None,
    )
    if base is None:
        raise _Unavailable
    # All of the kernel moves as one piece.
    code = f"(int64_t)((unsigned long){_BASE} + ({address - base}L))"
    return EmbeddedValue(NOWHERE, LONG, code, {"pure", "unprivileged"})


def global_variable(name: str, services: Any) -> tuple[ctypes.CType, Expr] | None:
    """Type and address of ``name`` or ``name@file``; None when DWARF does not have it."""
    dwarf = services.debuginfo.dwarf
    if dwarf is None:
        return None
    plain, _, file = name.partition("@")
    try:
        found = dwarf.global_variable(plain, file)
        return None if found is None else (found[0], kernel_address(found[1], dwarf))
    except (_Unavailable, DebuginfoError):
        return None


class _Machine:
    """Runs the operations on expressions instead of numbers."""

    def __init__(self, place: Place, dwarf: DwarfFile) -> None:
        self._place = place
        self._dwarf = dwarf
        self._stack: list[Expr] = []
        self._steps = 0

    def run(self, ops: list[Op]) -> tuple[Expr, bool]:
        """The result, and whether it is the value itself and not its address."""
        is_value = False
        for op in ops:
            self._steps += 1
            if is_value or self._steps > _MAX_SIZE:
                raise _Unavailable
            if op.name == "value":
                is_value = True
            else:
                self._step(op)
        return self._pop(), is_value

    def _pop(self) -> Expr:
        if not self._stack:
            raise _Unavailable
        return self._stack.pop()

    def _step(self, op: Op) -> None:
        stack = self._stack
        if op.name in _ARITHMETIC or op.name in _COMPARISONS:
            right, left = self._pop(), self._pop()
            stack.append(_binary(op.name, left, right))
        elif op.name == "const":
            stack.append(_const(op.first))
        elif op.name == "add":
            stack.append(_add(self._pop(), op.first))
        elif op.name == "address_in":
            stack.append(_add(_register(op.first), op.second))
        elif op.name == "cfa":
            stack.append(self._frame_address())
        elif op.name == "frame":
            stack.append(_add(self._frame_base(), op.first))
        elif op.name == "address":
            stack.append(kernel_address(op.first, self._dwarf))
        elif op.name == "read" and op.first in (1, 2, 4, 8):
            stack.append(MemoryRead(NOWHERE, LONG, self._pop(), op.first, False))
        elif op.name == "neg":
            stack.append(_binary("-", _const(0), self._pop()))
        elif op.name == "~":
            stack.append(_binary("^", self._pop(), _const(-1)))
        else:
            self._shuffle(op)

    def _shuffle(self, op: Op) -> None:
        stack = self._stack
        depth = {"dup": 0, "over": 1, "pick": op.first}.get(op.name)
        if depth is not None and depth < len(stack):
            stack.append(stack[-1 - depth])
        elif op.name == "drop":
            self._pop()
        elif op.name == "swap" and len(stack) > 1:
            stack[-1], stack[-2] = stack[-2], stack[-1]
        else:
            raise _Unavailable

    def _frame_address(self) -> Expr:
        rule = self._dwarf.frame_address(self._place)
        if rule is None:
            raise _Unavailable
        return _add(_register(rule[0]), rule[1])

    def _frame_base(self) -> Expr:
        ops = self._dwarf.frame_base(self._place)
        if len(ops) != 1:
            raise _Unavailable
        if ops[0].name == "cfa":
            return self._frame_address()
        if ops[0].name == "register":
            return _register(ops[0].first)
        if ops[0].name == "address_in":
            return _add(_register(ops[0].first), ops[0].second)
        raise _Unavailable


def _add(left: Expr, offset: int) -> Expr:
    return _binary("+", left, _const(offset)) if offset else left
