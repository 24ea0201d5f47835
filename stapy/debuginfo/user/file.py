"""One ELF file that processes run or map: its segments, what it is, and the files that describe it.

Only files of 64 bits for the session's machine are read.  What is no such file is refused with
a `UserFileError` that says what it is instead.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from stapy.arch import X86_64, Architecture
from stapy.debuginfo.elf import EM_NAMES, ElfFile, build_id_of, mapped, open_regular, parse_notes
from stapy.debuginfo.errors import DebuginfoError
from stapy.record import Record

ET_EXEC, ET_DYN = 2, 3
PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_NOTE, PT_TLS = 1, 2, 3, 4, 7
PF_X, PF_W = 1, 2
EM_386 = 3
_DT_NEEDED, _DT_STRTAB, _DT_STRSZ, _DT_SONAME = 1, 5, 10, 14
_DT_RPATH, _DT_RUNPATH, _DT_FLAGS_1 = 15, 29, 0x6FFFFFFB
_DF_1_PIE = 0x08000000
_MOST_SEGMENTS = (1 << 16) // 56  # that the kernel takes of a program
_MOST_DYNAMIC = 1 << 14  # rows of a dynamic section; real ones have a hundred
_MOST_TEXT = 1 << 22  # in all of them: a list of folders has one for each library with some
_MACHINES = {**EM_NAMES, EM_386: "i386", 40: "arm", 8: "mips", 2: "sparc"}
_TYPES = {1: "an object file that was not linked", 4: "a core dump"}
_OTHER_MACHINE = (
    "the kernel of this session is for {0}: name the path of a program of that machine here, which "
    "must have the same path there"
)
_STRINGS = frozenset((_DT_NEEDED, _DT_SONAME, _DT_RPATH, _DT_RUNPATH))


class UserFileError(DebuginfoError):
    """A file that cannot be probed: the text says why, ``hint`` what could be done."""

    def __init__(self, text: str, hint: str = "") -> None:
        super().__init__(text)
        self.hint = hint


class Segment(Record):
    """One program header."""

    type: int
    flags: int
    offset: int
    address: int
    file_size: int
    memory_size: int
    alignment: int


class Dynamic(Record):
    """What the dynamic section says about other files."""

    soname: str
    needed: list[str]
    rpath: str
    runpath: str
    is_pie: bool


class UserFile:
    """A program or a shared object.

    Addresses are those of linking: a process has them moved by its load bias.
    Offsets are places in the file, which is what uprobes are armed by.
    """

    def __init__(self, path: Path, elf: ElfFile, machine: Architecture = X86_64) -> None:
        self.path = path
        self.elf = elf
        self.machine = machine
        self.segments = _segments(elf)
        self._loads = sorted(
            (row for row in self.segments if row.type == PT_LOAD), key=lambda row: row.address
        )
        self._starts = [row.address for row in self._loads]

    @classmethod
    def open(cls, path: Path, machine: Architecture = X86_64) -> UserFile:
        """Open a file; raises `UserFileError` for what is no program or library for a machine."""
        try:
            with open_regular(path) as file:
                _check(path, file.read(64), machine)
                file.seek(0)
                elf = ElfFile(mapped(file), str(path))
        except UserFileError:
            raise
        except DebuginfoError as error:
            raise UserFileError(str(error)) from None
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise UserFileError(f"{path}: {why}") from None
        found = cls(path, elf, machine)
        if any(
            row.file_size and row.offset + row.file_size > len(elf.data) for row in found._loads
        ):
            raise UserFileError(f"'{path}' is damaged: its segments end outside of the file")
        return found

    # --- what it is ------------------------------------------------------

    @cached_property
    def build_id(self) -> str:
        """The build-id as hex, "" when the file has none."""
        found = self.elf.build_id()
        if found or self.elf.sections:
            return found
        data = self.elf.data
        for row in self.segments:  # sections are not needed to run
            if row.type == PT_NOTE and row.offset + row.file_size <= len(data):
                notes = bytes(data[row.offset : row.offset + row.file_size])
                found = found or build_id_of(parse_notes(notes))
        return found

    @property
    def is_fixed(self) -> bool:
        """True for a program that runs at the addresses of linking (ET_EXEC)."""
        return self.elf.type == ET_EXEC

    @cached_property
    def entry(self) -> int:
        """The address that the file is entered by when it is run, 0 for what is not run."""
        (address,) = struct.unpack_from("<Q", self.elf.data, 24)
        return int(address)

    @cached_property
    def code_start(self) -> int:
        """Where the code begins; 0 for a program that is not moved (ET_EXEC)."""
        return 0 if self.is_fixed else self.first_code

    @cached_property
    def first_code(self) -> int:
        """The address of linking that the code begins at; 0 for a file without code."""
        return min((row.address for row in self._loads if row.flags & PF_X), default=0)

    @cached_property
    def is_library(self) -> bool:
        """True for what processes map besides their program: what has a name for that.

        Libraries that can be run as well (libc.so.6) are libraries.
        """
        if self.is_fixed or self.dynamic.is_pie:
            return False
        interpreted = any(row.type == PT_INTERP for row in self.segments)
        return bool(self.dynamic.soname) or not interpreted

    @cached_property
    def unwound(self) -> set[int]:
        """The addresses where ``.eh_frame`` describes a function; none where it is damaged."""
        from stapy.debuginfo.dwarf.read.frames import unwound

        try:
            return unwound(self.elf)
        except DebuginfoError:  # of a section that programs run without
            return set()

    @cached_property
    def dynamic(self) -> Dynamic:
        """What the dynamic section says; nothing for a static program."""
        return _dynamic(self)

    # --- addresses -------------------------------------------------------

    def _load(self, address: int) -> Segment | None:
        at = bisect_right(self._starts, address) - 1
        if at < 0:
            return None
        row = self._loads[at]
        return row if address < row.address + row.file_size else None

    def has_address(self, address: int) -> bool:
        """Tell whether the file has something in memory at an address of linking."""
        return any(row.address <= address < row.address + row.memory_size for row in self._loads)

    def offset_of(self, address: int) -> int | None:
        """Find where an address is in the file; None for what is not in it (.bss)."""
        row = self._load(address)
        return None if row is None else address - row.address + row.offset

    def code_offset(self, address: int) -> int | None:
        """Find where an address of code is in the file.

        None when no executable segment has it.
        """
        row = self._load(address)
        if row is None or not row.flags & PF_X:
            return None
        return address - row.address + row.offset

    def code_offsets(self, addresses: Iterable[int]) -> list[int | None]:
        """Find where many addresses of code are in the file, as `code_offset` does for each."""
        found: list[int | None] = []
        low = high = moved = 0
        for address in addresses:
            if not low <= address < high:
                at = bisect_right(self._starts, address) - 1
                row = self._loads[at] if at >= 0 else None
                if row is None or not row.flags & PF_X or address >= row.address + row.file_size:
                    found.append(None)
                    continue
                low, moved = row.address, row.offset - row.address
                high = min([row.address + row.file_size, *self._starts[at + 1 : at + 2]])
            found.append(address + moved)
        return found

    def address_of(self, offset: int) -> int | None:
        """Find the address of what is at an offset of the file, code first; or None."""
        found = None
        for row in self._loads:
            if row.offset <= offset < row.offset + row.file_size:
                found = offset - row.offset + row.address
                if row.flags & PF_X:
                    break
        return found

    @property
    def loads(self) -> list[Segment]:
        """The segments that are in memory, by address."""
        return self._loads

    @property
    def executable(self) -> list[Segment]:
        """Those of them that have code."""
        return [row for row in self._loads if row.flags & PF_X]

    @property
    def code(self) -> list[tuple[int, int]]:
        """``(start, end)`` of each executable segment, as offsets in the file."""
        return [(row.offset, row.offset + row.file_size) for row in self.executable]

    def read(self, address: int, size: int) -> bytes:
        """Read what the file has at an address; fewer bytes at the end of a segment."""
        row = self._load(address)
        if row is None:
            return b""
        at = address - row.address
        size = min(size, row.file_size - at)
        return bytes(self.elf.data[row.offset + at : row.offset + at + size])


def machine_of(path: Path) -> str:
    """Name the machine that an ELF file is for; "" for any other file, and what we may not read."""
    try:
        with open_regular(path) as file:
            head = file.read(20)
    except OSError:
        return ""
    if len(head) < 20 or head[:4] != b"\x7fELF" or head[5] != 1:
        return ""
    (machine,) = struct.unpack_from("<H", head, 18)
    return _MACHINES.get(machine, f"machine {machine}")


def _check(path: Path, head: bytes, wanted: Architecture) -> None:
    """Refuse what is not for us, by the first bytes of a file."""
    if not head:
        raise UserFileError(f"'{path}' is empty")
    if head[:2] == b"#!":
        raise UserFileError(f"'{path}' is a script, run by {_first_line(path)}")
    if head[:4] != b"\x7fELF" or len(head) < 20:
        raise UserFileError(f"'{path}' is no ELF file")
    kind, machine = struct.unpack_from("<HH", head, 16)
    if head[5] != 1:
        raise UserFileError(f"'{path}' is for a big-endian machine")
    name = _MACHINES.get(machine, f"machine {machine}")
    if head[4] == 1 and wanted is X86_64 and machine in (EM_386, X86_64.elf):
        word = "32-bit program" if machine == EM_386 else "32-bit (x32) program"
        raise UserFileError(f"'{path}' is a {word}; stapy reads 64-bit programs only so far")
    if machine != wanted.elf:
        hint = "" if wanted is X86_64 else _OTHER_MACHINE.format(wanted.name)
        raise UserFileError(f"'{path}' is for {name}, not for {wanted.name}", hint)
    if head[4] != 2:
        raise UserFileError(f"'{path}' is no 64-bit ELF file")
    if kind not in (ET_EXEC, ET_DYN):
        what = _TYPES.get(kind, f"an ELF file of type {kind}")
        raise UserFileError(f"'{path}' is {what}, neither a program nor a shared library")


def _first_line(path: Path) -> str:
    with open_regular(path) as file:
        line = file.readline(256)
    return repr(line[2:].decode("utf-8", "replace").strip())


def _segments(elf: ElfFile) -> list[Segment]:
    data = elf.data
    (table,) = struct.unpack_from("<Q", data, 32)
    entry_size, count = struct.unpack_from("<HH", data, 54)
    if count == 0xFFFF and elf.sections:
        count = elf.sections[0].info
    if count == 0:
        return []
    if count > _MOST_SEGMENTS:
        raise UserFileError(f"{elf.name} has {count} segments, more than any program")
    if entry_size != 56 or table + 56 * count > len(data):
        raise UserFileError(f"{elf.name}: damaged table of segments")
    found = []
    for number in range(count):
        type, flags, offset, address, _, file_size, memory_size, alignment = struct.unpack_from(
            "<IIQQQQQQ", data, table + 56 * number
        )
        found.append(Segment(type, flags, offset, address, file_size, memory_size, alignment))
    return found


def _dynamic(file: UserFile) -> Dynamic:
    data, strings = file.elf.data, b""
    rows: list[tuple[int, int]] = []
    for segment in [row for row in file.segments if row.type == PT_DYNAMIC][-1:]:
        end = min(segment.offset + segment.file_size, len(data))
        size = min(max(0, end - segment.offset) // 16, _MOST_DYNAMIC) * 16
        part = bytes(data[segment.offset : segment.offset + size])
        for tag, value in struct.iter_unpack("<QQ", part):
            if tag == 0:
                break
            rows.append((tag, value))
    values = dict(rows)
    if _DT_STRTAB in values:
        strings = file.read(values[_DT_STRTAB], values.get(_DT_STRSZ, 0))

    found: list[tuple[int, str]] = []
    left = _MOST_TEXT
    for tag, start in rows:
        if tag in _STRINGS:
            end = strings.find(b"\0", start, start + left)
            text = strings[start:end] if end >= 0 else b""
            left = left - len(text) if end >= 0 else 0
            found.append((tag, text.decode("utf-8", "surrogateescape")))
    texts = dict(found)
    return Dynamic(
        texts.get(_DT_SONAME, ""),
        [name for tag, name in found if tag == _DT_NEEDED and name],
        texts.get(_DT_RPATH, ""),
        texts.get(_DT_RUNPATH, ""),
        bool(values.get(_DT_FLAGS_1, 0) & _DF_1_PIE),
    )
