"""The code of one debug file: its index, its entries and the tables of its lines."""

from __future__ import annotations

from bisect import bisect_right
from pathlib import Path

from stapy.cache import file_identity
from stapy.debuginfo.dwarf import constants as k
from stapy.debuginfo.dwarf.index.reader import VERSION as INDEX_VERSION
from stapy.debuginfo.dwarf.index.reader import DwarfIndex, FunctionRow, Site
from stapy.debuginfo.dwarf.query.answers import Answer, CodePlace
from stapy.debuginfo.dwarf.read.lines import LineProgram, LineReader
from stapy.debuginfo.dwarf.read.lines import LineRow as Line
from stapy.debuginfo.dwarf.read.relocate import layout
from stapy.debuginfo.dwarf.read.sections import Sections
from stapy.debuginfo.dwarf.read.units import Info
from stapy.debuginfo.elf import ET_REL, ElfFile
from stapy.debuginfo.errors import DebuginfoError


class DwarfCode:
    """Entries and lines of one kernel or module, as places in it."""

    def __init__(
        self,
        path: Path,
        index: DwarfIndex,
        elf: ElfFile,
        module: str | None = None,
        code: Path | None = None,
    ) -> None:
        """Take a file with its index; ``code`` is a loaded module's file, if known.

        ``needs_symbols`` can be cleared when addresses are good for themselves, as those of
        programs are: then a place needs no symbol.
        """
        self.path = path
        self.index = index
        self.module = module
        self.needs_symbols = True
        self._code = code
        self._elf = elf
        self._info: Info | None = None
        self._readers: dict[int, LineReader] = {}
        self._programs: dict[int, tuple[LineProgram, list[Line]]] = {}
        self._first_lines: dict[str, list[int]] = {}
        self._folders: dict[int, str] = {}  # by the numbers of units

    @property
    def build_id(self) -> str:
        """Build-id in hexadecimal, "" without one."""
        return self._elf.build_id()

    @property
    def identity(self) -> list[object]:
        """What tells this file, and the module's that goes with it, from all others."""
        own = [self.build_id, len(self._elf.data)] if self.build_id else file_identity(self.path)
        return [INDEX_VERSION, *own, file_identity(self._code) if self._code is not None else ""]

    @property
    def info(self) -> Info:
        """``.debug_info``; its units are listed on first use."""
        if self._info is None:
            self._info = Info(Sections(self._elf, in_parts=self.index.in_parts))
        return self._info

    @property
    def code_start(self) -> int:
        """What users' addresses count from: 0, and in a module the start of its ``.text``."""
        section = self._elf.section(".text") if self._elf.type == ET_REL else None
        return layout(self._elf)[self._elf.number(section)] if section is not None else 0

    def following_line(self, row: FunctionRow) -> int:
        """Find the line at which the next function of a function's file begins.

        Returns 2^32 behind the last one.
        """
        known = self._first_lines.get(row.file)
        if known is None:
            others = self.index.functions("*", row.file)
            known = sorted({other.line for other in others if other.file == row.file})
            self._first_lines[row.file] = known
        at = bisect_right(known, row.line)
        return known[at] if at < len(known) else 1 << 32

    def folder_of(self, entry: int) -> str:
        """Look up the folder that the unit of an entry was compiled in."""
        listed = self.index.folder(entry)
        if listed is not None:
            return listed
        number = self.info.number_of(entry)
        known = self._folders.get(number)
        if known is None:
            root = self.info.unit(number).root
            known = self._folders[number] = str(root.values.get(k.AT_COMP_DIR, ""))
        return known

    def place(self, row: FunctionRow, site: Site, address: int, line: int) -> CodePlace | None:
        """Describe an address in one site of a function; None when no symbol is below it."""
        anchor = self.index.anchor(address)
        if anchor is None:
            if self.needs_symbols:
                return None
            anchor = "", 0
        symbol, offset = anchor
        exact = address == site.pc and not site.inlined
        name = row.qualified if row.scope else row.name
        return CodePlace(name, row.file, line, symbol, offset, address, site.entry,
                     site.inlined, exact, self.module)  # fmt: skip

    def add_place(
        self, answer: Answer, row: FunctionRow, site: Site, address: int, line: int
    ) -> None:
        """Add an address of a site to an answer, when it has a place."""
        place = self.place(row, site, address, line)
        if place is not None:
            answer.places.append(place)

    def line_table(self, unit: int) -> tuple[list[str], list[Line]]:
        """Read a unit's line table: its files and its rows."""
        program, rows = self._program(unit)
        return program.files, rows

    def _program(self, unit: int) -> tuple[LineProgram, list[Line]]:
        known = self._programs.get(unit)
        if known is None:
            root = self.info.unit(unit).root
            if k.AT_STMT_LIST not in root.values:
                raise DebuginfoError(f"{self.path}: unit {unit} has no line table")
            home = root.unit.info
            reader = self._readers.get(home.base)
            if reader is None:
                reader = self._readers[home.base] = LineReader(home.sections)
            folder = root.values.get(k.AT_COMP_DIR, "")
            program = reader.program(root.number(k.AT_STMT_LIST), str(folder), root.name())
            known = self._programs[unit] = program, reader.rows(program)
        return known
