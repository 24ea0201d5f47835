"""Looks lines up in a packed table, as ``runtime/line_table.c`` does in the kernel."""

from __future__ import annotations

import struct

from stapy.debuginfo.dwarf.numbers import uleb
from stapy.run.ground.line_table import HEAD


class Damaged(Exception):
    """A table whose rows lead out of it."""


def find(blob: bytes, offset: int) -> tuple[str, int] | None:
    """Find file and line of an address, counted from the table's lowest; else None."""
    blocks, files, data, strings = HEAD.unpack_from(blob, 0)
    low, high = 0, blocks
    while low < high:
        middle = (low + high) // 2
        if struct.unpack_from("<I", blob, HEAD.size + 8 * middle)[0] <= offset:
            low = middle + 1
        else:
            high = middle
    if not low:
        return None
    address, at = struct.unpack_from("<II", blob, HEAD.size + 8 * (low - 1))
    end = strings - data
    if low < blocks:
        end = struct.unpack_from("<II", blob, HEAD.size + 8 * low)[1]
    try:
        file, at = uleb(blob, data + at)
        line, at = uleb(blob, at)
        while at < data + end:
            step, at = uleb(blob, at)
            if address + step > offset:
                break
            address += step
            code, at = uleb(blob, at)
            if code & 1:
                file, at = uleb(blob, at)
            code >>= 1
            line += -((code + 1) >> 1) if code & 1 else code >> 1
    except IndexError:
        raise Damaged from None
    if not file or file >= files:
        return None
    place = struct.unpack_from("<I", blob, HEAD.size + 8 * blocks + 4 * file)[0] + strings
    return blob[place : blob.index(b"\0", place)].decode(), line
