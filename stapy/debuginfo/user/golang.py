"""Functions of Go programs, by the table that they have for their own stacks.

It is there in stripped programs as well: the runtime needs it.  As of Go 1.18 to 1.25.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from stapy.debuginfo.elf import Strings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stapy.debuginfo.elf import ElfFile, Section

TABLE = ".gopclntab"
_TABLES = (TABLE, ".data.rel.ro.gopclntab")  # of programs that can lie anywhere
_MARKS = (*_TABLES, ".note.go.buildid")
_MAGIC = (0xFFFFFFF0, 0xFFFFFFF1)  # of 1.18, of 1.20
_HEAD = struct.Struct("<IBBBB8Q")
_MOVE = struct.Struct("<QQq")
_START = 24  # of the head: where the address of the first function is
_LONGEST = 4096  # bytes of a name
_MOST = 1 << 22


def is_go(elf: ElfFile) -> bool:
    """Tell whether a program is of Go's own compiler."""
    return any(elf.section(name) is not None for name in _MARKS)


def _moved(elf: ElfFile, table: Section, start: int) -> int:
    """Find where the code begins: a program that can lie anywhere tells it to the loader."""
    moves = elf.read(".rela.dyn") or b""
    for place, _, value in _MOVE.iter_unpack(moves[: len(moves) - len(moves) % _MOVE.size]):
        if place == table.address + _START:
            return int(value)
    return start


def functions(elf: ElfFile) -> Iterator[tuple[str, int, int]]:
    """Yield name, address and size of each function.

    Nothing where the table is another one or damaged; `DebuginfoError` for one whose names are
    many times as long as it is.
    """
    found = [section for name in _TABLES if (section := elf.section(name)) is not None]
    data = elf.content(found[0]) if found else b""
    if len(data) < _HEAD.size:
        return
    magic, _, _, _, pointer, *words = _HEAD.unpack_from(data)
    count, _, start, names, _, _, _, rows = words
    if magic not in _MAGIC or pointer != 8 or count > _MOST:
        return
    start = _moved(elf, found[0], start)
    texts = Strings(data, elf.name)
    # Pairs of where a function begins and what describes it; the last one is the end of all.
    if rows + 8 * count + 4 > len(data) or names > len(data):
        return
    for number in range(count):
        begin, at, end = struct.unpack_from("<III", data, rows + 8 * number)
        if rows + at + 8 > len(data) or end <= begin:
            continue
        (name,) = struct.unpack_from("<i", data, rows + at + 4)
        word = texts.word(names + name) if name >= 0 else b""
        if 0 < len(word) < _LONGEST and b"\n" not in word:
            yield word.decode("utf-8", "surrogateescape"), start + begin, end - begin
