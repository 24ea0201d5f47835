"""Numbers in LEB128, which DWARF writes in as few bytes as they need."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Tuple

_MOST = 70  # bits; no linker writes a number of more


class Damaged(ValueError):
    """Data that nobody can follow."""


def unsigned(data: bytes, at: int) -> "Tuple[int, int]":
    """Read an unsigned LEB128 number; return it and the place behind it."""
    value = shift = 0
    while shift < _MOST:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    raise Damaged("number")


def signed(data: bytes, at: int) -> "Tuple[int, int]":
    """Read a signed LEB128 number; return it and the place behind it."""
    value, behind = unsigned(data, at)
    is_negative = data[behind - 1] & 64
    return (value - (1 << 7 * (behind - at)) if is_negative else value), behind
