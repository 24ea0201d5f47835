"""DWARF of a kernel or module: functions by file and line, relative to symbols."""

from __future__ import annotations

from pathlib import Path

from stapy.debuginfo import ctypes as c
from stapy.debuginfo.basic_types import basic_name
from stapy.debuginfo.dwarf import constants as k
from stapy.debuginfo.dwarf.index.reader import DwarfIndex, FunctionRow, Site, file_matcher
from stapy.debuginfo.dwarf.query import refused, statements
from stapy.debuginfo.dwarf.query.answers import Answer, CodePlace, Passing
from stapy.debuginfo.dwarf.query.code import DwarfCode
from stapy.debuginfo.dwarf.query.spec import Spec
from stapy.debuginfo.dwarf.read.calls import Argument, CallSite, calls
from stapy.debuginfo.dwarf.read.enumerators import enumerator, seen_enumerator
from stapy.debuginfo.dwarf.read.expressions import Op, decode
from stapy.debuginfo.dwarf.read.frames import Frames, UnwindRow
from stapy.debuginfo.dwarf.read.ranges import (
    contains,
    entry_address,
    function_around,
    inlined_ranges,
    ranges_of,
)
from stapy.debuginfo.dwarf.read.relocate import layout
from stapy.debuginfo.dwarf.read.symbol_table import ElfSymbols
from stapy.debuginfo.dwarf.read.types import Types
from stapy.debuginfo.dwarf.read.units import Die
from stapy.debuginfo.dwarf.read.variables import (
    DwarfVariable,
    frame_base,
    global_address,
    in_scope,
    not_passed,
    thread_offset,
    variable_at,
)
from stapy.debuginfo.elf import ET_REL, ElfFile
from stapy.debuginfo.symbols.clones import is_clone

_AT_ENTRY = UnwindRow((7, 8), {})  # the return address lies where the stack pointer shows
_LETTERS = {"struct": "s", "class": "s", "union": "u", "enum": "e"}


class DwarfFile(DwarfCode):
    """Debug information of one kernel or module, its index and, on demand, its entries."""

    def __init__(
        self,
        path: Path,
        index: DwarfIndex,
        elf: ElfFile,
        module: str | None = None,
        code: Path | None = None,
    ) -> None:
        super().__init__(path, index, elf, module, code)
        self.program: ElfFile | None = None  # the file of a program, which is unwound by that
        self._frames: Frames | None = None
        self._types = Types()
        self._symbols = ElfSymbols(elf)
        self._refused: dict[int, str] | None = None
        self._around: dict[int, Die] = {}
        self._passing: dict[int, dict[int, list[Passing]]] = {}

    # --- places ----------------------------------------------------------

    def find(
        self, spec: Spec, *, allow_nearest: bool = False, lines_as_functions: bool = False
    ) -> Answer:
        """Find all places that a pattern means.

        With ``lines_as_functions`` a line names the functions that it is in.
        """
        if spec.lines is not None and not lines_as_functions:
            return statements.find(self, spec, allow_nearest)
        answer = Answer()
        for row in self.index.functions(spec.function, spec.file):
            answer.functions += 1
            for site in row.sites:
                if spec.lines is not None and not self._covers(row, site, spec):
                    continue
                place = self.place(row, site, site.pc, row.line)
                if place is not None:
                    answer.places.append(place)
        return answer

    def place_of(self, symbol: str) -> CodePlace | None:
        """Find the first instruction of the function that a symbol stands for.

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

    def prototype(self, place: CodePlace) -> c.FunctionType:
        """Read parameters and result of a place's function as its source has them."""
        return self._types.function(self.info.entry(place.entry))

    def _covers(self, row: FunctionRow, site: Site, spec: Spec) -> bool:
        """Tell whether a line asked for lies between a function's first and last line."""
        base = row.line if spec.is_relative else 0
        wanted = [(low + base, high + base) for low, high in spec.lines or ()]
        if any(low <= row.line <= high for low, high in wanted):
            return True
        if not any(low > row.line for low, _ in wanted):
            return False
        # Rows of what the compiler moved in from around an instance may have any line.
        following = self.following_line(row)
        last = max((n for n in self._lines_of(row, site) if n < following), default=row.line)
        return any(low <= last and high >= row.line for low, high in wanted)

    def _lines_of(self, row: FunctionRow, site: Site) -> dict[int, int]:
        """Map the lines of a site's own code to their lowest addresses."""
        entry = self.info.entry(site.entry)
        ranges = ranges_of(entry) or [(site.pc, site.pc + 1)]
        inside = list(inlined_ranges(entry))
        program, rows = self._program(self.info.number_of(site.entry))
        own = {n for n, path in enumerate(program.files) if path == row.file}
        found: dict[int, int] = {}
        for item in rows:
            if (
                item.is_statement
                and not item.ends_sequence
                and item.line >= row.line
                and item.file in own
                and contains(ranges, item.address)
                and not contains(inside, item.address)
                and item.address < found.get(item.line, 1 << 64)
            ):
                found[item.line] = item.address
        return found

    def refused(self, address: int) -> str:
        """Say what the kernel keeps probes away from at an address, "" for nothing."""
        return self.refusals().get(address, "")

    def refusals(self) -> dict[int, str]:
        """Map addresses to what the kernel keeps probes away from there."""
        if self._refused is None:
            if self._code is None:
                self._refused = refused.refused(self._elf, self._symbols.address)
            else:
                module = ElfFile.open(self._code)
                self._refused = refused.refused_in_module(module, self._elf)
        return self._refused

    # --- variables -------------------------------------------------------

    def variables(self, place: CodePlace) -> list[DwarfVariable]:
        """List the parameters and locals in scope at a place."""
        found = in_scope(self.info.entry(place.entry), place.address, self._types)
        if not place.is_exact or not is_clone(place.symbol):
            return found
        return [not_passed(row) if row.is_parameter and row.ops is None else row for row in found]

    def frame(self, place: CodePlace) -> UnwindRow | None:
        """Find where the canonical frame address and the caller's registers are at a place.

        None when the file does not tell.
        """
        if place.is_exact:
            return _AT_ENTRY
        if self._frames is None:
            self._frames = Frames(self.info.sections, self.program)
        return self._frames.row(place.address)

    def operations(self, expression: bytes, place: CodePlace) -> list[Op]:
        """Decode an expression of a frame's description."""
        return decode(expression, self.info.entry(place.entry).unit)

    def calls_with(self, parameter: int, place: CodePlace) -> list[Passing]:
        """List the calls of a place's unit that tell what they pass for a parameter."""
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

    def _passing_of(self, call: CallSite, argument: Argument) -> Passing:
        # What holds for the call is told of the byte before the one that it returns to.
        function, address = call.function, call.back - 1
        place = CodePlace(function.name(), "", 0, "", 0, address, function.offset, False, False,
                      self.module)  # fmt: skip
        return Passing(call.back, place, argument.value)

    def _subprogram(self, place: CodePlace) -> Die:
        """Find the function out of line that a place lies in."""
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

    def frame_base(self, place: CodePlace) -> list[Op]:
        """Decode what offsets of the frame count from; empty when it is not known."""
        return frame_base(self._subprogram(place), place.address) or []

    def entrance_address(self, place: CodePlace) -> int | None:
        """Find where the function out of line around a place begins, or None."""
        return entry_address(self._subprogram(place)) or None

    def entrance(self, place: CodePlace) -> tuple[str, int, int] | None:
        """Find ``(symbol, offset, address)`` where the function out of line begins.

        It is the one around the place; None when it has no address or no symbol.
        """
        address = entry_address(self._subprogram(place))
        anchor = self.index.anchor(address) if address else None
        return None if anchor is None or not address else (*anchor, address)

    def pointed_to(self, offset: int, place: CodePlace) -> DwarfVariable:
        """Find what lies, at a place, at the entry that a location refers to."""
        return variable_at(self.info.entry(offset), place.address, self._types)

    def lines_with(self, place: CodePlace, variable: DwarfVariable) -> list[tuple[int, int]]:
        """Find lines of a place's function where a variable is somewhere.

        They are those at whose first instruction it is, as runs ``(first, last)`` of lines between
        which no line is without it.
        """
        declared = self.info.entry(place.entry).inherited(k.AT_DECL_LINE)
        base = declared if isinstance(declared, int) else 0
        row = FunctionRow(place.function, place.file, base, place.entry, [])
        site = Site(place.address, place.entry, place.inlined)
        unit = self.info.number_of(place.entry)
        table = statements.line_map(*self.line_table(unit), place.file)
        runs: list[tuple[int, int]] = []
        first: int | None = None
        for line, address in sorted(statements.scope_of(self, row, site, table).lowest.items()):
            if line < base or not contains(variable.ranges, address):
                first = None
            elif first is None:
                first = line
                runs.append((line, line))
            else:
                runs[-1] = first, line
        return runs

    def global_variable(self, name: str, file: str = "") -> tuple[c.CType, int] | None:
        """Find type and address in the file of a global or static variable.

        Returns None when there is none of that name. `DwarfIndex.anchor` tells such an address of a
        module as symbol plus offset.
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
        """Compute a module variable's offset in its per-CPU areas.

        None for an ordinary one.
        """
        section = self._elf.section(".data..percpu")
        if section is None or self._elf.type != ET_REL:
            return None
        start = layout(self._elf)[self._elf.number(section)]
        return address - start if start <= address < start + section.size else None

    def unit_variable(self, place: int, name: str) -> tuple[c.CType, int] | None:
        """Find a variable that the unit of an entry defines or declares: its type and address."""
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

    def thread_variable(
        self, name: str, file: str = "", place: int | None = None
    ) -> tuple[c.CType, int] | None:
        """Find type and offset in a thread's block of a variable by name.

        ``file`` or the unit of the entry ``place`` narrow it down; None when there is none.
        """
        test = file_matcher(file) if file else None
        for offset in self.index.things("v", name):
            entry = self.info.entry(offset)
            found = thread_offset(entry)
            if found is None or (test is not None and not any(map(test, self._homes(entry)))):
                continue
            if place is None or self.info.number_of(offset) == self.info.number_of(place):
                return self._types.of(entry), found
        return None

    def _homes(self, entry: Die) -> list[str]:
        """List the file that declares a variable, and the one its unit was made of."""
        holder = entry.holder(k.AT_DECL_FILE)
        declared: list[str] = []
        if holder is not None:
            program, _ = self._program(self.info.number_of(holder.offset))
            number = holder.number(k.AT_DECL_FILE)
            declared = program.files[number : number + 1]
        return [*declared, entry.unit.root.name()]

    def enumerator(self, name: str) -> int | None:
        """Find the value of an enumeration constant; None when there is none."""
        return enumerator(self.info, name)

    def seen_enumerator(self, place: int, name: str) -> int | None:
        """Find the value of an enumeration constant that the code of an entry sees, or None."""
        return seen_enumerator(self.info, place, name)

    def type(self, name: str) -> c.CType | None:
        """Find ``struct x``, ``class x``, ``union x``, ``enum x`` or ``x``, or None.

        As `Btf.type`, ``x`` alone is a typedef or basic type before a tag.
        """
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
