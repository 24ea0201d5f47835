"""Arguments of marks as expressions of the handler: registers and memory of the program."""

from __future__ import annotations

from stapy.arch import X86_64, Architecture
from stapy.debuginfo.user import operand as sdt
from stapy.diagnostics import NOWHERE
from stapy.ir.program import LONG, ContextValue, Expr, MemoryRead
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

_VECTORS = 16  # the kernel keeps those behind them elsewhere


def value(
    operand: sdt.Operand,
    link_address: int,
    symbols: dict[str, int],
    machine: Architecture = X86_64,
) -> Expr:
    """Compute the value of an argument as 64 bits; raises `Unavailable` for what is nowhere.

    ``link_address`` is that of the mark, by which it is known how far the program was moved;
    ``symbols`` have the link-time addresses of those that operands name.
    """
    if operand.kind == sdt.CONSTANT:
        return widen(const(operand.offset), 8 * operand.size, operand.is_signed)
    if operand.kind == sdt.ADDRESS:
        return _cut(_sum(operand, link_address, symbols), operand)
    if operand.kind == sdt.REGISTER:
        assert operand.base is not None
        return _register(operand.base, operand)
    if operand.kind == sdt.MEMORY:
        address = _address(operand, link_address, symbols)
        return MemoryRead(NOWHERE, LONG, address, operand.size, operand.is_signed, True)
    if operand.kind == sdt.VECTOR:
        if not machine.reads_vectors:
            raise Unavailable(
                f"'{operand.text}' is a vector register, which stapy does not read on "
                f"{machine.name}"
            )
        if operand.offset >= _VECTORS:
            raise Unavailable(
                f"'{operand.text}' is a vector register of AVX-512, which stapy does not read"
            )
        return ContextValue(
            NOWHERE, LONG, "vector", operand.offset, operand.size, operand.is_signed
        )
    raise Unavailable(f"stapy does not understand where it is: '{operand.text}'")


def _cut(found: Expr, operand: sdt.Operand) -> Expr:
    return widen(found, 8 * operand.size, operand.is_signed)


def of_program(number: int, size: int = WORD, signed: bool = False) -> ContextValue:
    """Read a register of the program by its DWARF number."""
    return ContextValue(NOWHERE, LONG, "program_register", number, size, signed)


def _register(register: sdt.Register, operand: sdt.Operand) -> Expr:
    size = min(register.size, operand.size)
    if register.shift:
        found = mask(shift_right(of_program(register.number), register.shift), 8 * size)
        return widen(found, 8 * size, operand.is_signed)
    return of_program(register.number, size, operand.is_signed and size == operand.size)


def _address(operand: sdt.Operand, link_address: int, symbols: dict[str, int]) -> Expr:
    base, index = operand.base, operand.index
    parts: list[Expr] = []
    if base is not None and base.number != sdt.PLACE:
        parts.append(of_program(base.number, base.size))
    if index is not None:
        step: Expr = of_program(index.number, index.size, index.is_signed)
        if operand.scale != 1:
            step = binary("*", step, const(operand.scale))
        parts.append(step)
    if operand.symbols or not parts:
        parts.insert(0, _sum(operand, link_address, symbols))
    else:
        parts[0] = add(parts[0], operand.offset)
    found = parts[0]
    for part in parts[1:]:
        found = binary("+", found, part)
    if base is not None and base.size < WORD:
        found = mask(found, 8 * base.size)
    return found


def _sum(operand: sdt.Operand, link_address: int, symbols: dict[str, int]) -> Expr:
    """Add up the symbols and the number of an operand: an address, or how far two are apart.

    Raises `Unavailable` for anything else.
    """
    total, addresses = operand.offset, 0
    for sign, name in operand.symbols:
        if name not in symbols:
            raise Unavailable(f"it is at '{operand.text}', and the program has no symbol '{name}'")
        total += sign * symbols[name]
        addresses += sign
    if addresses == 0:
        return const(total)
    if addresses != 1:
        raise Unavailable(f"stapy does not understand where it is: '{operand.text}'")
    return moved(total, link_address)


def moved(address: int, link_address: int) -> Expr:
    """Turn a link address into one of the process, by that of the probe in the same file."""
    here = ContextValue(NOWHERE, LONG, "address", 0, BITS // 8, False)
    return add(here, address - link_address)
