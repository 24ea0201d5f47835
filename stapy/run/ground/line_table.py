"""Tables of source lines, packed for lookups inside a session's module.

The format is what ``runtime/line_table.c`` reads; all numbers are little-endian:

====================  ==========================================================
u32 blocks, files     how many of both
u32 data, strings     where the rows and the files' names begin
blocks x (u32, u32)   place of the first row of a block, where its rows are
files x u32           place of each file's name, from ``strings``
rows                  see below, up to the next block's
strings               names, each with a NUL
====================  ==========================================================

Places count from a base: addresses of a kernel from its lowest, those of a program in its file.
A block's first row is ``file, line``; the others are ``step of the place, 2 * zigzag(step of the
line) + new file[, file]``, everything as LEB128.  File 0 is none: no line is known from there on.
"""

from __future__ import annotations

import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List, Tuple

    Row = Tuple[int, int, int]  # place, file, line; file 0: nothing is known from there on

BLOCK = 64  # rows; a lookup decodes so many at most
HEAD = struct.Struct("<IIII")


def packed(rows: "List[Row]", names: "List[bytes]", base: int) -> bytes:
    """Pack rows sorted by place, with files as numbers of ``names`` from 1 on."""
    index, data = bytearray(), bytearray()
    for start in range(0, len(rows), BLOCK):
        place, file, line = rows[start]
        index += struct.pack("<II", place - base, len(data))
        _put(data, file)
        _put(data, line)
        for row in rows[start + 1 : start + BLOCK]:
            step, delta = row[0] - place, row[2] - line
            code = (delta << 1 if delta >= 0 else (-delta << 1) - 1) << 1
            if row[1] == file and step < 0x80 and code < 0x80:  # most of them
                data.append(step)
                data.append(code)
            else:
                _put(data, step)
                _put(data, code | (row[1] != file))
                if row[1] != file:
                    _put(data, row[1])
            place, file, line = row
    texts = [name + b"\0" for name in (b"", *names)]
    places, at = bytearray(), 0
    for text in texts:
        places += struct.pack("<I", at)
        at += len(text)
    before = HEAD.size + len(index) + len(places)
    head = HEAD.pack(len(index) // 8, len(texts), before, before + len(data))
    return b"".join((head, index, places, data, *texts))


def _put(data: bytearray, value: int) -> None:
    while value > 0x7F:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    data.append(value)
