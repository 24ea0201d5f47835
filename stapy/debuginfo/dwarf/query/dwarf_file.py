"""The DWARF rung of a kernel or module: functions by file and line, relative to symbols."""

from __future__ import annotations

from bisect import bisect_right
from pathlib import Path

from stapy.cache import file_identity
from stapy.debuginfo import ctypes as c
from stapy.debuginfo.basic_types import basic_name
from stapy.debuginfo.dwarf import constants as k
from stapy.debuginfo.dwarf.index.reader import VERSION as INDEX_VERSION
from stapy.debuginfo.dwarf.index.reader import FunctionRow, Index, Site, file_matcher
from stapy.debuginfo.dwarf.query.spec import Spec
from stapy.debuginfo.dwarf.read.calls import Argument, Call, calls
from stapy.debuginfo.dwarf.read.expressions import Op, decode
from stapy.debuginfo.dwarf.read.frames import Frames, Row
from stapy.debuginfo.dwarf.read.lines import LineProgram, LineReader
from stapy.debuginfo.dwarf.read.lines import Row as Line
from stapy.debuginfo.dwarf.read.ranges import (
    contains,
    entry_address,
    function_around,
    inlined_ranges,
    ranges_of,
)
from stapy.debuginfo.dwarf.read.relocate import layout
from stapy.debuginfo.dwarf.read.sections import Sections
from stapy.debuginfo.dwarf.read.symbol_table import SymbolTable
from stapy.debuginfo.dwarf.read.types import Types
from stapy.debuginfo.dwarf.read.units import Entry, Info
from stapy.debuginfo.dwarf.read.variables import (
    Variable,
    frame_base,
    global_address,
    in_scope,
    not_passed,
    variable_at,
)
from stapy.debuginfo.elf import ET_REL, ElfFile
from stapy.debuginfo.errors import DebuginfoError
from stapy.debuginfo.symbols.clones import is_copy
from stapy.record import Record, new

_AT_ENTRY = Row((7, 8), {})  # the return address lies where the stack pointer shows
_LETTERS = {"struct": "s", "class": "s", "union": "u", "enum": "e"}


class Place(Record):
    """One address that can be probed.

    ``symbol`` and ``offset`` say where it is in a kernel that was moved, and in
    a ``module`` (None: the kernel itself) wherever that was loaded; ``address``
    is that of the debug file, good for questions to its `DwarfFile` only.
    ``entry`` is the function or inlined instance that it lies in, as an offset
    of ``.debug_info``.  ``exact`` is True for the first instruction of a
    function out of line.
    """

    function: str
    file: str
    line: int
    symbol: str
    offset: int
    address: int
    entry: int
    inlined: bool
    exact: bool
    module: str | None = None


class Answer(Record):
    """Places for a pattern; ``near_lines`` when the function has no code at the line asked for."""

    places: list[Place] = new(list)
    near_lines: list[int] = new(list)
    functions: int = 0


class Passing(Record):
    """What a call that returns to ``back`` passes, in terms of the frame at ``place``."""

    back: int
    place: Place
    ops: list[Op]


class DwarfFile:
    """Debug information of one kernel or module, its index and, on demand, its entries."""

    def __init__(
        self,
        path: Path,
        index: Index,
        elf: ElfFile,
        module: str | None = None,
        code: Path | None = None,
    ) -> None:
        """``code`` is the file of a module that is loaded, if it is known."""
        self.path = path
        self.index = index
        self.module = module
        self._code = code
        self._elf = elf
        self._info: Info | None = None
        self._readers: dict[int, LineReader] = {}
        self._frames: Frames | None = None
        self._types = Types()
        self._symbols = SymbolTable(elf)
        self._programs: dict[int, tuple[LineProgram, list[Line]]] = {}
        self._refused: dict[int, str] | None = None
        self._first_lines: dict[str, list[int]] = {}
        self._around: dict[int, Entry] = {}
        self._passing: dict[int, dict[int, list[Passing]]] = {}

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

    # --- places ----------------------------------------------------------

    def find(self, spec: Spec, *, nearest: bool = False, entries: bool = False) -> Answer:
        """All places that a pattern means.

        With ``entries`` a line names the functions that it is in.
        """
        if spec.lines is not None and not entries:
            from stapy.debuginfo.dwarf.query import statements

            return statements.find(self, spec, nearest)
        answer = Answer()
        for row in self.index.functions(spec.function, spec.file):
            answer.functions += 1
            for site in row.sites:
                if spec.lines is None or self._covers(row, site, spec):
                    self.add_place(answer, row, site, site.pc, row.line)
        return answer

    def place_of(self, symbol: str) -> Place | None:
        """The first instruction of the function that a symbol stands for.

        ``f.isra.0`` and other names that only the compiler gave, and aliases, too;
        None when several symbols have this name.
        """
        answer = Answer()
        for row in self.index.functions(symbol.partition(".")[0]):
            for site in row.sites:
                if not site.inlined and self.index.anchor(site.pc) == (symbol, 0):
                    self.add_place(answer, row, site, site.pc, row.line)
        if not answer.places:
            address = self._symbols.address(symbol)
            found = self.index.function_at(address) if address is not None else None
            for site in found.sites if found is not None else ():
                if found is not None and site.pc == address and not site.inlined:
                    self.add_place(answer, found, site, site.pc, found.line)
        return answer.places[0] if len(answer.places) == 1 else None

    def prototype(self, place: Place) -> c.Function:
        """Parameters and result of a place's function as its source has them."""
        return self._types.function(self.info.entry(place.entry))

    def _covers(self, row: FunctionRow, site: Site, spec: Spec) -> bool:
        """True when one of the lines asked for is between a function's first and last line."""
        base = row.line if spec.relative else 0
        wanted = [(low + base, high + base) for low, high in spec.lines or ()]
        if any(low <= row.line <= high for low, high in wanted):
            return True
        if not any(low > row.line for low, _ in wanted):
            return False
        # Rows of what the compiler moved in from around an instance may have any line.
        following = self.following_line(row)
        last = max((n for n in self._lines_of(row, site) if n < following), default=row.line)
        return any(low <= last and high >= row.line for low, high in wanted)

    def following_line(self, row: FunctionRow) -> int:
        """The line at which the next function of a function's file begins."""
        known = self._first_lines.get(row.file)
        if known is None:
            others = self.index.functions("*", row.file)
            known = sorted({other.line for other in others if other.file == row.file})
            self._first_lines[row.file] = known
        at = bisect_right(known, row.line)
        return known[at] if at < len(known) else 1 << 32

    def place(self, row: FunctionRow, site: Site, address: int, line: int) -> Place | None:
        """An address in one site of a function; None when no symbol is below it."""
        anchor = self.index.anchor(address)
        if anchor is None:
            return None
        symbol, offset = anchor
        exact = address == site.pc and not site.inlined
        return Place(row.qualified, row.file, line, symbol, offset, address, site.entry,
                     site.inlined, exact, self.module)  # fmt: skip

    def add_place(
        self, answer: Answer, row: FunctionRow, site: Site, address: int, line: int
    ) -> None:
        """Add an address of a site to an answer, when it has a place."""
        place = self.place(row, site, address, line)
        if place is not None:
            answer.places.append(place)

    def _lines_of(self, row: FunctionRow, site: Site) -> dict[int, int]:
        """The lines of a site's own code with their lowest addresses."""
        entry = self.info.entry(site.entry)
        ranges = ranges_of(entry) or [(site.pc, site.pc + 1)]
        inside = list(inlined_ranges(entry))
        program, rows = self._program(self.info.number_of(site.entry))
        own = {n for n, path in enumerate(program.files) if path == row.file}
        found: dict[int, int] = {}
        for item in rows:
            if (
                item.statement
                and not item.end
                and item.line >= row.line
                and item.file in own
                and contains(ranges, item.address)
                and not contains(inside, item.address)
                and item.address < found.get(item.line, 1 << 64)
            ):
                found[item.line] = item.address
        return found

    def line_table(self, unit: int) -> tuple[list[str], list[Line]]:
        """Files and rows of a unit's line table."""
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

    def refused(self, address: int) -> str:
        """What the kernel keeps probes away from at an address, "" when it is nothing."""
        return self.refusals().get(address, "")

    def refusals(self) -> dict[int, str]:
        """The same for all addresses."""
        if self._refused is None:
            from stapy.debuginfo.dwarf.query import refused

            if self._code is None:
                self._refused = refused.refused(self._elf, self._symbols.address)
            else:
                module = ElfFile.open(self._code)
                self._refused = refused.refused_in_module(module, self._elf)
        return self._refused

    # --- variables -------------------------------------------------------

    def variables(self, place: Place) -> list[Variable]:
        """Parameters and locals at a place."""
        found = in_scope(self.info.entry(place.entry), place.address, self._types)
        if not place.exact or not is_copy(place.symbol):
            return found
        return [not_passed(row) if row.parameter and row.ops is None else row for row in found]

    def frame(self, place: Place) -> Row | None:
        """Where the canonical frame address and the caller's registers are at a place."""
        if place.exact:
            return _AT_ENTRY
        if self._frames is None:
            self._frames = Frames(self.info.sections)
        return self._frames.row(place.address)

    def operations(self, expression: bytes, place: Place) -> list[Op]:
        """What an expression of a frame's description does."""
        return decode(expression, self.info.entry(place.entry).unit)

    def calls_with(self, parameter: int, place: Place) -> list[Passing]:
        """The calls of a place's unit that tell what they would pass for a parameter."""
        unit = self.info.number_of(place.entry)
        known = self._passing.get(unit)
        if known is None:
            known = self._passing[unit] = {}
            for function in self.info.unit(unit).root.children():
                if function.tag != k.SUBPROGRAM or not entry_address(function):
                    continue
                for call in calls(function):
                    for argument in call.arguments:
                        if call.back and argument.parameter and argument.value:
                            passing = self._passing_of(call, argument)
                            known.setdefault(argument.parameter, []).append(passing)
        return known.get(parameter, [])

    def _passing_of(self, call: Call, argument: Argument) -> Passing:
        # What holds for the call is told of the byte before the one that it returns to.
        function, address = call.function, call.back - 1
        place = Place(function.name(), "", 0, "", 0, address, function.offset, False, False,
                      self.module)  # fmt: skip
        return Passing(call.back, place, argument.value)

    def _subprogram(self, place: Place) -> Entry:
        """The function out of line that a place lies in."""
        entry = self.info.entry(place.entry)
        if entry.tag == k.SUBPROGRAM:
            return entry
        known = self._around.get(entry.offset)
        if known is None:
            near = self.index.begun_before(place.address)
            known = self.info.entry(near) if near is not None else entry
            if not contains(ranges_of(known), place.address):  # it lies in a cold part
                known = function_around(entry.unit.root, place.address) or entry
            self._around[entry.offset] = known
        return known

    def frame_base(self, place: Place) -> list[Op]:
        """What offsets of the frame count from; empty when that is not known."""
        return frame_base(self._subprogram(place), place.address) or []

    def entrance(self, place: Place) -> tuple[str, int, int] | None:
        """``(symbol, offset, address)`` of the entry of the function out of line around a place."""
        address = entry_address(self._subprogram(place))
        anchor = self.index.anchor(address) if address else None
        return None if anchor is None or not address else (*anchor, address)

    def pointed_to(self, offset: int, place: Place) -> Variable:
        """What lies at an entry of its own that a location refers to, at a place."""
        return variable_at(self.info.entry(offset), place.address, self._types)

    def lines_with(self, place: Place, variable: Variable) -> list[tuple[int, int]]:
        """Lines of a place's function at whose first instruction a variable is somewhere.

        As runs ``(first, last)`` of lines between which no line is without it.
        """
        from stapy.debuginfo.dwarf.query.statements import line_map, scope_of

        declared = self.info.entry(place.entry).inherited(k.AT_DECL_LINE)
        base = declared if isinstance(declared, int) else 0
        row = FunctionRow(place.function, place.file, base, place.entry, [])
        site = Site(place.address, place.entry, place.inlined)
        unit = self.info.number_of(place.entry)
        table = line_map(*self.line_table(unit), place.file)
        runs: list[tuple[int, int]] = []
        first: int | None = None
        for line, address in sorted(scope_of(self, row, site, table).lowest.items()):
            if line < base or not contains(variable.ranges, address):
                first = None
            elif first is None:
                first = line
                runs.append((line, line))
            else:
                runs[-1] = first, line
        return runs

    def global_variable(self, name: str, file: str = "") -> tuple[c.CType, int] | None:
        """``(type, address in the file)`` of a global or static variable.

        `Index.anchor` tells such an address of a module as symbol plus offset.
        """
        test = file_matcher(file) if file else None
        found: tuple[c.CType, int] | None = None
        for offset in self.index.things("v", name):
            entry = self.info.entry(offset)
            address = global_address(entry)
            if address is None:
                continue
            if test is not None and not any(map(test, self._homes(entry))):
                continue
            found = self._types.of(entry), address
            if entry.inherited(k.AT_EXTERNAL) or test is not None:
                break  # of several statics of one name the last will do
        if found is None and test is None:
            # A second name that the linker gave, as jiffies is one of jiffies_64.
            for other in self._symbols.aliases(name):
                if self.index.things("v", other):
                    return self.global_variable(other)
        return found

    def per_cpu_offset(self, address: int) -> int | None:
        """Where a variable of a module lies in its per-CPU areas; None for an ordinary one."""
        section = self._elf.section(".data..percpu")
        if section is None or self._elf.type != ET_REL:
            return None
        start = layout(self._elf)[self._elf.number(section)]
        return address - start if start <= address < start + section.size else None

    def unit_variable(self, place: int, name: str) -> tuple[c.CType, int] | None:
        """The same for what the unit of an entry defines or declares."""
        unit = self.info.number_of(place)
        for offset in self.index.things("v", name):
            if self.info.number_of(offset) == unit:
                entry = self.info.entry(offset)
                address = global_address(entry)
                return None if address is None else (self._types.of(entry), address)
        root = self.info.unit(unit).root
        for entry in root.children():
            if entry.tag == k.VARIABLE and entry.name() == name:
                found = self.global_variable(name)
                if found is None:
                    return None
                # An alias may be of another type, and a declaration without a size.
                own = self._types.of(entry)
                return (own if c.size_of(own) else found[0]), found[1]
        return None

    def _homes(self, entry: Entry) -> list[str]:
        """The file that declares a variable, and the one that its unit was made of."""
        holder = entry.holder(k.AT_DECL_FILE)
        declared: list[str] = []
        if holder is not None:
            program, _ = self._program(self.info.number_of(holder.offset))
            number = holder.number(k.AT_DECL_FILE)
            declared = program.files[number : number + 1]
        return [*declared, entry.unit.root.name()]

    def enumerator(self, name: str) -> int | None:
        """The value of an enumeration constant."""
        from stapy.debuginfo.dwarf.read.enumerators import enumerator

        return enumerator(self.info, name)

    def type(self, name: str) -> c.CType | None:
        """``struct x``, ``class x``, ``union x``, ``enum x`` or ``x``, as `Btf.type` has it."""
        name = basic_name(name) or name
        # Names of templates have blanks in them.
        word, _, tag = name.strip().partition(" ")
        letters = _LETTERS.get(word, "")
        if not letters:
            tag, letters = name.strip(), "tbsue"
        for letter in letters:
            for offset in self.index.things(letter, tag):
                return self._types.type(self.info.entry(offset))
        return None
