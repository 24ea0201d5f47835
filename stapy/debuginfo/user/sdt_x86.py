"""Operands of marks as compilers write them for x86-64: ``-4@8(%rsp)``, ``8@$7``."""

from __future__ import annotations

import re

from stapy.debuginfo.user.operand import (
    ADDRESS,
    CONSTANT,
    MEMORY,
    PLACE,
    REGISTER,
    UNKNOWN,
    VECTOR,
    Operand,
    Register,
)

# In the order of DWARF's numbers.
_FAMILIES = [
    ("rax", "eax", "ax", "al"), ("rdx", "edx", "dx", "dl"), ("rcx", "ecx", "cx", "cl"),
    ("rbx", "ebx", "bx", "bl"), ("rsi", "esi", "si", "sil"), ("rdi", "edi", "di", "dil"),
    ("rbp", "ebp", "bp", "bpl"), ("rsp", "esp", "sp", "spl"),
    *((f"r{n}", f"r{n}d", f"r{n}w", f"r{n}b") for n in range(8, 16)),
]  # fmt: skip
_REGISTERS = {
    name: (number, size)
    for number, family in enumerate(_FAMILIES)
    for name, size in zip(family, (8, 4, 2, 1), strict=True)
}
_REGISTERS.update({f"r{n}l": (n, 1) for n in range(8, 16)})  # as Intel writes r8b
_HIGH = {"ah": 0, "dh": 1, "ch": 2, "bh": 3}
_VECTOR = re.compile(r"%[xyz]mm([0-9]|[12][0-9]|3[01])$")
_MEMORY = re.compile(
    r"(?P<sum>[^()%]*)\(\s*(?:%(?P<base>\w+))?\s*(?:,\s*%(?P<index>\w+)\s*(?:,\s*(?P<scale>[1248])\s*)?)?\)$"
)
_TERM = re.compile(r"\s*([+-]*)\s*(0[xX][0-9a-fA-F]+|[0-9]+|[A-Za-z_.$][\w.$]*)\s*")
WORDS = re.compile(r"(?:[^\s(]|\([^)]*\)?)+")


def place(text: str, whole: str) -> Operand:
    """Parse where an argument is; of unknown kind when that is not understood."""
    unknown = Operand(UNKNOWN, whole)
    if text.startswith("$"):
        total = _sum(text[1:])
        if total is None:
            return unknown
        number, symbols = total
        return Operand(ADDRESS if symbols else CONSTANT, whole, offset=number, symbols=symbols)
    if text.startswith("%"):
        vector = _VECTOR.match(text)
        if vector:
            return Operand(VECTOR, whole, offset=int(vector[1]))
        register = _register(text[1:])
        return unknown if register is None else Operand(REGISTER, whole, base=register)
    memory = _MEMORY.match(text)
    if memory is None:
        # A place that the assembler was given as a bare number or name.
        total = _sum(text)
        if total is None:
            return unknown
        return Operand(MEMORY, whole, offset=total[0], symbols=total[1])
    total = _sum(memory["sum"]) if memory["sum"].strip() else (0, ())
    names = [memory["base"], memory["index"]]
    base, index = (_wide(name) for name in names)
    if total is None or any(name and row is None for name, row in zip(names, (base, index))):
        return unknown
    if base is not None and base.number == PLACE and not total[1]:
        return unknown  # relative to an instruction that the note does not tell
    if index is not None and index.number in (PLACE, 7):
        return unknown
    scale = int(memory["scale"] or 1)
    return Operand(
        MEMORY, whole, offset=total[0], base=base, index=index, scale=scale, symbols=total[1]
    )


def _register(name: str) -> Register | None:
    if name in _HIGH:
        return Register(_HIGH[name], 1, 8)
    found = _REGISTERS.get(name)
    return None if found is None else Register(*found)


def _wide(name: str | None) -> Register | None:
    """Find a register that addresses are made of, by its name; None for any other."""
    if name == "rip":
        return Register(PLACE, 8)
    found = _register(name or "")
    return found if found is not None and found.size >= 4 else None


def _sum(text: str) -> tuple[int, tuple[tuple[int, str], ...]] | None:
    """Split a sum such as ``name+8-4`` into the number and the signed names; None if it is none."""
    number, symbols, at = 0, [], 0
    while at < len(text):
        term = _TERM.match(text, at)
        if term is None or (at and not term[1]):
            return None
        sign = -1 if term[1].count("-") % 2 else 1
        if term[2][0].isdigit():
            if len(term[2]) > 20:
                return None
            number += sign * int(term[2], 16 if term[2][1:2] in ("x", "X") else 10)
        else:
            symbols.append((sign, term[2]))
        at = term.end()
    return (number, tuple(symbols)) if text.strip() else None
