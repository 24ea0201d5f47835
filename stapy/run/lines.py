"""Source lines of a program's code, from ``.debug_line`` of the file or of its debug file.

Line programs of DWARF 2 to 5, one after the other as the section has them.  The packed form is
that of the kernel's lines, with places in the file instead of addresses.
"""

from __future__ import annotations

import os.path
import struct

from . import printable
from .ground import line_table
from .leb128 import Damaged, signed, unsigned
from .userfile import UserFile, text_at
from .usersymbols import debug_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List, Optional, Tuple

    from .ground.line_table import Row

_PROGRAMS = 16 << 20  # bytes of line programs that are read: some ten seconds
_FILES = 1 << 16  # of one unit
_PATH, _DIRECTORY = 1, 2
_LINE_STRP, _STRP, _STRING, _UDATA, _BLOCK_FORM = 0x1F, 0x0E, 0x08, 0x0F, 0x09
_FIXED = {0x0B: 1, 0x05: 2, 0x06: 4, 0x07: 8, 0x1E: 16}


class LineSource:
    """Where the lines of a file are told, and what tells whether that has changed."""

    def __init__(self, programs: bytes, strings: bytes, others: bytes) -> None:
        self.programs = programs
        self.line_strings = strings
        self.strings = others

    @classmethod
    def of(cls, file: UserFile) -> "Optional[LineSource]":
        """Read the lines of the file itself, else of the debug file with its build-id; or None."""
        for one in (file, debug_file(file)):
            programs = one.debug_content(".debug_line") if one else b""
            if one and programs:
                return cls(
                    programs[:_PROGRAMS],
                    one.debug_content(".debug_line_str"),
                    one.debug_content(".debug_str"),
                )
        return None

    def digest(self) -> str:
        """Compute what tells these lines from all others, as hex SHA-256."""
        import hashlib

        found = hashlib.sha256()
        for part in (self.programs, self.line_strings, self.strings):
            found.update(b"%d:" % len(part))
            found.update(part)
        return found.hexdigest()


class _Unit:
    """The head of one line program."""

    def __init__(self, source: LineSource, data: bytes) -> None:
        self._source = source
        (self.version,) = struct.unpack_from("<H", data, 4)
        if not 2 <= self.version <= 5:
            raise Damaged("version")
        at = 6 + (2 if self.version >= 5 else 0)
        (length,) = struct.unpack_from("<I", data, at)
        at += 4
        self.start = at + length
        self.minimum = data[at]
        at += 2 if self.version >= 4 else 1
        _, self.base, self.range, self.opcodes = struct.unpack_from("<BbBB", data, at)
        at += 4
        if not self.range or not self.opcodes:
            raise Damaged("opcodes")
        self.lengths = data[at : at + self.opcodes - 1]
        at += self.opcodes - 1
        self.files = self._files5(data, at) if self.version >= 5 else self._files4(data, at)

    def _files4(self, data: bytes, at: int) -> "List[str]":
        """Read paths by number, from 1; the folder of the compilation is not told here."""
        folders = [""]
        while data[at]:
            name = text_at(data, at)
            at += len(name) + 1
            folders.append(os.fsdecode(name))
        at += 1
        files = [""]
        while data[at] and len(files) < _FILES:
            name = text_at(data, at)
            folder, at = unsigned(data, at + len(name) + 1)
            _, at = unsigned(data, at)
            _, at = unsigned(data, at)
            files.append(_joined(folders[folder] if folder < len(folders) else "", name))
        return files

    def _files5(self, data: bytes, at: int) -> "List[str]":
        rows, at = self._table(data, at)
        folders = [os.fsdecode(path) for path, _ in rows]
        top = folders[0] if folders else ""
        folders = [top, *(os.path.join(top, folder) for folder in folders[1:])]
        rows, at = self._table(data, at)
        return [
            _joined(folders[folder] if folder < len(folders) else top, path)
            for path, folder in rows
        ]

    def _table(self, data: bytes, at: int) -> "Tuple[List[Tuple[bytes, int]], int]":
        count = data[at]
        at += 1
        columns = []
        for _ in range(count):
            kind, at = unsigned(data, at)
            form, at = unsigned(data, at)
            columns.append((kind, form))
        total, at = unsigned(data, at)
        if total > _FILES or not columns:
            raise Damaged("files")
        rows = []
        for _ in range(total):
            path, folder = b"", 0
            for kind, form in columns:
                value, text, at = self._value(data, at, form)
                if kind == _PATH:
                    path = text
                elif kind == _DIRECTORY:
                    folder = value
            rows.append((path, folder))
        return rows, at

    def _value(self, data: bytes, at: int, form: int) -> "Tuple[int, bytes, int]":
        if form in (_LINE_STRP, _STRP):
            (place,) = struct.unpack_from("<I", data, at)
            texts = self._source.line_strings if form == _LINE_STRP else self._source.strings
            return 0, text_at(texts, place), at + 4
        if form == _STRING:
            text = text_at(data, at)
            return 0, text, at + len(text) + 1
        if form == _UDATA:
            value, at = unsigned(data, at)
            return value, b"", at
        if form == _BLOCK_FORM:
            size, at = unsigned(data, at)
            return 0, b"", at + size
        if form not in _FIXED or at + _FIXED[form] > len(data):
            raise Damaged("form")
        return int.from_bytes(data[at : at + _FIXED[form]], "little"), b"", at + _FIXED[form]


def _joined(folder: str, name: bytes) -> str:
    return os.path.normpath(os.path.join(folder, os.fsdecode(name))) if name else ""


def _sequences(data: bytes, unit: _Unit) -> "List[List[Row]]":
    """Run a line program: addresses with files by the unit's numbers.

    Each list is closed by a row without a file.
    """
    found: List[List[Row]] = []
    rows: List[Row] = []
    add = rows.append
    minimum, base, span, first = unit.minimum, unit.base, unit.range, unit.opcodes
    constant = (255 - first) // span * minimum
    at, size = unit.start, len(data)
    address, file, line = 0, 1, 1
    while at < size:
        code = data[at]
        at += 1
        if code >= first:
            code -= first
            address += code // span * minimum
            line += base + code % span
            add((address, file, line))
        elif code == 0:
            length, at = unsigned(data, at)
            if not length:
                continue
            kind = data[at]
            if kind == 1:
                add((address, 0, 0))
                found.append(rows)
                rows = []
                add = rows.append
                address, file, line = 0, 1, 1
            elif kind == 2:
                address = int.from_bytes(data[at + 1 : at + min(length, 9)], "little")
            at += length
        elif code == 1:
            add((address, file, line))
        elif code == 2:
            step, at = unsigned(data, at)
            address += step * minimum
        elif code == 3:
            step, at = signed(data, at)
            line += step
        elif code == 4:
            file, at = unsigned(data, at)
        elif code == 8:
            address += constant
        elif code == 9:
            address += int.from_bytes(data[at : at + 2], "little")
            at += 2
        elif code != 6:  # not the mark of a statement: column, prologue, whatever else
            for _ in range(unit.lengths[code - 1] if code != 5 else 1):
                _, at = unsigned(data, at)
    return found


def _merged(rows: "List[Row]", numbers: "List[int]", start: int, offset: int) -> "List[Row]":
    """Turn a sequence into places in the file, without rows that tell nothing new."""
    found: List[Row] = []
    last = (0, 0)
    for address, file, line in rows:
        known = numbers[file] if 0 < line < 1 << 31 and file < len(numbers) else 0
        told = (known, line if known else 0)
        place = address - start + offset
        if found and place < found[-1][0]:
            continue
        if found and found[-1][0] == place:
            found.pop()  # of several rows at one place the last one counts
            last = found[-1][1:] if found else (0, 0)
        if not found or told != last:
            found.append((place, *told))
            last = told
    return found


def rows_of(file: UserFile, source: LineSource) -> "Tuple[List[Row], List[str]]":
    """List rows by place in the file, and the files that their numbers, from 1, mean."""
    names: Dict[str, int] = {}
    parts: List[List[Row]] = []
    data, at = source.programs, 0
    while at + 4 <= len(data):
        (length,) = struct.unpack_from("<I", data, at)
        end = at + 4 + length
        if length >= 0xFFFFFFF0 or end > len(data):
            break
        part = data[at:end]
        at = end
        try:
            unit = _Unit(source, part)
            sequences = _sequences(part, unit)
        except (Damaged, IndexError, struct.error):
            continue
        numbers = [names.setdefault(name, len(names) + 1) if name else 0 for name in unit.files]
        for rows in sequences:
            # What the linker left out lies nowhere.
            place = file.code_offset(rows[0][0])
            if place is not None and file.code_offset(max(rows[-1][0] - 1, 0)) is not None:
                parts.append(_merged(rows, numbers, rows[0][0], place))
    parts.sort(key=lambda rows: rows[0][0])
    found: List[Row] = []
    for rows in parts:
        while found and found[-1][0] == rows[0][0] and not found[-1][1]:
            found.pop()
        if not found or rows[0][0] > found[-1][0]:
            found += rows
    return found, list(names)


def packed(rows: "List[Row]", names: "List[str]", base: int) -> bytes:
    """Pack the rows that lie within 4 GiB from the base on; b"" when there are none."""
    rows = [row for row in rows if 0 <= row[0] - base < 1 << 32]
    if not rows:
        return b""
    rows = [(base, 0, 0), *rows] if rows[0][0] > base else rows
    return line_table.packed(rows, [printable.name(os.fsencode(name)) for name in names], base)
