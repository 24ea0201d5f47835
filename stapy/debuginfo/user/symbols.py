"""The functions of a user program's file by its tables of symbols, without debug information.

The first of these that there is, and ``.dynsym`` in any case:

1. ``.symtab`` of the separate debug file (`debug_file`);
2. ``.symtab`` of the file itself;
3. ``.gnu_debugdata``, an xz-packed ELF file with a ``.symtab`` of what ``.dynsym`` lacks;
4. ``.gopclntab``, which Go programs have for their own stacks.

What was read is kept in the cache by build-id.
"""

from __future__ import annotations

import struct
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from stapy.cache import Cache, file_identity, key_of
from stapy.debuginfo import pack
from stapy.debuginfo.dwarf.files.separate import separate_files
from stapy.debuginfo.elf import Buffer, ElfFile, Strings, inflate
from stapy.debuginfo.errors import DebuginfoError
from stapy.debuginfo.glob import has_wildcard, literal_prefix, matcher
from stapy.debuginfo.keeping import kept
from stapy.debuginfo.user import golang
from stapy.debuginfo.user.file import PT_LOAD, UserFile
from stapy.diagnostics.suggest import nearest
from stapy.terminal import progress

_VERSION = 3
_STT_OBJECT, _STT_FUNC, _STT_GNU_IFUNC = 1, 2, 10
_STB_LOCAL, _STB_WEAK = 0, 2
_DEFAULT, _PROTECTED = 0, 3
_ROW = struct.Struct("<IBBHQQ")

# Flags of a name.
GLOBAL, WEAK, EXPORTED, INDIRECT, OLD = 1, 2, 4, 8, 16


class UserFunction(NamedTuple):
    """One name of a function.

    ``address`` is that of linking, ``offset`` the place in the file.  ``size`` is 0 when
    the table does not tell.
    """

    name: str
    address: int
    offset: int
    size: int
    flags: int

    @property
    def is_exported(self) -> bool:
        """True for a name that other files can link to: it is in ``.dynsym``."""
        return bool(self.flags & EXPORTED)

    @property
    def is_indirect(self) -> bool:
        """True for an IFUNC: this is what chooses the function at the start of a program."""
        return bool(self.flags & INDIRECT)

    @property
    def is_old(self) -> bool:
        """True for the version of a name that only older programs link to (``f@VERSION``)."""
        return bool(self.flags & OLD)


class FunctionTable:
    """All functions of one file.

    ``source`` names the table that they are from.  ``complete`` is False when only exported
    names are known, because the file was stripped, or none, as ``is_damaged`` says.
    """

    def __init__(self, data: Buffer, file: UserFile) -> None:
        parts = pack.decode(data)

        def part(name: str) -> bytes:
            start, end = parts.get(name, (0, 0))
            return bytes(data[start:end])

        text = part("names").decode("utf-8", "surrogateescape")
        self._names = text.split("\n") if text else []
        self._addresses = pack.numbers("Q", part("addresses"))
        self._sizes = pack.numbers("Q", part("sizes"))
        self._flags = part("flags")
        self._order = pack.numbers("I", part("order"))
        self.source = part("source").decode("utf-8", "surrogateescape")
        self.complete = part("complete") == b"1"
        self.is_damaged = False
        self._file = file
        self._starts: list[int] | None = None
        counts = {len(self._addresses), len(self._sizes), len(self._flags), len(self._order)}
        if counts != {len(self._names)} or any(n >= len(self._names) for n in self._order[:1]):
            raise DebuginfoError("damaged index")

    def __len__(self) -> int:
        return len(self._names)

    def _row(self, number: int) -> UserFunction:
        address = self._addresses[number]
        offset = self._file.code_offset(address)
        if offset is None:
            raise DebuginfoError("damaged index")
        return UserFunction(
            self._names[number], address, offset, self._sizes[number], self._flags[number]
        )

    def _rows(self, numbers: Sequence[int]) -> list[UserFunction]:
        """Make rows of many numbers, as `_row` does of one: of all functions of a large library."""
        addresses = [self._addresses[number] for number in numbers]
        offsets = self._file.code_offsets(addresses)
        if None in offsets:
            raise DebuginfoError("damaged index")
        columns: list[Sequence[Any]] = [self._names, self._sizes, self._flags]
        names, sizes, flags = ([column[number] for number in numbers] for column in columns)
        return [*map(UserFunction._make, zip(names, addresses, offsets, sizes, flags))]

    def named(self, name: str) -> list[UserFunction]:
        """Find functions of exactly this name: first those that new programs get, by address.

        Several units may have a ``static`` function of one name.
        """
        low = bisect_left(self._names, name)
        high = bisect_right(self._names, name, low)
        found = [self._row(number) for number in range(low, high)]
        return sorted(found, key=lambda row: (row.is_old, row.address))

    def matching(self, pattern: str) -> list[UserFunction]:
        """Find functions that match ``* ? []``, by name; all names of each."""
        if not has_wildcard(pattern):
            return self.named(pattern)
        names = self._names
        if not pattern.strip("*"):
            return self._rows(range(len(names)))
        prefix, match = literal_prefix(pattern), matcher(pattern)
        found = []
        for number in range(bisect_left(names, prefix), len(names)):
            name = names[number]
            if not name.startswith(prefix):
                break
            if match(name):
                found.append(number)
        return self._rows(found)

    def names(self) -> list[str]:
        """List all names, sorted; a name that several functions have is there as often."""
        return self._names

    def _by_address(self) -> list[int]:
        if self._starts is None:
            self._starts = [self._addresses[number] for number in self._order]
        return self._starts

    def aliases(self, address: int) -> list[str]:
        """List all names of the function that begins at an address, the best first."""
        starts = self._by_address()
        low, high = bisect_left(starts, address), bisect_right(starts, address)
        return [self._names[number] for number in self._order[low:high]]

    def at(self, address: int) -> UserFunction | None:
        """Find the function that an address lies in, by its best name; or None.

        A function of unknown size is its first byte: the hole behind it may be another
        one's whose name was stripped.
        """
        starts = self._by_address()
        at = bisect_right(starts, address) - 1
        for _ in range(64):  # functions in functions are few
            if at < 0:
                return None
            start = starts[at]
            first = bisect_left(starts, start)
            row = self._row(self._order[first])
            if address < start + max(row.size, 1):
                return row
            at = first - 1
        return None

    def last_start(self, address: int) -> int | None:
        """Find the address of the last function at or before an address, or None."""
        starts = self._by_address()
        at = bisect_right(starts, address)
        return starts[at - 1] if at else None

    def nearest(self, name: str, limit: int = 3) -> list[str]:
        """Suggest up to ``limit`` names that a wrong one may have meant."""
        return nearest(name, set(self._names), limit)


def load(file: UserFile, debug: Path | None, cache: Cache) -> FunctionTable:
    """Open the functions of a file; ``debug`` is its separate debug file, None without one."""
    size = len(file.elf.data)
    name = (file.build_id, size) if file.build_id else file_identity(file.path)
    extra = file_identity(debug) if debug is not None else ()
    key = key_of("user-functions", _VERSION, *name, *extra)

    def make() -> bytes:
        return encoded(file, debug)

    try:
        return FunctionTable(kept(cache, key, make), file)
    except DebuginfoError:
        return FunctionTable(make(), file)


def nothing(file: UserFile) -> FunctionTable:
    """Make the table of a file whose symbols cannot be read, of which somebody has told."""
    table = FunctionTable(_packed({}, ".symtab and .dynsym of " + str(file.path)), file)
    table.is_damaged = True
    return table


class _NameCollector:
    """Collects names of functions: each name of an address once."""

    def __init__(self, file: UserFile) -> None:
        self.rows: dict[tuple[str, int], tuple[int, int]] = {}
        self._file = file

    def add(self, elf: ElfFile, table: str, *, exported: bool = False, moved: int = 0) -> bool:
        """Add the functions of a table; return False when the file has no such table."""
        found = False
        inside = self._file.code_offset
        for name, value, size, flags in _functions(elf, table, exported=exported):
            found = True
            address = value + moved
            if inside(address) is None:
                continue
            known_size, known = self.rows.get((name, address), (0, 0))
            self.rows[name, address] = max(size, known_size), flags | known
        return found

    def add_go(self, elf: ElfFile) -> bool:
        """Add the functions that a Go program knows of itself; return False for none."""
        for name, address, size in golang.functions(elf):
            if self._file.code_offset(address) is not None:
                self.rows.setdefault((name, address), (size, GLOBAL))
        return bool(self.rows)


def _functions(elf: ElfFile, table: str, *, exported: bool) -> Iterator[tuple[str, int, int, int]]:
    """Yield ``(name, value, size, flags)`` of the functions that a table defines."""
    section = elf.section(table)
    if section is None or section.link >= len(elf.sections):
        return
    data = elf.content(section)
    strings = Strings(elf.content(elf.sections[section.link]), elf.name)
    whole = len(data) - len(data) % _ROW.size
    for name_at, info, other, index, value, size in _ROW.iter_unpack(data[:whole]):
        kind = info & 15
        if (kind != _STT_FUNC and kind != _STT_GNU_IFUNC) or not index:
            continue
        word, flags = strings.word(name_at), 0
        if b"@" in word:
            word, _, version = word.partition(b"@")
            flags |= 0 if version.startswith(b"@") else OLD
        if not word or b"\n" in word:
            continue
        if kind == _STT_GNU_IFUNC:
            flags |= INDIRECT
        binding = info >> 4
        if binding != _STB_LOCAL:
            flags |= WEAK if binding == _STB_WEAK else GLOBAL
            if exported and other & 3 in (_DEFAULT, _PROTECTED):
                flags |= EXPORTED
        yield word.decode("utf-8", "surrogateescape"), value, min(size, 1 << 62), flags


def encoded(file: UserFile, debug: Path | None) -> bytes:
    """Read the functions of a file into the form of the cache."""
    names = _NameCollector(file)
    source = ""
    for title, elf in _full_tables(file, debug):
        if names.add(elf, ".symtab", moved=moved_by(file, elf)):
            source = title
            break
    else:
        if names.add_go(file.elf):
            source = f"{golang.TABLE} of {file.path}"
    names.add(file.elf, ".dynsym", exported=True)
    return _packed(names.rows, source, f".dynsym of {file.path}")


def _packed(
    found: dict[tuple[str, int], tuple[int, int]], source: str, otherwise: str = ""
) -> bytes:
    rows = sorted(found.items())
    order = sorted(range(len(rows)), key=lambda n: (rows[n][0][1], _rank(*rows[n][0], rows[n][1])))
    return pack.encode(
        {
            "names": "\n".join(key[0] for key, _ in rows).encode("utf-8", "surrogateescape"),
            "addresses": array("Q", [key[1] for key, _ in rows]).tobytes(),
            "sizes": array("Q", [value[0] for _, value in rows]).tobytes(),
            "flags": bytes(value[1] for _, value in rows),
            "order": array("I", order).tobytes(),
            "source": (source or otherwise).encode("utf-8", "surrogateescape"),
            "complete": b"1" if source else b"",
        }
    )


def _rank(name: str, _: int, row: tuple[int, int]) -> tuple[bool, bool, int, int, str]:
    """Rank the names of one address: the least is what a person would call it."""
    size, flags = row
    return not size, bool(flags & OLD), -(flags & GLOBAL), name.count("_", 0, 2), name


def _full_tables(file: UserFile, debug: Path | None) -> Iterator[tuple[str, ElfFile]]:
    if debug is not None:
        yield f".symtab of {debug}", ElfFile.open(debug)
    yield f".symtab of {file.path}", file.elf
    packed = file.elf.read(".gnu_debugdata")
    if packed:
        name = f".gnu_debugdata of {file.path}"
        yield name, ElfFile(inflate(packed, "xz", name), name)


def moved_by(file: UserFile, elf: ElfFile) -> int:
    """Compute how far a file's addresses are from its debug file's: prelink moves them."""
    if elf is file.elf:
        return 0
    try:
        theirs = UserFile(file.path, elf).segments
    except DebuginfoError:
        return 0
    mine = [row.address for row in file.segments if row.type == PT_LOAD]
    other = [row.address for row in theirs if row.type == PT_LOAD]
    return mine[0] - other[0] if mine and len(mine) == len(other) else 0


def addresses(file: UserFile, debug: Path | None, names: set[str]) -> dict[str, int]:
    """Map names of symbols to link addresses; without names that several of them have."""
    files = [(file.elf, 0)]
    if debug is not None:
        elf = ElfFile.open(debug)
        files.append((elf, moved_by(file, elf)))
    found: dict[str, set[int]] = {}
    for elf, moved in files:
        for table in (".dynsym", ".symtab"):
            for row in elf.symbols(table):
                name = row.name.partition("@")[0]
                if row.section and name in names:
                    found.setdefault(name, set()).add(row.value + moved)
    return {name: min(values) for name, values in found.items() if len(values) == 1}


def debug_file(
    file: UserFile, warn: Callable[[str], None], *, download: bool = False
) -> Path | None:
    """Find the separate debug file; None when there is none.

    A server is asked only with ``download``. ``warn`` is told of files that belong to another
    build.
    """
    for path in separate_files(file.elf, file.path):
        try:
            other = ElfFile.open(path).build_id()
        except DebuginfoError as error:
            warn(str(error))
            continue
        if not file.build_id or not other or other == file.build_id:
            return path
        warn(f"{path} belongs to another build: its build-id is {other}, not {file.build_id}")
    if not download or not file.build_id:
        return None
    from stapy.debuginfo.dwarf.files.debuginfod import fetch

    found, problems = fetch(file.build_id, str(file.path), progress.tell)
    for problem in problems:
        warn(problem)
    return found
