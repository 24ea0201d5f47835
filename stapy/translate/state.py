"""State of one module while its C is written: names, tables found on the way, services."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING

from stapy.arch import X86_64, architecture
from stapy.diagnostics import Bug, Diagnostics, Span
from stapy.ir import program as p
from stapy.ir.walk import walk
from stapy.translate.c.text import name_literal, string_literal, verbatim
from stapy.translate.c.words import words_of
from stapy.translate.tables.changes import may_repeat
from stapy.translate.tables.conditions import ConditionTable
from stapy.translate.tables.costs import Costs
from stapy.translate.tables.failures import Failures
from stapy.translate.tables.limits import Limits
from stapy.translate.tables.places import PlaceTable
from stapy.translate.tables.records import PrintTable
from stapy.translate.tables.sizes import StringSizes

if TYPE_CHECKING:
    from stapy.options import Options
    from stapy.translate.sharing import SharedBody
    from stapy.translate.tables.automaton import Automaton
    from stapy.translate.templating import Model

# Replaced, when the file is complete, by a directive with the real line and file.
HERE = "#line @here@"
USUAL_NESTING = 16  # calls inside each other, by far more than scripts have
# Library functions that read the groups of the last match.
CAPTURE_READERS = frozenset({"matched", "matched_str", "ngroups"})


class Unit:
    """One C file in the making."""

    def __init__(self, program: p.Program, options: Options, diagnostics: Diagnostics) -> None:
        self.program = program
        # No module is made for a machine that has no record.
        self.architecture = architecture(program.arch) or X86_64
        self.options = options
        self.diagnostics = diagnostics
        self.sources = sources = diagnostics.sources
        self.limits = Limits(options, max(1, program.nesting))
        self.string_room = self.limits.string_room
        self.charging = self.limits.timed
        self.terse = options.terse
        self.records = PrintTable() if options.format else None
        self.places = PlaceTable(sources)
        self.costs = Costs()
        self.here = HERE
        # Bytes by C function: of its frame of strings, and of the kernel's stack.
        self.frames: dict[str, int] = {}
        self.stacks: dict[str, int] = {}
        self._lock_tables: dict[tuple[str, ...], str] = {}
        self._new_tables: list[Model] = []
        self.any_tables: dict[tuple[bool, ...], str] = {}
        self.module_symbols: dict[str, int] = {}
        self.mapped_files: dict[tuple[str, int], tuple[int, str]] = {}
        self.entrances: dict[tuple[str, str | None, int], int] = {}
        self.regexes: dict[str, tuple[str, Automaton]] = {}
        self.slot_types: dict[tuple[p.Type, ...], str] = {}
        self.failures = Failures(program, self._watches_actions)
        self.sizes = StringSizes(
            program,
            all_handlers(program),
            self.string_room,
            self.limits.array_string_room,
            self.failures.macros,
        )
        self.repeats = may_repeat(program)
        # Only scripts with -g have C that was not written for this translator.
        self.words_of_c = words_of(program) if options.guru else frozenset()
        self._captures = any(one.name in CAPTURE_READERS for one in program.functions)
        self._by_name = {var.c_name: var for var in program.globals}
        self._storage = [var for var in program.globals if var.keys or var.type == p.STATS]
        self._numbers = {var.c_name: number for number, var in enumerate(self._storage)}
        self.conditions = ConditionTable(program, is_separate=options.on_overload != "exit")

    # --- names -------------------------------------------------------------

    def global_name(self, var: p.Global) -> str:
        """Return the C name of a global."""
        return _prefixed("g_", var.c_name)

    def function_name(self, function: p.Function) -> str:
        """Return the C name of a script function."""
        return _prefixed("f_", function.c_name)

    def handler_name(self, handler: p.Handler) -> str:
        """Return the C name of a handler."""
        return _prefixed("h_", handler.c_name)

    def shared_name(self, shared: SharedBody) -> str:
        """Return the C name of a body that handlers share, and of their record."""
        return "body_" + self.handler_name(shared.handler).removeprefix("h_")

    def lock_name(self, var: p.Global) -> str:
        """Return the C name of a global's lock."""
        return "lock_" + self.global_name(var).removeprefix("g_")

    def find_global(self, c_name: str) -> p.Global | None:
        """Find a global by the name that it has in `Function.reads`, else None."""
        return self._by_name.get(c_name)

    def short(self, file: str) -> str:
        """Return a file's name without its folders, for comments."""
        return PurePath(file).name or file

    def bytes_text(self, size: int) -> str:
        """Write the size of a string's buffer as C."""
        return "MAXSTRINGLEN" if size >= self.string_room else str(size)

    # --- tables ------------------------------------------------------------

    @property
    def storage(self) -> list[p.Global]:
        """Globals that the runtime allocates, in the order of their rows."""
        return self._storage

    def shape(self, var: p.Global) -> str:
        """Name a statistic's shape: it is part of the global's row, which the runtime completes."""
        return f"storage[{self._numbers[var.c_name]}].shape"

    def module_symbol(self, name: str) -> str:
        """Return the row of a symbol ``module:name``, whose address the runtime finds."""
        return f"module_symbols[{self.module_symbol_number(name)}]"

    def module_symbol_number(self, name: str) -> int:
        """Return the number of a symbol's row, given out on its first use."""
        return self.module_symbols.setdefault(name, len(self.module_symbols))

    def mapped_file(self, image: p.FileImage) -> str:
        """Return the row of a file that the runtime looks for in the memory of processes."""
        row = len(self.mapped_files), image.identity
        number, _ = self.mapped_files.setdefault((image.path, image.code), row)
        return f"mapped_files[{number}]"

    def entrance(self, function: p.Entrance) -> int:
        """Return the number, from 1, of a function whose entries have to be remembered."""
        key = function.symbol, function.module, function.offset
        return self.entrances.setdefault(key, len(self.entrances) + 1)

    def any_table(self, flags: list[bool]) -> str:
        """Name the table that says which keys of a slice match everything."""
        key = tuple(flags)
        if key not in self.any_tables:
            self.any_tables[key] = "any_" + "".join("x" if flag else "k" for flag in flags)
        return self.any_tables[key]

    def judge(self, conditions: list[p.Condition]) -> list[str]:
        """Write the C that judges conditions again."""
        return [f"stapy_judge(c, &{self.conditions.judged(one)});" for one in conditions]

    def slots(self, types: list[p.Type]) -> str:
        """Name the struct for saved entry values of some types."""
        key = tuple(types)
        if key not in self.slot_types:
            letters = "".join("s" if kind == p.STRING else "n" for kind in types)
            self.slot_types[key] = f"slots_{letters}"
        return self.slot_types[key]

    def regex(self, pattern: str, span: Span) -> str:
        """Name the tables of a pattern; report a bad pattern."""
        if pattern not in self.regexes:
            from stapy.ir.regex import RegexError
            from stapy.translate.tables.regex import build

            name = f"regex_{len(self.regexes) + 1}"
            try:
                self.regexes[pattern] = (name, build(pattern, self.captures))
            except RegexError as error:
                self.diagnostics.error(
                    "semantic error",
                    "E0291",
                    f"regular expression: {error.message}",
                    span,
                    notes=[f"at character {error.offset + 1} of '{pattern}'"],
                )
                return name
        return self.regexes[pattern][0]

    @property
    def captures(self) -> bool:
        """True when something asks what a group matched."""
        return self._captures

    def uses_regex(self, node: p.Stmt, seen: frozenset[int] = frozenset()) -> bool:
        """Tell whether a body, or what it calls, matches a regular expression."""
        for below in walk(node):
            if isinstance(below, p.RegexMatch):
                return True
            if isinstance(below, p.CallOp) and below.function.body is not None:
                called = below.function
                inside = called.body if id(called) not in seen else None
                if inside is not None and self.uses_regex(inside, seen | {id(called)}):
                    return True
        return False

    def lock_rows(self, locks: list[p.Lock]) -> list[dict[str, str]]:
        """Build the rows of a table of locks."""
        return [
            {
                "lock": "&" + self.lock_name(lock.var),
                "write": "true" if lock.for_writing else "false",
                "name": string_literal(lock.var.name),
                "label": lock.var.name,
                "mode": "write" if lock.for_writing else "read",
            }
            for lock in locks
        ]

    def lock_table(self, locks: list[p.Lock], handler: str) -> str:
        """Name the C table of some locks, made for the first handler that wants these locks."""
        rows = self.lock_rows(locks)
        key = tuple(f"{row['lock']} {row['mode']}" for row in rows)
        if key not in self._lock_tables:
            name = base = "locks_" + handler.removeprefix("h_")
            number = 1
            while name in self._lock_tables.values():
                number += 1
                name = f"{base}_{number}"
            self._lock_tables[key] = name
            self._new_tables.append({"name": name, "rows": rows})
        return self._lock_tables[key]

    def new_lock_tables(self) -> list[Model]:
        """Return the tables that were made since the last call."""
        made, self._new_tables = self._new_tables, []
        return made

    # --- functions ---------------------------------------------------------

    def may_fail(self, function: p.Function) -> bool:
        """Tell whether a call can leave an error behind."""
        return self.nesting_is_watched or self.failures.of(function)

    def _watches_actions(self, function: p.Function) -> bool:
        return self.charging and self.costs.function(function) is None

    @property
    def nesting_is_tight(self) -> bool:
        """True when ``-D MAXNESTING`` is below what the call graph needs."""
        return self.limits.nesting < self.limits.needed_nesting

    @property
    def nesting_is_watched(self) -> bool:
        """True when each call is counted: it may go too deep without recursion as well.

        Either for ``-D MAXNESTING``, or for the kernel's stack, which has room
        for a chain of usual length whatever its functions are.
        """
        return self.nesting_is_tight or self.limits.needed_nesting > USUAL_NESTING

    def result_room(self, function: p.Function, given: int | None = None) -> int:
        """Return the bytes that a caller gives for a function's string; `Bug` if it gives fewer."""
        room = self.sizes.result(function)
        if given is not None and given < room:
            raise Bug(f"{function.name}() may write {room} bytes where there are {given}")
        return room

    # --- embedded C --------------------------------------------------------

    def verbatim(self, code: str, span: Span) -> str:
        """Return embedded C as it goes into the file."""
        source = self.sources.source(span)
        return verbatim(code.rstrip(), source is not None and source.is_library)

    def placed(self, span: Span, code: str, text: str) -> str:
        """Write ``#line`` and the text of code that stands in the script at or after a place.

        Code of the user's begins in the column where it does there, for the compiler names it.
        """
        source = self.sources.source(span)
        if source is None:
            return f'#line 1 "embedded"\n{text}'
        start = source.text.find(code, span.start) if code.strip() else -1
        found = start >= 0
        start = start if found else span.start
        file, line, _ = self.sources.place(Span(span.source, start, start + 1))
        before = source.text[source.text.rfind("\n", 0, start) + 1 : start]
        if not found or source.is_library or not text.partition("\n")[0].strip():
            before = ""
        blank = re.sub(r"[^\t]", " ", before)
        return f"#line {line} {name_literal(file)}\n{blank}{text}"


def all_handlers(program: p.Program) -> list[p.Handler]:
    """List every handler once, those of the entry side of return probes included."""
    known = {id(item): item for item in program.handlers}
    for probe in program.probes:
        for handler in (probe.handler, probe.entry):
            if handler is not None:
                known.setdefault(id(handler), handler)
    return list(known.values())


def _prefixed(prefix: str, name: str) -> str:
    return name if name.startswith(prefix) else prefix + name


def number_lines(text: str, file: str) -> str:
    """Put the real positions into the directives that end verbatim code."""
    lines = text.split("\n")
    for at, line in enumerate(lines):
        if line == HERE:
            lines[at] = f"#line {at + 2} {name_literal(file)}"
    return "\n".join(lines)
