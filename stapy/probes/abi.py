"""Where a function's arguments and result are, by the calling convention of an architecture.

x86-64 has that of System V, arm64 AAPCS64 as far as integers go.

The kernel uses no vector registers; programs pass floating point numbers in them, alone or in
structs, of which each eight bytes are in a register of one kind or the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.debuginfo import ctypes
from stapy.diagnostics import NOWHERE
from stapy.ir.program import LONG, BinaryOp, Const, ContextValue, Expr
from stapy.ir.scope import TargetVariable

if TYPE_CHECKING:
    from collections.abc import Callable

    from stapy.arch import Architecture

WORD = 8
_LONG_DOUBLE = "a long double is returned in a register of the FPU, which probes do not read"
_FORGOTTEN = "it is in memory, and when the function returns no register tells where"
IN_VECTORS = "it is in vector registers, which stapy does not read on this machine"
_MOST_ALONE = 4  # floating point numbers of a struct that have a register each
_OWN_CONVENTION = (
    "the compiler calls this function in a way of its own, and does not tell where its result is"
)


def _context(name: str, index: int, size: int = WORD, signed: bool = False) -> ContextValue:
    return ContextValue(NOWHERE, LONG, name, index, size, signed)


def stack_address(offset: int, machine: Architecture) -> Expr:
    """Compute the address of the stack argument at ``offset`` bytes."""
    pointer = _context("register", machine.stack_pointer)
    offset += machine.stack_arguments
    return BinaryOp(NOWHERE, LONG, "+", pointer, Const(NOWHERE, LONG, offset))


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
    """Tell whether a type is a struct or union, passed by value."""
    return isinstance(ctypes.strip(type), ctypes.Struct)


def _is_float(type: ctypes.CType, word: int, at: int = 0, depth: int = 0) -> bool | None:
    """Tell whether all in one word of a type is floating point; None for no members there.

    ``at`` is where the type begins.
    """
    type = ctypes.strip(type)
    size = ctypes.size_of(type)
    if depth > 8 or at >= WORD * (word + 1) or at + max(size, 1) <= WORD * word:
        return None
    if isinstance(type, ctypes.Struct):
        found = [
            _is_float(member.type, word, at + member.bit_offset // 8, depth + 1)
            for member in type.members()
        ]
    elif isinstance(type, ctypes.Array):
        step = ctypes.size_of(type.element)
        count = size // step if step else 0
        found = [
            _is_float(type.element, word, at + step * i, depth + 1) for i in range(min(count, 16))
        ]
    else:
        return isinstance(type, ctypes.Float) and size <= WORD
    known = [one for one in found if one is not None]
    return all(known) if known else None


def _by_address(type: ctypes.CType) -> bool:
    type = ctypes.strip(type)
    tell = type.by_address if isinstance(type, ctypes.Struct) else None
    return tell is not None and tell()


def _is_complex(type: ctypes.CType) -> bool:
    return "complex" in getattr(ctypes.strip(type), "name", "").lower()


def _floats_alone(type: ctypes.CType) -> int:
    """Count the floating point numbers that a value is made of; 0 for more than four, or others.

    Where these are all of one size, each is in a vector register of its own.
    """
    sizes = _sizes_of_floats(type)
    return len(sizes) if sizes and len(sizes) <= _MOST_ALONE and len(set(sizes)) == 1 else 0


def _sizes_of_floats(type: ctypes.CType, depth: int = 0) -> list[int] | None:
    """List the sizes of all numbers in a value; None where one is no floating point number."""
    type = ctypes.strip(type)
    if isinstance(type, ctypes.Float):
        size = ctypes.size_of(type)
        return [size // 2] * 2 if _is_complex(type) else [size]
    parts: list[ctypes.CType] = []
    if isinstance(type, ctypes.Array):
        step = ctypes.size_of(type.element)
        count = ctypes.size_of(type) // step if step else 0
        parts = [type.element] * min(count, _MOST_ALONE + 1)
    elif isinstance(type, ctypes.Struct) and depth <= 8:
        members = [member.type for member in type.members()]
        if type.kind == "union":  # of which the one with the most numbers counts
            found = [_sizes_of_floats(member, depth + 1) for member in members]
            known = [row for row in found if row is not None]
            return max(known, key=len, default=None) if len(known) == len(found) else None
        parts = members
    sizes: list[int] = []
    for part in parts:
        inner = _sizes_of_floats(part, depth + 1)
        if inner is None or len(sizes) > _MOST_ALONE:
            return None
        sizes += inner
    return sizes or None


def _has_long_double(type: ctypes.CType, depth: int = 0) -> bool:
    type = ctypes.strip(type)
    if isinstance(type, ctypes.Struct):
        return depth <= 8 and any(_has_long_double(m.type, depth + 1) for m in type.members())
    if isinstance(type, ctypes.Array):
        return _has_long_double(type.element, depth + 1)
    return isinstance(type, ctypes.Float) and ctypes.size_of(type) > WORD


def parameters(
    function: ctypes.FunctionType, machine: Architecture, *, with_vectors: bool = False
) -> list[TargetVariable]:
    """List variables for all parameters at the first instruction of the function.

    Floating point parameters are left out but for programs (``with_vectors``).
    Of a function that is called in a way of its own none is known.
    """
    if function.own_convention:
        return []
    passed = _PassedParameters(machine, with_vectors)
    passed.skip_result(ctypes.strip(function.result))
    found = [passed.take("$" + parameter.name, parameter.type) for parameter in function.params]
    return [variable for variable in found if variable is not None and variable.name != "$"]


class _PassedParameters:
    """Gives parameters their places, one after the other, as a call does."""

    def __init__(self, machine: Architecture, with_vectors: bool) -> None:
        self._machine = machine
        self._room = len(machine.arguments)
        self._with_vectors = with_vectors
        self._integers = 0  # registers that are taken
        self._vectors = 0
        self._stack = 0  # bytes

    def skip_result(self, result: ctypes.CType) -> None:
        """Take the register that has the address of a result which is too large for registers."""
        if self._machine.result_address is not None:
            return
        if isinstance(result, ctypes.Struct) and (
            ctypes.size_of(result) > 2 * WORD or (self._with_vectors and _by_address(result))
        ):
            self._integers = 1

    def take(self, name: str, type: ctypes.CType) -> TargetVariable | None:
        """Describe the next parameter; None for one that is left out."""
        is_float = isinstance(ctypes.strip(type), ctypes.Float)
        if is_float and not self._with_vectors:
            return None
        if self._with_vectors and _by_address(type):
            return self._take_address(name, type)
        words = max(1, (ctypes.size_of(type) + WORD - 1) // WORD)
        if self._with_vectors and not self._machine.reads_vectors:
            if count := _floats_alone(type):
                self._leave_out(count, type, words)
                return None
            is_float = False
        if self._machine.passes_large_by_address:
            if words > 2 and is_aggregate(type):
                return self._take_address(name, type)
            if words == 2 and _alignment(type) >= 2 * WORD:
                self._integers += self._integers & 1  # a pair begins with an even one
        if is_float and _is_complex(type):
            self._vectors += words
            return None
        splits = self._with_vectors and self._machine.reads_vectors
        floats = [splits and bool(_is_float(type, word)) for word in range(min(words, 2))]
        if words <= 2 and self._fits(type, floats):
            return self._take_registers(name, type, floats)
        if self._machine.passes_large_by_address:
            self._integers = self._room  # what comes later goes to the stack as well
        return self._take_stack(name, type, words)

    def _leave_out(self, count: int, type: ctypes.CType, words: int) -> None:
        """Give as many vector registers as a value takes, or all that are left and the stack."""
        room = self._machine.vectors[1]
        if self._vectors + count <= room:
            self._vectors += count
        else:
            self._vectors = room
            self._take_stack("", type, words)

    def _take_address(self, name: str, type: ctypes.CType) -> TargetVariable:
        """Describe an object of which the address is passed."""
        if self._integers < self._room:
            address = _context("arg", self._integers)
            self._integers += 1
        else:
            address = _context("stack_arg", self._stack // WORD)
            self._stack += WORD
        return TargetVariable(name, type, None, address)

    def _fits(self, type: ctypes.CType, floats: list[bool]) -> bool:
        """Tell whether registers are left for all words, of which ``floats`` says the kinds."""
        vectors = floats.count(True)
        return (
            self._integers + len(floats) - vectors <= self._room
            and self._vectors + vectors <= self._machine.vectors[1]
            and not (self._with_vectors and _has_long_double(type))
        )

    def _take_registers(self, name: str, type: ctypes.CType, floats: list[bool]) -> TargetVariable:
        first, vectors = self._integers, floats.count(True)
        self._integers += len(floats) - vectors
        if vectors:
            parts = _words(floats, "arg", first, self._vectors)
            self._vectors += vectors
            return _in_words(name, type, parts)
        if is_aggregate(type) or len(floats) > 1:
            words: list[Expr] = [_context("arg", first + at) for at in range(len(floats))]
            return TargetVariable(name, type, None, None, words)
        size = min(WORD, ctypes.size_of(type) or WORD)
        value = _context("arg", first, size, ctypes.is_signed(type))
        return TargetVariable(name, type, value, writable=True)

    def _take_stack(self, name: str, type: ctypes.CType, words: int) -> TargetVariable:
        if _alignment(type) >= 16:
            self._stack = (self._stack + 15) & ~15
        at = self._stack
        self._stack += words * WORD
        if is_aggregate(type) or words > 1:
            return TargetVariable(name, type, None, stack_address(at, self._machine))
        size = min(WORD, ctypes.size_of(type))
        return TargetVariable(
            name, type, _context("stack_arg", at // WORD, size, ctypes.is_signed(type))
        )


def _words(floats: list[bool], name: str, register: int, used: int) -> list[ContextValue]:
    """List the words of a value of which some are in vector registers."""
    parts: list[ContextValue] = []
    for is_float in floats:
        if is_float:
            parts.append(_context("vector", used))
            used += 1
        else:
            parts.append(_context(name, register))
            register += 1
    return parts


def _in_words(name: str, type: ctypes.CType, parts: list[ContextValue]) -> TargetVariable:
    if is_aggregate(type) or len(parts) > 1:
        return TargetVariable(name, type, None, None, list[Expr](parts))
    parts[0].size = min(WORD, ctypes.size_of(type))
    return TargetVariable(name, type, parts[0])


def unknown_result(
    function: ctypes.FunctionType | None, machine: Architecture
) -> dict[str, Callable[[], str]]:
    """Map ``$return`` to what says why it is unknown; empty when it is known or void."""
    if function is None or isinstance(ctypes.strip(function.result), ctypes.Void):
        return {}
    if function.own_convention:
        return {"$return": lambda: _OWN_CONVENTION}
    if _in_vectors(function.result, machine):
        return {"$return": lambda: IN_VECTORS}
    if _is_forgotten(ctypes.strip(function.result), machine):
        return {"$return": lambda: _FORGOTTEN}
    if _has_long_double(ctypes.strip(function.result)):
        return {"$return": lambda: _LONG_DOUBLE}
    return {}


def _in_vectors(result: ctypes.CType, machine: Architecture) -> bool:
    """Tell whether a result is in vector registers that probes do not read."""
    return not machine.reads_vectors and _floats_alone(result) > 0


def _is_forgotten(result: ctypes.CType, machine: Architecture) -> bool:
    """Tell whether nothing says on return where a result in memory is."""
    is_large = isinstance(result, ctypes.Struct) and ctypes.size_of(result) > 2 * WORD
    return is_large and machine.result_address is not None


def no_result(function: ctypes.FunctionType | None) -> dict[str, Callable[[], str]]:
    """Map ``$return`` to what says why a void function has none; empty for others."""
    if function is None or not isinstance(ctypes.strip(function.result), ctypes.Void):
        return {}
    return {"$return": lambda: "the function returns nothing (void)"}


def result(
    function: ctypes.FunctionType, machine: Architecture, *, with_vectors: bool = False
) -> TargetVariable | None:
    """Describe ``$return``; None for void and, but for programs, for floating point results.

    None also for functions that are called in a way of their own, and for what `unknown_result`
    tells about.
    """
    if function.own_convention:
        return None
    type = ctypes.strip(function.result)
    if isinstance(type, ctypes.Void) or (isinstance(type, ctypes.Float) and not with_vectors):
        return None
    size = ctypes.size_of(type)
    if _is_forgotten(type, machine) or (with_vectors and _in_vectors(type, machine)):
        return None
    if with_vectors and _by_address(type):
        return TargetVariable("$return", function.result, None, _context("return", 0))
    if with_vectors and machine.reads_vectors and size <= 2 * WORD:
        if _has_long_double(type) or _is_complex(type):
            return None
        floats = [bool(_is_float(type, word)) for word in range((size + WORD - 1) // WORD)]
        if any(floats):
            words = _words(floats, "register", 0, 0)
            return _in_words("$return", function.result, words)
    if isinstance(type, ctypes.Struct):
        if size > 2 * WORD:
            return TargetVariable("$return", function.result, None, _context("return", 0))
        parts: list[Expr] = [_context("return", 0)]
        if size > WORD:
            parts.append(_context("register", machine.results[1]))
        return TargetVariable("$return", function.result, None, None, parts)
    value = _context("return", 0, min(WORD, size or WORD), ctypes.is_signed(type))
    return TargetVariable("$return", function.result, value, writable=True)


def word_arguments(name: str, params: list[ctypes.Parameter]) -> tuple[list[TargetVariable], int]:
    """Describe parameters that arrive as an array of words (tracepoints); count the words.

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
