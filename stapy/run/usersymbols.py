"""Names of a file's functions, for stacks: of the first full table, and what is exported."""

from __future__ import annotations

import os
import struct

from . import printable
from .elf import build_id
from .userfile import NoUserFile, UserFile, text_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, Iterator, List, Optional, Tuple

    # By offset in the file: how good the name is, the name, its size.
    Found = Dict[int, Tuple[Tuple[bool, bool, bool, int, bytes], int]]

_ROW = struct.Struct("<IBBHQQ")
_CODE = (0, 2, 10)  # no type, which is assembler's; function; one that is chosen when loaded
_MOST = 1 << 20  # functions of a table: the module has no room for more
_LONGEST = 255  # bytes of a name
_UNPACKED = 64 << 20  # bytes that a packed table may become
_DEBUG_FILES = "/usr/lib/debug/.build-id"


def debug_file(file: UserFile) -> Optional[UserFile]:
    """Open the debug file of a program, which must have its build-id; None without one."""
    ident = file.build_id()
    if not ident:
        return None
    try:
        fd = os.open(
            f"{_DEBUG_FILES}/{ident[:2]}/{ident[2:]}.debug",
            os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK,
        )
    except OSError:
        return None
    try:
        found = UserFile.open(fd)
        section = found.sections.get(".note.gnu.build-id")
        notes = found.content(section) if section else b""
        return found if ident in (found.build_id(), build_id(notes)) else None
    except (NoUserFile, OSError, ValueError, struct.error):
        return None
    finally:
        os.close(fd)


def _full_tables(file: UserFile) -> "Iterator[UserFile]":
    """Yield the files whose ``.symtab`` describes this one, the best first."""
    separate = debug_file(file)
    if separate:
        yield separate
    yield file
    packed = file.sections.get(".gnu_debugdata")
    if packed:
        try:
            import lzma

            unpacker = lzma.LZMADecompressor(memlimit=_UNPACKED)
            data = unpacker.decompress(file.content(packed), max_length=_UNPACKED)
            if unpacker.eof:
                yield UserFile(data)
        except Exception:  # the module may be missing, and its errors have no common base
            pass


def _is_label(word: bytes) -> bool:
    """Tell whether a name without a kind is an assembler's own.

    Such as those that say where code begins and data, on arm64 (``$x``, ``$d.3``).
    """
    return word.startswith(b".L") or word.partition(b".")[0] in (b"$x", b"$d")


def _collect(file: UserFile, table: UserFile, name: str, found: Found) -> bool:
    """Take the functions of a table; return False when there is no such table."""
    section = table.sections.get(name)
    if not section or section.link >= len(table.table):
        return False
    data, texts = table.content(section), table.content(table.table[section.link])
    any_there = False
    count = min(len(data) // 24, _MOST)
    for at, info, _, index, value, size in _ROW.iter_unpack(data[: count * 24]):
        kind = info & 15
        if kind not in _CODE or not index or not at or index >= 0xFF00:
            continue
        place = file.code_offset(value)
        if place is None:
            continue
        word = text_at(texts, at, _LONGEST)
        old = False
        if b"@" in word:
            word, _, version = word.partition(b"@")
            old = not version.startswith(b"@")
        if not word or (kind == 0 and _is_label(word)):
            continue
        any_there = True
        rank = (not size, old, not info >> 4, min(word.count(b"_", 0, 2), 2), word)
        known = found.get(place)
        if known is None or rank < known[0]:
            found[place] = (rank, size)
    return any_there


def functions(file: UserFile) -> "List[Tuple[int, int, bytes]]":
    """List offset, size and name of each function, by offset.

    A size that a full table does not tell reaches up to the next function.  A hole in what is
    exported may be other functions, whose names were stripped: nobody's name is given to them.
    """
    found: Found = {}
    full = any(_collect(file, table, ".symtab", found) for table in _full_tables(file))
    _collect(file, file, ".dynsym", found)
    rows = sorted((place, size, rank[4]) for place, (rank, size) in found.items())
    result = []
    covered = 0  # up to here by a function of known size: labels in there are no functions
    for number, (place, size, name) in enumerate(rows):
        following: Optional[int] = rows[number + 1][0] if number + 1 < len(rows) else None
        if not size and place < covered:
            continue
        covered = max(covered, place + size)
        if not size:
            size = following - place if full and following is not None else 1
        result.append((place, min(size, 0xFFFFFFFF), name))
    return result


def packed(rows: "List[Tuple[int, int, bytes]]", base: int) -> "Tuple[int, bytes, bytes]":
    """Pack names: how many, three numbers of each, the texts.

    The numbers are start from the base, size, and place of the name.
    """
    numbers: List[int] = []
    texts = bytearray()
    count = 0
    for place, size, name in rows:
        if 0 <= place - base < 1 << 32:
            numbers.extend((place - base, size, len(texts)))
            texts += printable.name(name)[:_LONGEST] + b"\0"
            count += 1
    return count, struct.pack(f"<{len(numbers)}I", *numbers), bytes(texts)
