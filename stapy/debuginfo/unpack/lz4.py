"""The legacy frame of LZ4, in which kernels are packed; used when no ``lz4`` program is there."""

from __future__ import annotations

from collections.abc import Iterator

from stapy.debuginfo.errors import DebuginfoError

MAGIC = b"\x02\x21\x4c\x18"
_BLOCK = 8 << 20  # each block of a legacy frame inflates to this much, but the last


def blocks(data: bytes) -> Iterator[bytes]:
    """Yield the inflated blocks of a legacy frame, one by one."""
    at = 4
    while at + 4 <= len(data):
        size = int.from_bytes(data[at : at + 4], "little")
        at += 4
        # What follows the last block (the kernel appends the inflated size) is no block.
        if size == 0 or at + size > len(data):
            return
        yield inflate_block(data[at : at + size])
        at += size


def inflate_block(data: bytes) -> bytes:
    """Inflate one LZ4 block; raises `DebuginfoError` when it is damaged."""
    out = bytearray()
    at, end = 0, len(data)
    try:
        while at < end:
            token = data[at]
            at += 1
            length = token >> 4
            if length == 15:
                length, at = _long_length(data, at)
            if length:
                out += data[at : at + length]
                at += length
            if at >= end:
                break
            distance = data[at] | data[at + 1] << 8
            at += 2
            length = token & 15
            if length == 15:
                length, at = _long_length(data, at)
            length += 4
            start = len(out) - distance
            if distance == 0 or start < 0 or len(out) + length > _BLOCK:
                raise DebuginfoError("damaged lz4 block")
            if distance >= length:
                out += out[start : start + length]
            else:  # the copy overlaps itself: a pattern that repeats
                pattern = out[start:]
                out += (pattern * (length // distance + 1))[:length]
    except IndexError:
        raise DebuginfoError("damaged lz4 block") from None
    return bytes(out)


def _long_length(data: bytes, at: int) -> tuple[int, int]:
    """Read what follows a length of 15; return the whole and the place behind it."""
    length = 15
    while True:
        more = data[at]
        at += 1
        length += more
        if more != 255:
            return length, at
