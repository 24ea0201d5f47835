"""Numbers and addresses of DWARF as expressions of the handler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.arch import X86_64, Architecture
from stapy.debuginfo import ctypes
from stapy.diagnostics import NOWHERE
from stapy.ir.program import (
    LONG,
    PER_CPU,
    BinaryOp,
    Const,
    ContextValue,
    EmbeddedValue,
    Expr,
    ModuleAddress,
)

if TYPE_CHECKING:
    from stapy.debuginfo.dwarf.query.dwarf_file import DwarfFile

WORD = 8
BITS = 8 * WORD
# Always there, and the runtime is linked with it: other addresses are told from it.
_BASE = "register_kprobe"
# x86-64 counts per-CPU variables of the kernel from 0, where no address is one of the kernel.
_PER_CPU_END = 1 << 31
_FAR = 1 << 31  # all addresses of the kernel's image are closer to each other


class Unavailable(Exception):
    """A location that cannot be computed in a handler; the text, if any, says why."""


def const(value: int) -> Const:
    """Make a number, as the language has it: 64 bits with sign."""
    value &= (1 << 64) - 1
    return Const(NOWHERE, LONG, value - (1 << 64) if value >> 63 else value)


def register(
    number: int, size: int = WORD, signed: bool = False, machine: Architecture = X86_64
) -> ContextValue:
    """Read ``size`` bytes of a register by its DWARF number; `Unavailable` for others."""
    if number >= len(machine.registers):  # those that pt_regs has
        raise Unavailable
    return ContextValue(NOWHERE, LONG, "register", number, size, signed)


def vector(number: int, size: int, machine: Architecture) -> ContextValue:
    """Read the lowest bytes of a vector register of a program, by its number among those.

    Raises `Unavailable` for wide ones, and on machines where probes read none.
    """
    if not machine.reads_vectors:
        raise Unavailable(
            f"it is in a vector register, which stapy does not read on {machine.name}"
        )
    if not 0 <= number < 16 or size > WORD:
        raise Unavailable("it is in a wide vector register, which stapy does not read")
    return ContextValue(NOWHERE, LONG, "vector", number, size, False)


def binary(operator: str, left: Expr, right: Expr) -> Expr:
    """Make ``left operator right`` of two numbers of 64 bits."""
    return BinaryOp(NOWHERE, LONG, operator, left, right)


def add(left: Expr, offset: int) -> Expr:
    """Make ``left + offset``."""
    return binary("+", left, const(offset)) if offset else left


def shift_right(value: Expr, bits: int) -> Expr:
    """Shift to the right, zeros coming in: the language's own shift brings the sign."""
    if not bits:
        return value
    return binary("&", binary(">>", value, const(bits)), const((1 << (BITS - bits)) - 1))


def mask(value: Expr, bits: int) -> Expr:
    """Keep the lowest bits of a value."""
    return value if bits >= BITS else binary("&", value, const((1 << bits) - 1))


def widen(value: Expr, bits: int, signed: bool) -> Expr:
    """Make a number of 64 bits of the lowest bits of a value, by their sign."""
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
    """Cut a computed value to what its type has: the expression stack is 64 bits wide."""
    return widen(value, 8 * ctypes.size_of(type), ctypes.is_signed(type))


def per_cpu_address(offset: int, module: str | None = None) -> Expr:
    """Compute the address of this CPU's copy of a kernel's (None) or module's variable."""
    if module is not None:
        return ModuleAddress(NOWHERE, LONG, module, PER_CPU, offset)
    code = f"(int64_t)(__per_cpu_offset[raw_smp_processor_id()] + {offset}L)"
    return EmbeddedValue(NOWHERE, LONG, code, {"pure", "unprivileged"})


def address_of(address: int, dwarf: DwarfFile) -> Expr:
    """Turn an address of the debug file into one of the kernel that runs, which was moved.

    Raises `Unavailable` when no symbol is near.
    """
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
    if base is None or abs(address - base) >= _FAR:
        raise Unavailable
    # All of the kernel moves as one piece.
    code = f"(int64_t)((unsigned long){_BASE} + ({address - base}L))"
    return EmbeddedValue(NOWHERE, LONG, code, {"pure", "unprivileged"})
