"""The line table of a whole kernel or module, packed for lookups inside a session's module.

``stapy/run/ground/line_table.py`` tells the format; addresses count from the lowest one.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import TYPE_CHECKING

from stapy.cache import Cache, file_identity, key_of
from stapy.debuginfo.dwarf import constants as k
from stapy.debuginfo.dwarf.read.lines import LineReader, LineRow
from stapy.debuginfo.errors import DebuginfoError
from stapy.record import Record
from stapy.run.ground import line_table
from stapy.terminal import progress

if TYPE_CHECKING:
    from stapy.debuginfo.dwarf.query.dwarf_file import DwarfFile

VERSION = 1
KIND = "debuginfo"
# Always there, and the runtime is linked with it: other addresses are told from it.
BASE = "register_kprobe"
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
    """Hash a symbol's name by FNV-1a of 32 bits, as the runtime does."""
    number = 0x811C9DC5
    for byte in name.encode():
        number = (number ^ byte) * 0x01000193 & 0xFFFFFFFF
    return number


def pack(rows: list[Packed], names: list[str]) -> bytes:
    """Pack rows sorted by address, with files as numbers of ``names`` from 1 on, as one table."""
    return line_table.packed(rows, [name.encode() for name in names], rows[0][0] if rows else 0)


def merge(rows: Iterable[LineRow], files: list[int]) -> list[Packed]:
    """Leave out the rows of a unit's table that tell nothing new; ``files`` renumbers its files."""
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
    """Pack a file's lines: the lowest address of its code, the size in bytes, and the table.

    Raises `DebuginfoError` for code of more than 4 GB.
    """
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


def _tables(dwarf: DwarfFile) -> Iterator[tuple[list[LineRow], list[str]]]:
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
