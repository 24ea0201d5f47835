"""ELF64 files by memory map: sections, symbols, notes; nothing is read before it is asked for.

Every number from the file is checked before it is used, so that a damaged file
ends in a `DebuginfoError` and not in a wrong answer or a huge allocation.
"""

from __future__ import annotations

import errno
import mmap
import os
import resource
import stat
import struct
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from stapy.debuginfo.errors import DebuginfoError
from stapy.debuginfo.unpack import unpackers
from stapy.kernel.roots import open_place
from stapy.record import Record

Buffer = bytes | bytearray | mmap.mmap | memoryview

EM_NAMES = {62: "x86_64", 183: "arm64", 243: "riscv", 21: "powerpc", 22: "s390", 258: "loongarch"}

ET_REL = 1
SHT_RELA, SHT_NOTE, SHT_NOBITS, SHT_REL = 4, 7, 8, 9
SHF_EXECINSTR, SHF_COMPRESSED = 4, 0x800
STT_FUNC = 2
_MAX_INFLATED = 4 << 30  # no section of a real file inflates beyond this
# Debug information shrinks to a third, lists of numbers to a tenth: more is somebody's doing.
_MOST_TIMES, _FEW_INFLATED = 64, 64 << 20
_NT_GNU_BUILD_ID = 3
_SHARED = 8  # how often all of a table of strings may be part of a name
_FEW = 16 << 20  # bytes of names that any file may have
_SPARE_DESCRIPTORS = 64  # for compilers, their pipes and what they are given
_MANY_DESCRIPTORS = 1 << 16

# Magic of the compressed files that modules come in -> name for messages.
COMPRESSED_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"\xfd7zXZ\0": "xz",
    b"(\xb5/\xfd": "zstd",
}


class Section(Record):
    """One section header."""

    name: str
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int


class Symbol(Record):
    """One symbol; ``section`` is the header index (0 for undefined)."""

    name: str
    value: int
    size: int
    kind: int
    binding: int
    section: int


class ElfFile:
    """An ELF file in memory.

    ``name`` is used in messages only.
    """

    def __init__(self, data: Buffer, name: str) -> None:
        self.data = data
        self.name = name
        self.machine = ""
        self.type = 0
        self.sections: list[Section] = []
        self._by_name: dict[str, Section] = {}
        self._read_headers()

    @classmethod
    def open(cls, path: Path) -> ElfFile:
        """Map a file; compressed modules (.ko.xz, .ko.zst, .ko.gz) are inflated."""
        return cls(map_file(path), str(path))

    # --- headers ---------------------------------------------------------

    def _fail(self, why: str) -> DebuginfoError:
        return DebuginfoError(f"{self.name}: {why}")

    def _read_headers(self) -> None:
        data = self.data
        if len(data) < 64 or bytes(data[:4]) != b"\x7fELF":
            raise self._fail("not an ELF file")
        if data[4] != 2 or data[5] != 1:
            raise self._fail("not a 64-bit little-endian ELF file")
        self.type, machine = struct.unpack_from("<HH", data, 16)
        self.machine = EM_NAMES.get(machine, f"machine {machine}")
        (table,) = struct.unpack_from("<Q", data, 40)
        entry_size, count, name_index = struct.unpack_from("<HHH", data, 58)
        if table == 0:
            return
        if entry_size != 64 or table + 64 > len(data):
            raise self._fail("damaged section table")
        first = struct.unpack_from("<IIQQQQIIQQ", data, table)
        count = count or first[5]  # more than 65279 sections: counted in the first header
        if name_index == 0xFFFF:
            name_index = first[6]
        if count > (len(data) - table) // 64:
            raise self._fail("section table ends outside of the file")
        rows = [struct.unpack_from("<IIQQQQIIQQ", data, table + 64 * i) for i in range(count)]
        if name_index >= count:
            raise self._fail("no section names")
        content = self._range(rows[name_index][4], rows[name_index][5], "section names")
        names = Strings(content, self.name)
        for row in rows:
            section = Section(names.text(row[0]), *row[1:])
            self.sections.append(section)
            self._by_name.setdefault(section.name, section)

    def _range(self, offset: int, size: int, what: str) -> bytes:
        if offset + size > len(self.data):
            raise self._fail(f"{what} end outside of the file")
        return bytes(self.data[offset : offset + size])

    # --- content ---------------------------------------------------------

    def section(self, name: str) -> Section | None:
        """Find the first section of that name, or None; ``.zdebug_x`` is ``.debug_x``, too."""
        found = self._by_name.get(name)
        if found is None and name.startswith(".debug_"):
            found = self._by_name.get(".z" + name[1:])
        return found

    def number(self, section: Section) -> int:
        """Find a section's number in the file."""
        return next(n for n, row in enumerate(self.sections) if row is section)

    def content(self, section: Section) -> bytes:
        """Read a section's bytes, inflated when it is compressed; empty for NOBITS.

        Raises `DebuginfoError` for damage.
        """
        if section.type == SHT_NOBITS:
            return b""
        raw = self._range(section.offset, section.size, f"section {section.name}")
        if section.flags & SHF_COMPRESSED:
            if len(raw) < 24:
                raise self._fail(f"section {section.name}: damaged compression header")
            kind, _, size = struct.unpack_from("<IIQ", raw)
            if kind == 2:
                self._check_inflated(len(raw) - 24, size, section)
                data = inflate_zstd(raw[24:], f"{self.name}: section {section.name}", size)
                if len(data) != size:
                    raise self._fail(f"section {section.name}: wrong size after inflating")
                return data
            if kind != 1:
                raise self._fail(f"section {section.name}: unknown compression {kind}")
            return self._inflate(raw[24:], size, section)
        if section.name.startswith(".zdebug_") and raw[:4] == b"ZLIB" and len(raw) >= 12:
            return self._inflate(raw[12:], int.from_bytes(raw[4:12], "big"), section)
        return raw

    def _check_inflated(self, packed: int, size: int, section: Section) -> None:
        """Refuse what a section says to inflate to, before memory is taken for it."""
        if size > min(_MAX_INFLATED, max(_FEW_INFLATED, _MOST_TIMES * packed)):
            raise self._fail(
                f"section {section.name}: impossible size {size}, of {packed} bytes compressed"
            )
        free = unpackers.free_memory()
        if 2 * size > free:  # its pieces, and the whole
            raise self._fail(
                f"section {section.name} inflates to {size >> 20} MiB, for which {free >> 20} MiB "
                "of free memory are too little"
            )

    def _inflate(self, raw: bytes, size: int, section: Section) -> bytes:
        self._check_inflated(len(raw), size, section)
        try:
            data = zlib.decompressobj().decompress(raw, size + 1)
        except zlib.error as error:
            raise self._fail(f"section {section.name}: {error}") from None
        if len(data) != size:
            raise self._fail(f"section {section.name}: wrong size after inflating")
        return data

    def read(self, name: str) -> bytes | None:
        """Read the content of a section by name, None when the file lacks it."""
        section = self.section(name)
        return None if section is None else self.content(section)

    def symbols(self, table: str = ".symtab", *, with_local: bool = True) -> Iterator[Symbol]:
        """Yield the symbols of a table in file order; local ones unless not wanted.

        Nothing when the table is absent; raises `DebuginfoError` when it has no strings.
        """
        section = self.section(table)
        if section is None:
            return
        if section.link >= len(self.sections):
            raise self._fail(f"{table}: no string table")
        data = self.content(section)
        names = Strings(self.content(self.sections[section.link]), self.name)
        whole = len(data) - len(data) % 24
        for name, info, _, index, value, size in struct.iter_unpack("<IBBHQQ", data[:whole]):
            if with_local or info >> 4:
                yield Symbol(names.text(name), value, size, info & 15, info >> 4, index)

    def notes(self) -> Iterator[tuple[str, int, bytes]]:
        """Yield ``(owner, type, description)`` of each note; none of sections that overlap much."""
        left = 2 * len(self.data)
        for section in self.sections:
            if section.type == SHT_NOTE and left > 0:
                left -= section.size
                yield from parse_notes(self.content(section))

    def build_id(self) -> str:
        """Read the build-id as hex, "" when the file has none."""
        return build_id_of(self.notes())


def parse_notes(data: bytes) -> Iterator[tuple[str, int, bytes]]:
    """Yield ``(owner, type, description)`` of each note of a section; stop at damage."""
    at = 0
    while at + 12 <= len(data):
        name_size, size, kind = struct.unpack_from("<III", data, at)
        start = at + 12 + (name_size + 3 & ~3)
        if start + size > len(data):
            return
        owner = data[at + 12 : at + 12 + name_size].rstrip(b"\0").decode("latin-1")
        yield owner, kind, data[start : start + size]
        at = start + (size + 3 & ~3)


def build_id_of(notes: Iterator[tuple[str, int, bytes]]) -> str:
    """Find the GNU build-id among notes, as hex; "" when there is none."""
    for owner, kind, description in notes:
        if owner == "GNU" and kind == _NT_GNU_BUILD_ID:
            return description.hex()
    return ""


class Patience:
    """How many bytes of names are taken from a file before it is given up."""

    def __init__(self, size: int, name: str) -> None:
        self._left = size
        self._name = name

    def take(self, size: int) -> None:
        """Count so many bytes; raises `DebuginfoError` when they are too many."""
        self._left -= size
        if self._left < 0:
            raise DebuginfoError(
                f"{self._name}: its names lie one over the other, as no linker makes them"
            )


class Strings:
    """A table of strings of a file, which are found by where they begin.

    Names may end alike and share that end, but all of them together are not many times the table:
    that is a file which somebody made to take all memory, and ends in a `DebuginfoError`.
    """

    def __init__(self, table: bytes, name: str) -> None:
        self._table = table
        self._last = table.rfind(b"\0")
        self._patience = Patience(_SHARED * len(table) + _FEW, name)

    def has(self, offset: int) -> bool:
        """Tell whether a string begins there, which may be an empty one."""
        return 0 <= offset <= self._last

    def word(self, offset: int) -> bytes:
        """Find the string that begins there; empty for what begins or ends outside."""
        if offset >= self._last:
            return b""
        found = self._table[offset : self._table.find(b"\0", offset)]
        self._patience.take(len(found))
        return found

    def text(self, offset: int) -> str:
        """Find a string as text; what is none has other signs in its place."""
        return self.word(offset).decode("utf-8", "replace")


def map_file(path: Path) -> Buffer:
    """Map a file's bytes without copying them; inflate what is compressed.

    Raises `DebuginfoError` for a file that is empty or cannot be read.
    """
    try:
        with open_regular(path) as file:
            head = file.read(6)
            for magic, kind in COMPRESSED_MAGIC.items():
                if head.startswith(magic):
                    file.seek(0)
                    return inflate(file.read(), kind, str(path))
            if not head:
                raise DebuginfoError(f"{path}: empty file")
            file.seek(0)
            return mapped(file)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise DebuginfoError(f"{path}: {why}") from None


def open_regular(path: Path | str) -> BinaryIO:
    """Open a file to be read, and nothing else: a pipe would make us wait, a device may act.

    ``/proc/PID/root/…`` is what that process has there, wherever links lead.
    """
    place = open_place(path)
    try:
        mode = os.fstat(place).st_mode
        if stat.S_ISREG(mode):
            flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
            return os.fdopen(os.open(f"/proc/self/fd/{place}", flags), "rb")
    finally:
        os.close(place)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    raise OSError(errno.EINVAL, "is no regular file")


def mapped(file: BinaryIO) -> Buffer:
    """Map an open file's bytes; before descriptors run out read them instead.

    Before Python 3.13 a map keeps a descriptor for as long as it lives, and a
    script over all modules maps two thousand files.
    """
    if sys.version_info >= (3, 13):
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ, trackfd=False)
    number = os.dup(file.fileno())  # the lowest that is free, which the map would get
    os.close(number)
    if has_descriptors(number):
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return file.read()


def has_descriptors(number: int) -> bool:
    """Tell whether descriptors are left for compilers and pipes; raise the limit if not."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if number + _SPARE_DESCRIPTORS < soft or soft == resource.RLIM_INFINITY:
        return True
    wanted = hard if hard != resource.RLIM_INFINITY else max(soft, _MANY_DESCRIPTORS)
    if soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (OSError, ValueError):
            return False
    return number + _SPARE_DESCRIPTORS < wanted


def inflate(data: bytes, kind: str, name: str) -> bytes:
    """Inflate gzip, xz or zstd; ``name`` is for messages."""
    import lzma

    try:
        if kind == "gzip":
            gzip = zlib.decompressobj(31)
            found, more = gzip.decompress(data, unpackers.MAX_FILE), bool(gzip.unconsumed_tail)
        elif kind == "xz":
            xz = lzma.LZMADecompressor(memlimit=unpackers.MAX_MEMORY)
            found = xz.decompress(data, unpackers.MAX_FILE)
            more = not xz.eof and not xz.needs_input
        else:
            return inflate_zstd(data, name, unpackers.MAX_FILE)
    except (zlib.error, lzma.LZMAError, EOFError) as error:
        raise DebuginfoError(f"{name}: damaged {kind} data: {error}") from None
    if more:
        raise DebuginfoError(f"{name}: inflates to more than {unpackers.MAX_FILE} bytes")
    return found


def inflate_zstd(data: bytes, name: str, limit: int) -> bytes:
    """Inflate one zstd frame with the ``zstd`` program (Python 3.11 has no zstd)."""
    import shutil

    program = shutil.which("zstd") or shutil.which("unzstd")
    if program is None:
        raise DebuginfoError(f"{name}: zstd-compressed; install the program zstd to read it")
    found = unpackers.joined(unpackers.through([program, "-dcq"], data), name, limit)
    if not found:
        raise DebuginfoError(f"{name}: damaged zstd data")
    return found
