"""The line table of a whole kernel or module, packed for lookups inside a session's module.

The format is what ``runtime/lines.c`` reads; all numbers are little-endian:

====================  ==========================================================
u32 blocks, files     how many of both
u32 data, strings     where the rows and the files' names begin
blocks x (u32, u32)   address of the first row of a block, place of its rows
files x u32           place of each file's name, from ``strings``
rows                  see below, up to the next block's
strings               names, each with a NUL
====================  ==========================================================

Addresses count from the lowest one.  A block's first row is ``file, line``; the
others are ``step of the address, 2 * zigzag(step of the line) + new file[, file]``,
everything as LEB128.  File 0 is none: no line is known from there on.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import TYPE_CHECKING

from stapy.cache import Cache, file_identity, key_of
from stapy.debuginfo.dwarf import constants as k
from stapy.debuginfo.dwarf.numbers import uleb
from stapy.debuginfo.dwarf.read.lines import LineReader, Row
from stapy.debuginfo.errors import DebuginfoError
from stapy.record import Record
from stapy.terminal import progress

if TYPE_CHECKING:
    from stapy.debuginfo.dwarf.query.dwarf_file import DwarfFile

VERSION = 1
KIND = "debuginfo"
# Always there, and the runtime is linked with it: other addresses are told from it.
BASE = "register_kprobe"
BLOCK = 64  # rows; a lookup decodes so many at most
_HEAD = struct.Struct("<IIII")

_ROW = struct.Struct("<II")
_START = struct.Struct("<qQ")

Packed = tuple[int, int, int]  # address, file, line


class LineTable(Record):
    """One packed table.

    Addresses of the kernel's table count from ``start`` bytes behind `BASE`, up
    to ``size``.  A module's are found by a symbol and an offset from it:
    ``symbols`` are pairs of u32, the `hash_of` a name and its place in the
    table, sorted.
    """

    module: str | None
    start: int
    size: int
    blob: bytes
    symbols: bytes = b""


def load(dwarf: DwarfFile, cache: Cache) -> LineTable | None:
    """Read the table of a kernel or module, from the cache if it can be."""
    module = dwarf.module
    build_id = dwarf.build_id
    key = key_of("lines", VERSION, build_id or file_identity(dwarf.path))
    stored = cache.get_bytes(KIND, key)
    if stored is None:
        with cache.lock(KIND, key):
            stored = cache.get_bytes(KIND, key)
            if stored is None:
                if module is None:
                    progress.tell(f"packing the lines of {dwarf.path} (once, some seconds)")
                stored = _make(dwarf)
                cache.put_bytes(KIND, key, stored)
    start, size = _START.unpack_from(stored, 0)
    (symbols,) = struct.unpack_from("<I", stored, _START.size)
    at = _START.size + 4
    if size == 0:
        return None
    return LineTable(module, start, size, stored[at + symbols :], stored[at : at + symbols])


def _make(dwarf: DwarfFile) -> bytes:
    lowest, size, blob = table(dwarf)
    symbols = b""
    start = 0
    if dwarf.module is None:
        base = next(
            (s.pc for row in dwarf.index.functions(BASE) for s in row.sites if not s.inlined), None
        )
        if base is None:
            size = 0
        else:
            start = lowest - base
    else:
        symbols = _symbols(dwarf, lowest)
    return _START.pack(start, size) + struct.pack("<I", len(symbols)) + symbols + blob


def _symbols(dwarf: DwarfFile, lowest: int) -> bytes:
    found: dict[int, int] = {}
    twice: set[int] = set()
    for address, name in dwarf.index.anchors():
        number = hash_of(name)
        if number in found:
            twice.add(number)
        if address >= lowest:
            found[number] = address - lowest
    rows = sorted((number, at) for number, at in found.items() if number not in twice)
    return b"".join(_ROW.pack(number, at) for number, at in rows)


def hash_of(name: str) -> int:
    """FNV-1a of a symbol's name, as the runtime computes it."""
    number = 0x811C9DC5
    for byte in name.encode():
        number = (number ^ byte) * 0x01000193 & 0xFFFFFFFF
    return number


def pack(rows: list[Packed], names: list[str]) -> bytes:
    """Rows sorted by address, with files as numbers of ``names`` from 1 on, as one table."""
    lowest = rows[0][0] if rows else 0
    index, data = bytearray(), bytearray()
    for start in range(0, len(rows), BLOCK):
        address, file, line = rows[start]
        index += struct.pack("<II", address - lowest, len(data))
        _uleb(data, file)
        _uleb(data, line)
        for row in rows[start + 1 : start + BLOCK]:
            step, delta = row[0] - address, row[2] - line
            code = (delta << 1 if delta >= 0 else (-delta << 1) - 1) << 1
            if row[1] == file and step < 0x80 and code < 0x80:  # most of them
                data.append(step)
                data.append(code)
            else:
                _uleb(data, step)
                _uleb(data, code | (row[1] != file))
                if row[1] != file:
                    _uleb(data, row[1])
            address, file, line = row
    texts = [name.encode() + b"\0" for name in ("", *names)]
    places, at = bytearray(), 0
    for text in texts:
        places += struct.pack("<I", at)
        at += len(text)
    before = _HEAD.size + len(index) + len(places)
    head = _HEAD.pack(len(index) // 8, len(texts), before, before + len(data))
    return b"".join((head, index, places, data, *texts))


def _uleb(data: bytearray, value: int) -> None:
    while value > 0x7F:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    data.append(value)


def merge(rows: Iterable[Row], files: list[int]) -> list[Packed]:
    """One unit's table without the rows that tell nothing new; ``files`` renumbers its files."""
    found: list[Packed] = []
    last = 0
    for row in rows:
        file = 0 if row.ends_sequence or not 0 <= row.file < len(files) else files[row.file]
        line = row.line if file else 0
        if found and found[-1][0] == row.address and last != 0:
            found.pop()  # of several rows at one address the last one counts
            if found and found[-1][1:] == (file, line):
                last = file
                continue
        elif found and last == file and found[-1][2] == line:
            continue
        found.append((row.address, file, line))
        last = file
    return found


def table(dwarf: DwarfFile) -> tuple[int, int, bytes]:
    """The lowest address of a file's code, the bytes from there to the end, the packed table."""
    numbers: dict[str, int] = {}
    rows: list[Packed] = []
    for unit_rows, files in _tables(dwarf):
        rows += merge(unit_rows, [numbers.setdefault(name, len(numbers) + 1) for name in files])
    rows.sort(key=itemgetter(0))  # stable: an end and the next beginning keep their order
    # What the linker left out begins at 0 (in a module: at 0 before its sections are laid out).
    low = 1 << 63 if dwarf.module is None else 1
    rows = [row for row in rows if row[0] >= low]
    if not rows:
        return 0, 0, b""
    size = rows[-1][0] - rows[0][0]
    if size >> 32:
        raise DebuginfoError(f"{dwarf.path}: its lines are of code at impossible addresses")
    return rows[0][0], size, pack(rows, list(numbers))


def _tables(dwarf: DwarfFile) -> Iterator[tuple[list[Row], list[str]]]:
    reader = LineReader(dwarf.info.sections)
    seen: set[int] = set()
    for number in range(len(dwarf.info.headers)):
        root = dwarf.info.unit(number).root
        place = root.number(k.AT_STMT_LIST, -1)
        if place < 0 or place in seen:
            continue
        seen.add(place)
        program = reader.program(place, str(root.values.get(k.AT_COMP_DIR, "")), root.name())
        yield reader.rows(program), program.files


def find(blob: bytes, offset: int) -> tuple[str, int] | None:
    """File and line of an address, counted from the table's lowest; for tests."""
    blocks, files, data, strings = _HEAD.unpack_from(blob, 0)
    low, high = 0, blocks
    while low < high:
        middle = (low + high) // 2
        if struct.unpack_from("<I", blob, _HEAD.size + 8 * middle)[0] <= offset:
            low = middle + 1
        else:
            high = middle
    if not low:
        return None
    address, at = struct.unpack_from("<II", blob, _HEAD.size + 8 * (low - 1))
    end = strings - data
    if low < blocks:
        end = struct.unpack_from("<II", blob, _HEAD.size + 8 * low)[1]
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
        raise DebuginfoError("a damaged table of lines") from None
    if not file or file >= files:
        return None
    place = struct.unpack_from("<I", blob, _HEAD.size + 8 * blocks + 4 * file)[0] + strings
    return blob[place : blob.index(b"\0", place)].decode(), line
