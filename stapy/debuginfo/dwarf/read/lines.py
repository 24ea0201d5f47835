"""Line programs, versions 2 to 5: the files of a unit and the line of each address."""

from __future__ import annotations

import os.path
import struct
from operator import itemgetter
from typing import NamedTuple

from stapy.debuginfo.dwarf import constants as k
from stapy.debuginfo.dwarf.numbers import number, sleb, text, uleb
from stapy.debuginfo.dwarf.read.sections import Sections
from stapy.debuginfo.elf import Buffer
from stapy.debuginfo.errors import DebuginfoError
from stapy.record import Record

_PATH, _DIRECTORY = 1, 2
# Two columns: the path as an offset of .debug_line_str, the folder as a number.
_USUAL = bytes((2, _PATH, k.LINE_STRP, _DIRECTORY, k.UDATA))
_MAX_LINE = 1 << 31
_MAX_ADDRESS = (1 << 64) - 1
_LINE = itemgetter(2)
_u32 = struct.Struct("<I").unpack_from


class LineRow(NamedTuple):
    """One row of the table; ``file`` is an index of the program's files."""

    address: int
    file: int
    line: int
    is_statement: bool
    ends_sequence: bool


class LineProgram(Record):
    """Header of one program; ``files`` are normal paths, by the numbers that entries use."""

    files: list[str]
    start: int
    end: int
    minimum: int
    default_statement: bool
    line_base: int
    line_range: int
    opcode_base: int
    lengths: bytes


class LineReader:
    """All line programs of one file; paths that were met before are not joined again."""

    def __init__(self, sections: Sections) -> None:
        self._sections = sections
        self._data = sections.section("line")
        self._strings: dict[tuple[str, int], str] = {}
        self._paths: dict[tuple[str, str], str] = {}
        self._known: dict[tuple[int, str, str], str] = {}

    def program(self, offset: int, comp_dir: str, unit_name: str) -> LineProgram:
        """Read the header of the program at an offset, or raise `DebuginfoError`."""
        try:
            return self._header(offset, comp_dir, unit_name)
        except (IndexError, struct.error):
            raise self._damaged(offset) from None

    def _damaged(self, offset: int) -> DebuginfoError:
        return DebuginfoError(f"{self._sections.elf.name}: damaged line table at {offset:#x}")

    def _header(self, offset: int, comp_dir: str, unit_name: str) -> LineProgram:
        length, version = struct.unpack_from("<IH", self._data, offset)
        end = offset + 4 + length
        if length >= 0xFFFFFFF0 or end > len(self._data) or not 2 <= version <= 5:
            raise self._damaged(offset)
        data = bytes(self._data[offset:end])
        at = 6 + (2 if version >= 5 else 0)
        start = at + 4 + number(data, at, 4)
        at += 4
        minimum = data[at]
        at += 2 if version >= 4 else 1
        statement, base, span, opcodes = struct.unpack_from("<BbBB", data, at)
        at += 4
        lengths = data[at : at + opcodes - 1]
        at += opcodes - 1
        if version >= 5:
            files = self._files5(data, at, comp_dir)
        else:
            files = self._files4(data, at, comp_dir, unit_name)
        return LineProgram(
            files, offset + start, end, minimum, bool(statement), base, max(span, 1), opcodes,
            lengths,
        )  # fmt: skip

    def _join(self, folder: str, name: str) -> str:
        key = folder, name
        path = self._paths.get(key)
        if path is None:
            path = self._paths[key] = os.path.normpath(os.path.join(folder, name))  # noqa: PTH118
        return path

    def _shown(self, comp_dir: str, folder: str, name: str) -> str:
        """Join a path as scripts name it: relative below the folder of the compilation."""
        path = self._join(folder, name)
        top = comp_dir.rstrip("/") + "/"
        return path[len(top) :] if comp_dir and path.startswith(top) else path

    def _files4(self, data: bytes, at: int, comp_dir: str, unit_name: str) -> list[str]:
        folders = [comp_dir]
        while data[at]:
            name = text(data, at)
            at += len(name) + 1
            folders.append(self._join(comp_dir, name.decode("utf-8", "replace")))
        at += 1
        files = [self._shown(comp_dir, comp_dir, unit_name)]
        while data[at]:
            name = text(data, at)
            at += len(name) + 1
            folder, at = uleb(data, at)
            _, at = uleb(data, at)
            _, at = uleb(data, at)
            base = folders[folder] if folder < len(folders) else comp_dir
            files.append(self._shown(comp_dir, base, name.decode("utf-8", "replace")))
        return files

    def _files5(self, data: bytes, at: int, comp_dir: str) -> list[str]:
        rows, at = self._table5(data, at)
        folders: list[str] = []
        for row in rows:
            path = str(row.get(_PATH, ""))
            # The first one is the folder of the compilation itself.
            folders.append(self._join(folders[0], path) if folders else path or comp_dir)
        top = folders[0] if folders else comp_dir
        if data[at : at + len(_USUAL)] == _USUAL:
            return self._usual_files(data, at + len(_USUAL), folders, top)
        rows, at = self._table5(data, at)
        files: list[str] = []
        for row in rows:
            folder = row.get(_DIRECTORY, 0)
            known = isinstance(folder, int) and folder < len(folders)
            base = folders[int(folder)] if known else comp_dir
            files.append(self._shown(top, base, str(row.get(_PATH, ""))))
        return files

    def _usual_files(self, data: bytes, at: int, folders: list[str], top: str) -> list[str]:
        """Read the files as GCC writes them.

        A kernel has 300 000 rows, nearly all seen before.
        """
        known, files = self._known, []
        total, at = uleb(data, at)
        for _ in range(total):
            (offset,) = _u32(data, at)
            folder = data[at + 4]
            at += 5
            if folder > 0x7F:
                folder, at = uleb(data, at - 1)
            base = folders[folder] if folder < len(folders) else top
            key = offset, base, top
            path = known.get(key)
            if path is None:
                name = self._sections.string("line_str", offset)
                path = known[key] = self._shown(top, base, name)
            files.append(path)
        return files

    def _table5(self, data: bytes, at: int) -> tuple[list[dict[int, int | str]], int]:
        count = data[at]
        at += 1
        formats: list[tuple[int, int]] = []
        for _ in range(count):
            kind, at = uleb(data, at)
            form, at = uleb(data, at)
            formats.append((kind, form))
        total, at = uleb(data, at)
        if total > len(data) - at:  # each row has a byte, unless it has no columns
            raise IndexError(total)
        rows: list[dict[int, int | str]] = []
        for _ in range(total):
            row: dict[int, int | str] = {}
            for kind, form in formats:
                row[kind], at = self._value(data, at, form)
            rows.append(row)
        return rows, at

    def _value(self, data: bytes, at: int, form: int) -> tuple[int | str, int]:
        if form in (k.LINE_STRP, k.STRP):
            section = "line_str" if form == k.LINE_STRP else "str"
            key = section, number(data, at, 4)
            found = self._strings.get(key)
            if found is None:
                found = self._strings[key] = self._sections.string(*key)
            return found, at + 4
        if form == k.STRING:
            raw = text(data, at)
            return raw.decode("utf-8", "replace"), at + len(raw) + 1
        if form == k.UDATA:
            return uleb(data, at)
        if form == k.BLOCK:
            size, at = uleb(data, at)
            return 0, at + size
        size = k.FIXED.get(form, 0)
        if not size:
            raise DebuginfoError(f"unknown form {form:#x} in a line table")
        return number(data, at, size), at + size

    def rows(self, program: LineProgram) -> list[LineRow]:
        """Run a program: rows of one sequence after the other, each closed by an ``end`` row.

        Raises `DebuginfoError` for a damaged program.
        """
        try:
            rows = _run(bytes(self._data[program.start : program.end]), program)
        except (IndexError, struct.error):
            raise self._damaged(program.start) from None
        if rows and not 0 <= min(map(_LINE, rows)) <= max(map(_LINE, rows)) <= _MAX_LINE:
            raise self._damaged(program.start)
        return rows


def _run(data: Buffer, program: LineProgram) -> list[LineRow]:
    rows: list[LineRow] = []
    add = rows.append
    minimum, base, span = program.minimum, program.line_base, program.line_range
    first_special = program.opcode_base
    constant_step = (255 - first_special) // span * minimum
    at, size = 0, len(data)
    address, file, line, statement = 0, 1, 1, program.default_statement
    while at < size:
        code = data[at]
        at += 1
        if code >= first_special:
            code -= first_special
            address += code // span * minimum
            line += base + code % span
            add(LineRow(address, file, line, statement, False))
        elif code == 0:
            length, at = uleb(data, at)
            if not length:
                continue
            kind = data[at]
            if kind == 1:
                if address > _MAX_ADDRESS:  # it only grows in a sequence
                    raise IndexError(address)
                add(LineRow(address, file, line, statement, True))
                address, file, line, statement = 0, 1, 1, program.default_statement
            elif kind == 2:
                if length > 9:
                    raise IndexError(length)
                address = number(data, at + 1, length - 1)
            at += length
        elif code == 1:
            add(LineRow(address, file, line, statement, False))
        elif code == 2:
            step, at = uleb(data, at)
            address += step * minimum
        elif code == 3:
            step, at = sleb(data, at)
            line += step
        elif code == 4:
            file, at = uleb(data, at)
        elif code == 6:  # negate_stmt
            statement = not statement
        elif code == 8:
            address += constant_step
        elif code == 9:
            address += number(data, at, 2)
            at += 2
        else:  # column, basic block, prologue end, epilogue begin, isa, unknown
            for _ in range(program.lengths[code - 1] if code != 5 else 1):
                _, at = uleb(data, at)
    if address > _MAX_ADDRESS:
        raise IndexError(address)
    return rows
