"""Variable length numbers and strings."""

from __future__ import annotations

from stapy.debuginfo.elf import Buffer

_LONGEST = 140  # bits; compilers pad numbers now and then, but not by more than twice


def uleb(data: Buffer, at: int) -> tuple[int, int]:
    """Read an unsigned LEB128 number; return it and the position behind it.

    Raises `IndexError` at the end of the data and for a number without end.
    """
    byte = data[at]
    if byte < 0x80:
        return byte, at + 1
    value, shift = byte & 0x7F, 7
    while True:
        at += 1
        byte = data[at]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at + 1
        shift += 7
        if shift > _LONGEST:
            raise IndexError("number without end")


def sleb(data: Buffer, at: int) -> tuple[int, int]:
    """Read a signed LEB128 number; return it and the position behind it.

    Raises `IndexError` at the end of the data and for a number without end.
    """
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
        if shift > _LONGEST:
            raise IndexError("number without end")
    if byte & 0x40:
        value -= 1 << shift
    return value, at


def number(data: Buffer, at: int, size: int) -> int:
    """Read an unsigned little-endian number of ``size`` bytes."""
    return int.from_bytes(data[at : at + size], "little")


def text(data: Buffer, at: int) -> bytes:
    """Read the bytes up to the next NUL; raises `IndexError` without one."""
    find = getattr(data, "find", None) or bytes(data).find
    end = find(b"\0", at)
    if end < 0:
        raise IndexError("string without end")
    return bytes(data[at:end])
