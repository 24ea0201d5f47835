"""Which places behind an ``endbr64`` something of a file leads to, or has the address of."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from struct import Struct, unpack_from
from typing import NamedTuple
from zlib import crc32

from stapy.cache import Cache, file_identity, key_of
from stapy.debuginfo import pack
from stapy.debuginfo.elf import SHF_COMPRESSED, ElfFile
from stapy.debuginfo.errors import DebuginfoError
from stapy.debuginfo.keeping import kept
from stapy.debuginfo.user.file import UserFile
from stapy.debuginfo.user.symbols import moved_by

ENDBR64 = b"\xf3\x0f\x1e\xfa"
_VERSION = 4
# What may be a call, a jump or the begin of a transaction with a distance of four bytes; and what
# may compute an address by one.
_FAR = re.compile(b"[\xe8\xe9]|\x0f[\x80-\x8f]|\xc7\xf8")
_LEA = re.compile(b"\x8d[\x05\x0d\x15\x1d\x25\x2d\x35\x3d]")
_SHORT_BEGIN = re.compile(b"\xc7\xf8")  # of a transaction, behind 66: a distance of two bytes
_SYMBOL = Struct("<IBBHQQ")
_RELOCATION = Struct("<QQQ")
_SHT_RELA = 4
_CHUNK = 1 << 20  # bytes of data that are compared at a time, a multiple of 8
_MASK = (1 << 64) - 1
# A file is whatever somebody has made, and may be made to take all memory, or hours. The largest
# libraries of a distribution have six parts in memory, 400,000 relocations, 30,000 of such
# functions and two million bytes that may begin a call.
_MOST_PARTS = 64
_MOST_INSIDE = 1 << 18  # of `endbr64`
_MOST_ROWS = 1 << 23  # of tables, and of what may lead somewhere
_HIGHEST = 1 << 63  # where no program's memory is
_EVERYTHING = array("Q", [_MASK])  # as an answer: nobody can know


class _TooMuchError(Exception):
    """More than a file that was made by a linker has."""


class _Patience:
    """How much of a file is looked at before it is given up."""

    def __init__(self) -> None:
        self._left = _MOST_ROWS

    def take(self, rows: int) -> None:
        """Count so many rows; raises `_TooMuchError` when they are too many."""
        self._left -= rows
        if self._left < 0:
            raise _TooMuchError


class _Part(NamedTuple):
    """What the loader has in memory: an address of linking and the bytes there."""

    address: int
    data: bytes


class Reached:
    """Answers for one file; what was found is kept by its content."""

    def __init__(self, file: UserFile, debug: Path | None, cache: Cache) -> None:
        self._file = file
        self._debug = debug
        self._cache = cache
        self._found: set[int] | None = None

    def has(self, address: int) -> bool:
        """Tell whether something leads to an address; True where nobody can know.

        The address is one of the four behind the beginning of an ``endbr64``.
        """
        if not self.is_bounded:
            return True
        if self._found is None:
            self._found = set(self._numbers())
        return address in self._found or _MASK in self._found

    @cached_property
    def is_bounded(self) -> bool:
        """False for a file of which nobody can know, or that would take too long.

        It has no sections, by which symbols and relocations are found, or parts and tables that lie
        one over the other.
        """
        elf, loads = self._file.elf, self._file.loads
        if not elf.sections or len(loads) > _MOST_PARTS:
            return False
        if any(row.address + row.memory_size > _HIGHEST for row in loads):
            return False
        return sum(row.file_size for row in loads) <= 2 * len(elf.data) and _is_plain(elf)

    def _numbers(self) -> Iterable[int]:
        if not self._file.build_id:
            return pack.numbers("Q", self._made())
        try:
            return pack.numbers("Q", bytes(kept(self._cache, self._key(), self._made)))
        except DebuginfoError:  # a damaged cache; or the file is, which is told once more
            return pack.numbers("Q", self._made())

    def _key(self) -> str:
        """Name all that the answer is made from: a file can be patched and keep its build-id."""
        total = 0
        for row in self._file.loads:
            total = crc32(self._file.elf.data[row.offset : row.offset + row.file_size], total)
        for content in _tables(self._file.elf):
            total = crc32(content, total)
        other = file_identity(self._debug) if self._debug is not None else ()
        return key_of("behind-endbr64", _VERSION, self._file.build_id, total, other)

    def _made(self) -> bytes:
        """Collect what leads there, be it code or data.

        Any byte may begin a call or a jump, and any word of data may be an address: what is none
        leads elsewhere, or costs a trap.
        """
        patience = _Patience()
        try:
            inside = self._inside()
            if not inside:
                return b""
            found = inside.intersection(self._told(patience))
            for part in self._parts(executable=True):
                found |= inside.intersection(_led_to(part, patience))
        except _TooMuchError:
            return _EVERYTHING.tobytes()
        for part in self._parts():
            found |= _words(part, inside)
            if self._file.is_fixed:  # addresses are constants of four bytes, in code, too
                found |= _short_words(part, inside)
        return array("Q", sorted(found)).tobytes()

    def _parts(self, *, executable: bool = False) -> Iterator[_Part]:
        rows = self._file.executable if executable else self._file.loads
        for row in rows:
            data = self._file.elf.data[row.offset : row.offset + row.file_size]
            yield _Part(row.address, bytes(data))

    def _inside(self) -> set[int]:
        found: set[int] = set()
        for part in self._parts(executable=True):
            for match in re.finditer(re.escape(ENDBR64), part.data):
                found.update(
                    range(part.address + match.start() + 1, part.address + match.end() + 1)
                )
                if len(found) > _MOST_INSIDE * len(ENDBR64):
                    raise _TooMuchError
        return found

    def _told(self, patience: _Patience) -> Iterator[int]:
        """List the addresses of symbols of whatever kind, and those that the loader writes."""
        files = [(self._file.elf, 0)]
        if self._debug is not None:
            elf = ElfFile.open(self._debug)
            if not _is_plain(elf):
                raise _TooMuchError
            files.append((elf, moved_by(self._file, elf)))
        for elf, moved in files:
            for content in _tables(elf):
                patience.take(len(content) // _SYMBOL.size)
                yield from (row[4] + moved for row in _rows(_SYMBOL, content))
        elf = self._file.elf
        for section in elf.sections:
            if section.type == _SHT_RELA:
                link = section.link if section.link < len(elf.sections) else 0
                content, symbols = elf.content(section), elf.content(elf.sections[link])
                patience.take((len(content) + len(symbols)) // _SYMBOL.size + 1)
                values = array("Q", (row[4] for row in _rows(_SYMBOL, symbols)))
                yield from _relocated(content, values)


def _is_plain(elf: ElfFile) -> bool:
    """Tell whether a file's tables lie side by side, as they are: no row stands for many."""
    rows = [
        row for row in elf.sections if row.type == _SHT_RELA or row.name in (".symtab", ".dynsym")
    ]
    rows += [elf.sections[row.link] for row in rows if row.link < len(elf.sections)]
    return not any(row.flags & SHF_COMPRESSED for row in rows)


def _tables(elf: ElfFile) -> Iterator[bytes]:
    """List the tables of symbols of a file."""
    return (data for name in (".symtab", ".dynsym") if (data := elf.read(name)) is not None)


def _led_to(part: _Part, patience: _Patience) -> Iterator[int]:
    """List where all lead that may be calls, jumps and addresses relative to an instruction."""
    address, data = part
    last = max(len(data) - 4, 0)
    for pattern in (_FAR, _LEA):
        for match in pattern.finditer(data, 0, last):
            patience.take(1)
            yield address + match.end() + 4 + unpack_from("<i", data, match.end())[0]
    for match in _SHORT_BEGIN.finditer(data, 0, max(len(data) - 2, 0)):
        patience.take(1)
        yield address + match.end() + 2 + unpack_from("<h", data, match.end())[0]


def _relocated(content: bytes, values: array[int]) -> Iterator[int]:
    """List what the loader writes: the constant of a row, and the value of its symbol with it."""
    for _, info, constant in _rows(_RELOCATION, content):
        yield constant
        number = info >> 32
        if 0 < number < len(values):
            yield (values[number] + constant) & _MASK


def _words(part: _Part, wanted: set[int]) -> set[int]:
    """Find addresses among the words of a part: relative relocations can have theirs there."""
    start = -part.address % 8
    found: set[int] = set()
    for at in range(start, len(part.data), _CHUNK):
        data = part.data[at : at + _CHUNK]
        found |= wanted.intersection(pack.numbers("Q", data[: len(data) - len(data) % 8]))
    return found


def _short_words(part: _Part, wanted: set[int]) -> set[int]:
    """Find addresses of four bytes, wherever in a part they begin."""
    found: set[int] = set()
    for start in range(4):
        for at in range(start, len(part.data), _CHUNK):
            data = part.data[at : at + _CHUNK]
            found |= wanted.intersection(pack.numbers("I", data[: len(data) - len(data) % 4]))
    return found


def _rows(row: Struct, data: bytes) -> Iterator[tuple[int, ...]]:
    return row.iter_unpack(data[: len(data) - len(data) % row.size])
