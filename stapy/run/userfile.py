"""A program or library as the machine that runs it has it: segments, sections, what it needs."""

from __future__ import annotations

import os
import struct

from .elf import build_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List, Optional, Set, Tuple, Union

ARM64 = 183  # ``e_machine``
STUBS = (".plt", ".iplt")  # sections of code by which libraries are called
PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_NOTE, PT_EH_FRAME = 1, 2, 3, 4, 0x6474E550
_DT_NEEDED, _DT_STRTAB, _DT_STRSZ, _DT_RPATH, _DT_RUNPATH = 1, 5, 10, 15, 29
_NOTES = 1 << 16  # bytes of notes that are read
_DYNAMIC = 1 << 20
# A file may be anybody's, and made to cost its reader time or memory.  What the kernel loads has no
# more than 64 KiB of segments, and what a linker makes only a few that are loaded.
_SEGMENTS, _LOADS = 1170, 64
_PART = 256 << 20  # bytes of a section; a longer one is none
_UNWINDING = 32 << 20
_COMPRESSED = 0x800
# mov x8, #139; svc #0: where handlers of signals return to on arm64, unless libc says it better
_SIGNAL_RETURN = {ARM64: struct.pack("<II", 0xD2801168, 0xD4000001)}
_SIGNAL_RETURNS = 64  # of one file
_STEP = 1 << 20
_TEXT = 4096  # bytes of a name
_LIBRARIES = 4096


class NoUserFile(ValueError):
    """It is no 64-bit ELF file that a process maps."""


class _Parts:
    """An open file, by what is read of it: whoever may write to it can cut off what is mapped."""

    def __init__(self, fd: int, size: int) -> None:
        self._fd, self._size = os.dup(fd), size

    def __del__(self) -> None:
        os.close(self._fd)

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, part: slice) -> bytes:
        at, end, _ = part.indices(self._size)
        found = []
        while at < end:
            piece = os.pread(self._fd, min(end - at, 1 << 24), at)
            if not piece:
                break
            found.append(piece)
            at += len(piece)
        return b"".join(found)


def text_at(texts: bytes, at: int, most: int = _TEXT) -> bytes:
    """Cut out the text at a place of a table of texts, at most ``most`` bytes."""
    end = texts.find(b"\0", at, at + most)
    return texts[at : end if end >= 0 else at + most]


class Section:
    """A row of the table of sections."""

    def __init__(self, name: str, row: "Tuple[int, ...]") -> None:
        self.name = name
        _, self.type, self.flags, self.address, self.offset, self.size = row[:6]
        self.link = row[6]


class UserFile:
    """One file; places in it are offsets, addresses are those that it was linked with."""

    def __init__(self, data: Union[bytes, _Parts]) -> None:
        self.data = data
        self._read_parts: Dict[Tuple[int, int], bytes] = {}
        self._returns: Optional[List[int]] = None
        if len(data) < 64 or data[:6] != b"\x7fELF\2\1":
            raise NoUserFile("no 64-bit ELF file")
        try:
            self._read()
        except (struct.error, IndexError, ValueError, OverflowError):
            raise NoUserFile("the file is damaged") from None

    @classmethod
    def open(cls, fd: int) -> UserFile:
        """Read an open file by its descriptor."""
        return cls(_Parts(fd, os.fstat(fd).st_size))

    def _read(self) -> None:
        head = self.data[:64]
        (self.machine,) = struct.unpack_from("<H", head, 18)
        segments, sections = struct.unpack_from("<QQ", head, 32)
        size, count, _, number, names = struct.unpack_from("<HHHHH", head, 54)
        if size != 56 or count > _SEGMENTS or segments + 56 * count > len(self.data):
            raise ValueError("segments")
        rows = list(struct.iter_unpack("<IIQQQQQQ", self._part(segments, 56 * count)))
        self.segments = rows
        loads = [row for row in rows if row[0] == PT_LOAD]
        if len(loads) > _LOADS:
            raise ValueError("segments")
        # Of what is not in the file nothing is known, whatever its head says.
        self._loads = sorted(
            (row[3], row[2], max(min(row[5], len(self.data) - row[2]), 0), row[1], row[6])
            for row in loads
        )
        self.sections: Dict[str, Section] = {}
        self.table: List[Section] = []
        if sections and number and sections + 64 * number <= len(self.data):
            found = list(struct.iter_unpack("<IIQQQQIIQQ", self._part(sections, 64 * number)))
            texts = self.content(Section("", found[names])) if names < number else b""
            for row in found:
                section = Section(text_at(texts, row[0], 64).decode("ascii", "replace"), row)
                self.table.append(section)
                self.sections.setdefault(section.name, section)

    def _part(self, offset: int, size: int) -> bytes:
        """Read bytes of the file, the same ones whenever they are asked for."""
        known = self._read_parts.get((offset, size))
        if known is None:
            known = self._read_parts[offset, size] = bytes(self.data[offset : offset + size])
        return known

    def content(self, section: Section) -> bytes:
        """Read a section; b"" for one that the file does not have, or a huge one."""
        there = section.offset + section.size <= len(self.data)
        if section.type == 8 or not there or section.size > _PART:
            return b""
        return self._part(section.offset, section.size)

    def debug_content(self, name: str) -> bytes:
        """Read a section of debug information, which may be packed; b"" without it."""
        section = self.sections.get(name)
        data = self.content(section) if section else b""
        if not section or not section.flags & _COMPRESSED:
            return data
        if len(data) < 24:
            return b""
        kind, _, size, _ = struct.unpack_from("<IIQQ", data, 0)
        if kind != 1 or size > _PART:  # zlib; the standard library has no other one of ELF's
            return b""
        import zlib

        unpacker = zlib.decompressobj()
        try:
            found = unpacker.decompress(data[24:], size)
        except zlib.error:
            return b""
        return found if len(found) == size else b""

    # --- addresses -------------------------------------------------------

    def code_offset(self, address: int) -> Optional[int]:
        """Find where an address of code is in the file; None when it is none."""
        for start, offset, size, flags, _ in self._loads:
            if start <= address < start + size and flags & 1:
                return int(address - start + offset)
        return None

    def signal_returns(self) -> "List[int]":
        """Find where handlers of signals return to, the same places whenever they are asked for."""
        if self._returns is None:
            code = _SIGNAL_RETURN.get(self.machine)
            self._returns = sorted(self._places(code)) if code else []
        return self._returns

    def _places(self, code: bytes) -> "Set[int]":
        """Find some instructions in the segments of code; these are not kept in memory."""
        found: Set[int] = set()
        left = _PART  # segments may be the same bytes many times
        for _, offset, size, flags, _ in self._loads:
            end = offset + min(size, left)
            left -= end - offset if flags & 1 else 0
            for start in range(offset, end if flags & 1 else offset, _STEP):
                content = self.data[start : min(start + _STEP + len(code) - 1, end)]
                at = content.find(code)
                while at >= 0 and len(found) < _SIGNAL_RETURNS:
                    if (start + at) % 4 == 0:
                        found.add(start + at)
                    at = content.find(code, at + 4)
        return found

    def _offset(self, address: int) -> Optional[int]:
        for start, offset, size, _, _ in self._loads:
            if start <= address < start + size:
                return int(address - start + offset)
        return None

    @property
    def delta(self) -> int:
        """What is added to the offset of code to have its address."""
        for start, offset, _, flags, _ in self._loads:
            if flags & 1:
                return int(start - offset)
        return 0

    @property
    def span(self) -> int:
        """Bytes of memory that the file takes when it is mapped, in pages."""
        if not self._loads:
            return 0
        end = max(start + memory for start, _, _, _, memory in self._loads)
        return int((end + 4095 & ~4095) - (self._loads[0][0] & ~4095))

    def _at(self, address: int, size: int) -> bytes:
        offset = self._offset(address)
        return b"" if offset is None or size > _PART else self._part(offset, size)

    # --- what it says ----------------------------------------------------

    def build_id(self) -> str:
        """Read the build-id in hexadecimal, "" without one."""
        for row in self.segments:
            if row[0] == PT_NOTE:
                try:
                    found = build_id(self._part(row[2], min(row[5], _NOTES)))
                except struct.error:
                    continue
                if found:
                    return found
        return ""

    def unwinding(self) -> "Tuple[bytes, int]":
        """Read ``.eh_frame`` and its address; no bytes when there is no such thing."""
        section = self.sections.get(".eh_frame")
        if section and section.type != 8:
            return self.content(section)[:_UNWINDING], section.address
        for row in self.segments:
            head = self._part(row[2], 8) if row[0] == PT_EH_FRAME else b""
            if len(head) == 8 and head[:2] == b"\x01\x1b":
                (place,) = struct.unpack_from("<i", head, 4)
                address = row[3] + 4 + place
                for start, offset, size, _, _ in self._loads:
                    if start <= address < start + size:
                        at = address - start + offset
                        return self._part(at, min(offset + size - at, _UNWINDING)), address
        return b"", 0

    def digest(self) -> str:
        """Compute what tells a file from all others, of all that tables are made of."""
        import hashlib

        stubs = [self.sections.get(name) for name in STUBS]
        places = [(one.address, one.size) for one in stubs if one]
        known = (self.machine, self._loads, self.signal_returns(), places)
        found = hashlib.sha256(repr(known).encode())
        data, address = self.unwinding()
        parts = [b"%d" % address, data]
        parts += [self.content(one) for one in stubs if one and self.machine == ARM64]
        for name in (".symtab", ".dynsym", ".gnu_debugdata"):
            section = self.sections.get(name)
            parts.append(self.content(section) if section else b"")
            linked = section and section.link < len(self.table)
            parts.append(self.content(self.table[section.link]) if section and linked else b"")
        for part in parts:
            found.update(b"%d:" % len(part))
            found.update(part)
        return found.hexdigest()

    def needed(self) -> "Tuple[List[str], List[str], str]":
        """List the libraries loaded with it, folders to search first, and its interpreter."""
        rows: List[Tuple[int, int]] = []
        interpreter = ""
        for row in self.segments:
            if row[0] not in (PT_DYNAMIC, PT_INTERP):
                continue
            body = self._part(row[2], min(row[5], _DYNAMIC))
            if row[0] == PT_DYNAMIC:
                for at in range(0, len(body) - 15, 16):
                    tag, value = struct.unpack_from("<QQ", body, at)
                    if not tag:
                        break
                    rows.append((tag, value))
            else:
                interpreter = os.fsdecode(text_at(body, 0))
        values = dict(rows)
        texts = self._at(values.get(_DT_STRTAB, 0), values.get(_DT_STRSZ, 0)) if rows else b""

        def text(at: int) -> str:
            return os.fsdecode(text_at(texts, at))

        names = [text(value) for tag, value in rows[:_LIBRARIES] if tag == _DT_NEEDED]
        folders: List[str] = []
        for tag in (_DT_RPATH, _DT_RUNPATH):
            if tag in values:
                folders += text(values[tag]).split(":")
        return [name for name in names if name], [f for f in folders if f], interpreter
