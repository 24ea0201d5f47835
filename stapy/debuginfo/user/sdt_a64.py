"""Operands of marks as compilers write them for arm64: ``-4@w1``, ``8@[sp, 12]``, ``4@7``."""

from __future__ import annotations

import re

from stapy.arch import ARM64
from stapy.debuginfo.user.operand import (
    CONSTANT,
    MEMORY,
    REGISTER,
    UNKNOWN,
    VECTOR,
    Operand,
    Register,
)

WORDS = re.compile(r"(?:[^\s\[]|\[[^\]]*\]?)+")
_GENERAL = re.compile(r"([xw])(\d|[12]\d|30)$")
_VECTOR = re.compile(r"([bhsdqv])(\d|[12]\d|3[01])$")
_NAMES = {
    "sp": (ARM64.stack_pointer, 8), "wsp": (ARM64.stack_pointer, 4),
    "fp": (ARM64.frame_pointer, 8), "lr": (ARM64.link, 8),
}  # fmt: skip
_ZERO = frozenset(("xzr", "wzr"))
_NUMBER = re.compile(r"#?(-?(?:0[xX][0-9a-fA-F]{1,16}|\d{1,20}))$")
_MEMORY = re.compile(r"\[([^\[\]]{1,256})\]$")  # up to three parts, with commas between
_MOVED = re.compile(r"(lsl|sxtx|sxtw|uxtw)(?:\s*#?([0-4]))?$")


def place(text: str, whole: str) -> Operand:
    """Parse where an argument is; of unknown kind when that is not understood."""
    number = _number(text)
    if number is not None:
        return Operand(CONSTANT, whole, offset=number)
    if text in _ZERO:
        return Operand(CONSTANT, whole)
    register = _register(text)
    if register is not None:
        return Operand(REGISTER, whole, base=register)
    vector = _VECTOR.match(text)
    if vector is not None:
        return Operand(VECTOR, whole, offset=int(vector[2]))
    memory = _MEMORY.match(text)
    parts = [part.strip() for part in memory[1].split(",")] if memory is not None else []
    base = _register(parts[0]) if 0 < len(parts) <= 3 else None
    if base is None or base.size != 8:
        return Operand(UNKNOWN, whole)
    if len(parts) == 1:
        return Operand(MEMORY, whole, base=base)
    offset = _number(parts[1])
    if offset is None:
        return _indexed(whole, base, parts[1], parts[2] if len(parts) > 2 else "lsl 0")
    if len(parts) > 2:
        return Operand(UNKNOWN, whole)
    return Operand(MEMORY, whole, offset=offset, base=base)


def _indexed(whole: str, base: Register, name: str, moved: str) -> Operand:
    """Make the operand of a place behind a register by another one, which may be shifted."""
    index, how = _register(name), _MOVED.match(moved)
    if index is None or how is None or index.number == ARM64.stack_pointer:
        return Operand(UNKNOWN, whole)
    is_half = how[1] in ("sxtw", "uxtw")
    if is_half != (index.size == 4):
        return Operand(UNKNOWN, whole)
    index.is_signed = how[1] == "sxtw"
    return Operand(MEMORY, whole, base=base, index=index, scale=1 << int(how[2] or 0))


def _register(text: str) -> Register | None:
    found = _GENERAL.match(text)
    if found is not None:
        return Register(int(found[2]), 8 if found[1] == "x" else 4)
    number, size = _NAMES.get(text, (None, 0))
    return None if number is None else Register(number, size)


def _number(text: str) -> int | None:
    found = _NUMBER.match(text.strip())
    return None if found is None else int(found[1], 16 if "x" in found[1].lower() else 10)
