"""The marks of a program (``.note.stapsdt``): where they are, and what their arguments are in.

`operands.py` reads the arguments.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from stapy.debuginfo.elf import SHT_NOBITS, open_regular
from stapy.debuginfo.glob import matcher
from stapy.debuginfo.user.file import UserFile
from stapy.debuginfo.user.instructions import LONGEST, reader
from stapy.record import Record

_NOTES, _BASE = ".note.stapsdt", ".stapsdt.base"
_TYPE = 3
_MOST = 16 << 20  # bytes of notes that are read: a hundred thousand marks
_ADDRESSES = struct.Struct("<QQQ")


class Mark(Record):
    """One place of a mark; a name may have several, with operands of their own.

    ``address`` is that of linking, ``offset`` the place in the file.  ``semaphore`` is the
    place in the file of the counter that tells the program that somebody listens, 0 for none.
    """

    provider: str
    name: str
    address: int
    offset: int
    semaphore: int
    arguments: str


_MOST_NAMES = 1 << 20  # bytes of the names of sections that are looked at


def may_have_marks(path: str) -> bool:
    """Tell from a file's headers whether it has a section of marks.

    Nothing is kept of it. True also for what cannot be told so: whoever opens it says what is wrong
    with it.
    """
    try:
        with open_regular(Path(path)) as file:
            head = file.read(64)
            if len(head) < 64 or head[4] != 2 or head[5] != 1:
                return False
            (table,) = struct.unpack_from("<Q", head, 40)
            size, count, names = struct.unpack_from("<HHH", head, 58)
            if not table or size != 64 or not count or names >= count:
                return bool(table)
            file.seek(table + 64 * names + 24)
            at, length = struct.unpack("<QQ", file.read(16))
            file.seek(at)
            known = b"" if length > _MOST_NAMES else bytes(file.read(length))
            return bool(length > _MOST_NAMES) or _NOTES.encode() + b"\0" in known
    except (OSError, ValueError, struct.error):
        return False


def marks(file: UserFile, warn: Callable[[str], None] = lambda _: None) -> list[Mark]:
    """Read the marks of a file in its order; ``warn`` of those that are damaged and left out."""
    elf = file.elf
    found: list[Mark] = []
    moved_to = elf.section(_BASE)
    for section in elf.sections:
        if section.name != _NOTES or section.type == SHT_NOBITS:
            continue
        if section.size > _MOST:
            warn(f"{file.path}: its marks are left out: {section.size >> 20} MB of notes")
            continue
        data, at = elf.content(section), 0
        while at + 12 <= len(data):
            name_size, size, kind = struct.unpack_from("<III", data, at)
            start = at + 12 + (name_size + 3 & ~3)
            if start + size > len(data):
                warn(f"{file.path}: its marks end outside of their section")
                break
            if kind == _TYPE and data[at + 12 : at + 12 + name_size] == b"stapsdt\0":
                base = moved_to.address if moved_to is not None else None
                mark = _mark(file, data[start : start + size], base)
                if isinstance(mark, Mark):
                    found.append(mark)
                else:
                    warn(f"{file.path}: a mark is left out: {mark}")
            at = start + (size + 3 & ~3)
    return found


def _mark(file: UserFile, data: bytes, base: int | None) -> Mark | str:
    """Decode one mark, or say what is wrong with it; ``base`` is where its base is now."""
    words = data[_ADDRESSES.size :].split(b"\0")
    if len(data) < _ADDRESSES.size or len(words) < 4:
        return "its note is cut off"
    address, written, semaphore = _ADDRESSES.unpack_from(data)
    # Prelink moves a library, but not the notes.
    moved = base - written if base is not None and written else 0
    provider, name, arguments = (word.decode("utf-8", "surrogateescape") for word in words[:3])
    address += moved
    offset = file.code_offset(address)
    if offset is None:
        return f"'{name}' at {address:#x} is not in the program's code"
    # A breakpoint anywhere else would be a damaged note's.
    if not reader(file.machine).is_nop(file.read(address, LONGEST)):
        return f"'{name}' at {address:#x} is not on an instruction that does nothing (nop)"
    counter = 0
    if semaphore:
        place = file.offset_of(semaphore + moved)
        if not place:
            return f"the semaphore of '{name}' is not in the file"
        counter = place
    return Mark(provider, name, address, offset, counter, arguments)


def matching(found: list[Mark], name: str, provider: str | None = None) -> list[Mark]:
    """Select those of some marks that patterns mean; ``-`` there is ``__`` in a name."""
    fits, fits_provider = matcher(_spelled(name)), matcher(_spelled(provider or "*"))
    return [row for row in found if fits(row.name) and fits_provider(row.provider)]


@lru_cache(maxsize=64)
def _spelled(pattern: str) -> str:
    """Replace each hyphen of a pattern that is not within brackets by ``__``."""
    if "[" not in pattern:
        return pattern.replace("-", "__")
    pieces = re.split(r"(\[[^]]*\])", pattern)
    return "".join(piece if piece.startswith("[") else piece.replace("-", "__") for piece in pieces)
