"""Where a function's arguments and result are: the System V calling convention of x86-64."""

from __future__ import annotations

from stapy.debuginfo import ctypes
from stapy.diagnostics import NOWHERE
from stapy.ir.program import LONG, BinaryOp, Const, ContextValue, Expr
from stapy.ir.scope import TargetVariable

INTEGER_REGISTERS = 6
STACK_POINTER = 7  # DWARF number of rsp
SECOND_RESULT = 1  # DWARF number of rdx
WORD = 8


def _context(name: str, index: int, size: int = WORD, signed: bool = False) -> ContextValue:
    return ContextValue(NOWHERE, LONG, name, index, size, signed)


def stack_address(offset: int) -> Expr:
    """Address of the stack argument at ``offset``; the return address lies below it."""
    pointer = _context("register", STACK_POINTER)
    return BinaryOp(NOWHERE, LONG, "+", pointer, Const(NOWHERE, LONG, WORD + offset))


def _alignment(type: ctypes.CType, depth: int = 0) -> int:
    type = ctypes.strip(type)
    if isinstance(type, ctypes.Array):
        return _alignment(type.element, depth)
    if isinstance(type, ctypes.Struct):
        if depth > 8:
            return WORD
        return max((_alignment(m.type, depth + 1) for m in type.members()), default=1)
    return max(1, min(16, ctypes.size_of(type)))


def is_aggregate(type: ctypes.CType) -> bool:
    """True for a struct or union passed by value."""
    return isinstance(ctypes.strip(type), ctypes.Struct)


def parameters(function: ctypes.Function) -> list[TargetVariable]:
    """Variables for all parameters at the first instruction of the function.

    Floating point parameters are left out (kernel code has none).
    """
    result = ctypes.strip(function.result)
    register = 0
    if isinstance(result, ctypes.Struct) and ctypes.size_of(result) > 2 * WORD:
        register = 1  # hidden address of the result
    stack = 0
    found: list[TargetVariable] = []
    for parameter in function.params:
        type = parameter.type
        size = ctypes.size_of(type)
        if isinstance(ctypes.strip(type), ctypes.Float):
            continue
        words = max(1, (size + WORD - 1) // WORD)
        name = "$" + parameter.name
        if words <= 2 and register + words <= INTEGER_REGISTERS:
            parts: list[Expr] = [_context("arg", register + i) for i in range(words)]
            if is_aggregate(type) or words > 1:
                found.append(TargetVariable(name, type, None, None, parts))
            else:
                value = _context("arg", register, min(WORD, size or WORD), ctypes.is_signed(type))
                found.append(TargetVariable(name, type, value, writable=True))
            register += words
            continue
        if _alignment(type) >= 16:
            stack = (stack + 15) & ~15
        if is_aggregate(type) or words > 1:
            found.append(TargetVariable(name, type, None, stack_address(stack)))
        else:
            value = _context("stack_arg", stack // WORD, min(WORD, size), ctypes.is_signed(type))
            found.append(TargetVariable(name, type, value))
        stack += words * WORD
    return [variable for variable in found if variable.name != "$"]


def result(function: ctypes.Function) -> TargetVariable | None:
    """``$return``; None for void and floating point results."""
    type = ctypes.strip(function.result)
    if isinstance(type, (ctypes.Void, ctypes.Float)):
        return None
    size = ctypes.size_of(type)
    if isinstance(type, ctypes.Struct):
        if size > 2 * WORD:
            return TargetVariable("$return", function.result, None, _context("return", 0))
        parts: list[Expr] = [_context("return", 0)]
        if size > WORD:
            parts.append(_context("register", SECOND_RESULT))
        return TargetVariable("$return", function.result, None, None, parts)
    value = _context("return", 0, min(WORD, size or WORD), ctypes.is_signed(type))
    return TargetVariable("$return", function.result, value, writable=True)


def word_arguments(name: str, params: list[ctypes.Parameter]) -> tuple[list[TargetVariable], int]:
    """Parameters that arrive as an array of words (tracepoints), and how many words that is.

    A struct larger than two words ends the list: it travels by another road.
    """
    found: list[TargetVariable] = []
    index = 0
    for parameter in params:
        size = ctypes.size_of(parameter.type)
        words = max(1, (size + WORD - 1) // WORD)
        if words > 2:
            break
        if is_aggregate(parameter.type) or words > 1:
            parts: list[Expr] = [_context(name, index + i) for i in range(words)]
            found.append(TargetVariable("$" + parameter.name, parameter.type, None, None, parts))
        else:
            signed = ctypes.is_signed(parameter.type)
            value = _context(name, index, min(WORD, size or WORD), signed)
            found.append(TargetVariable("$" + parameter.name, parameter.type, value))
        index += words
    return found, index
