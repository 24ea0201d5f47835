"""Integer literals."""

from __future__ import annotations

import re

from stapy.patterns import compiled_when_used

_DIGITS = compiled_when_used(r"0[xX]([0-9A-Fa-f]+)|0([0-7]*)|([1-9][0-9]*)", re.ASCII)


def parse_number(text: str) -> int | None:
    """Parse a decimal, octal or hexadecimal literal up to 2**64 - 1, wrapped to int64.

    None for anything else.
    """
    found = _DIGITS().fullmatch(text)
    if found is None:
        return None
    hexadecimal, octal, decimal = found.groups()
    if hexadecimal is not None:
        value = int(hexadecimal, 16)
    elif decimal is not None:
        value = int(decimal)
    else:
        value = int(octal or "0", 8)
    return None if value >> 64 else wrap(value)


def wrap(value: int) -> int:
    """Reduce a value to the int64 with the same low 64 bits."""
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value
