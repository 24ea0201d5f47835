"""One C function while it is written: its lines, locals, temporaries and labels."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager

from stapy.diagnostics import Bug, Span
from stapy.ir import program as p
from stapy.record import Record
from stapy.translate.c.names import Names
from stapy.translate.c.text import comment
from stapy.translate.c.values import Value
from stapy.translate.c.writer import CWriter, Jump
from stapy.translate.lower.known import AvailableValues
from stapy.translate.sharing import SharedBody
from stapy.translate.state import Unit

MAX_C_LOCALS = 24  # more variables of a type than this live in the frame, not on the stack
WORD = 8
STRUCT_BYTES = 96  # of the largest record that a temporary may be
CALL_BYTES = 64  # of a call on the stack: return address, saved registers, alignment
SMALLEST_BUFFER = 16


class Local(Record):
    """A script variable: how C names it and whether it was used."""

    text: str
    type: p.Type
    in_frame: bool  # a member of it, no variable of C
    is_parameter: bool = False
    is_used: bool = False


class LoopState(Record):
    """A loop being written; ``step_label`` is where ``continue`` must go, "" for C's own."""

    step_label: str
    is_charged: bool
    is_used: bool = False


class Keys(Record):
    """Evaluated keys: the values (None for ``*``)."""

    var: p.Global
    values: list[Value | None]

    @property
    def has_wildcard(self) -> bool:
        """True when a key is ``*``."""
        return any(value is None for value in self.values)


class FunctionWriter:
    """State of the function that is being written."""

    def __init__(
        self,
        unit: Unit,
        *,
        is_charged: bool = False,
        name: str = "",
        shared: SharedBody | None = None,
        owner: p.Handler | p.Function | None = None,
    ) -> None:
        self.unit = unit
        # Whose variables these are: `StringSizes` knows them by that.
        owners = shared.members if shared is not None else [owner]
        self.scopes: Sequence[Hashable] = [id(one) for one in owners]
        self.name = name
        self.shared = shared
        self.out = CWriter()
        self.names = Names(unit.words_of_c)
        self.locals: dict[str, Local] = {}
        self.is_charged = is_charged
        self.loops: list[LoopState] = []
        self.fail_label = "out"
        self.leave_label = "out"  # where `next` and `return` go
        self.labels: dict[str, int] = {}  # and how many jumps go there
        self.returns = p.VOID
        self.result_room = 0  # bytes that a string function is given for its result
        self.slots: str = ""  # C type of the saved entry values
        self.next_call = ""  # what `next` does in a function
        self.next_returns = False  # the value of that is the function's result
        self.in_condition = False
        # Keys of the statistic merged last, and where in which text that was.
        self.last_stat: tuple[tuple[str, ...], CWriter, int, str] | None = None
        self.args_change = False  # an argument of the present print changes something
        self.histograms: dict[int, Keys] = {}  # of print arguments, by the argument's id
        self.in_try = False
        self.known: AvailableValues | None = None
        self.key_count = 0
        self.frame: list[tuple[str, int]] = []
        self.declarations: list[tuple[str, str]] = []  # C type, declarator
        self._free: dict[str, list[str]] = {}
        self._free_buffers: list[tuple[str, int]] = []
        self._buffers: dict[str, int] = {}  # where in the frame they are
        self._kind_of: dict[str, str] = {}
        self._scopes: list[list[tuple[str, int]]] = [[]]
        self._last_comment: tuple[str, int] = ("", 0)
        self._labels_made = 0

    # --- variables ---------------------------------------------------------

    def declare(self, variables: list[p.Variable]) -> None:
        """Give C names to script variables; strings live in the frame."""
        longs = sum(1 for variable in variables if variable.type != p.STRING)
        for variable in variables:
            name = self.names.make(variable.name)
            member = variable.type == p.STRING or longs > MAX_C_LOCALS
            text = f"l->{name}" if member else name
            self.locals[variable.name] = Local(text, variable.type, member)

    def local(self, name: str) -> Local:
        """Find a script variable and note it as used (the first use puts it into the frame)."""
        try:
            local = self.locals[name]
        except KeyError:
            raise Bug(f"no local variable '{name}' here") from None
        if not local.is_used:
            local.is_used = True
            if local.in_frame:
                bare = local.text.removeprefix("l->")
                if local.type == p.STRING:
                    size = self.variable_room(name)
                    self.frame.append((f"char {bare}[{self.unit.bytes_text(size)}]", size))
                else:
                    self.frame.append((f"s64 {bare}", 8))
        return local

    # --- sizes of strings --------------------------------------------------

    def variable_room(self, name: str) -> int:
        """Return the bytes of a string variable's array."""
        return self.unit.sizes.variable(name, self.scopes)

    def room_of(self, expr: p.Expr) -> int:
        """Return the bytes that a string can need."""
        return self.unit.sizes.expression(expr, self.scopes)

    # --- temporaries -------------------------------------------------------

    @contextmanager
    def temporaries(self) -> Iterator[None]:
        """Hold a scope: temporaries made inside are free again afterwards."""
        self._scopes.append([])
        yield
        for name, room in self._scopes.pop():
            if room:
                self._free_buffers.append((name, room))
            else:
                self._free.setdefault(self._kind_of[name], []).append(name)

    def temp(self, kind: str, hint: str) -> str:
        """Take a C variable of a type for the time of a statement, named after what it holds."""
        free = self._free.setdefault(kind, [])
        wanted = [name for name in free if _base(name) == hint]
        total = sum(1 for known in self._kind_of.values() if known == kind)
        if not wanted and total >= MAX_C_LOCALS:
            wanted = free[:1]
        if wanted:
            name = wanted[0]
            free.remove(name)
        else:
            name = self._new_temp(kind, hint, total)
            self._kind_of[name] = kind
        self._scopes[-1].append((name, 0))
        return name

    def function_temp(self, kind: str, hint: str) -> str:
        """Make a C variable of a type that stays for the whole function; return its name."""
        total = sum(1 for known in self._kind_of.values() if known == kind)
        name = self._new_temp(kind, hint, total)
        self._kind_of[name] = kind
        return name

    def _new_temp(self, kind: str, hint: str, before: int) -> str:
        """Make a temporary on the stack, or in the frame where the (small) stack holds many."""
        name = self.names.make(hint)
        star = "*" if kind.endswith("*") else ""
        bare = kind.rstrip("*").rstrip()
        if before < MAX_C_LOCALS:
            self.declarations.append((bare, star + name))
            return name
        in_words = star or not bare.startswith("struct")
        self.frame.append((f"{bare} {star}{name}", WORD if in_words else STRUCT_BYTES))
        return "l->" + name

    def stack_bytes(self) -> int:
        """Compute how many bytes of the kernel's stack a call of this function takes, at most."""
        locals_ = [one for one in self.locals.values() if one.is_used and not one.in_frame]
        structs = sum(1 for kind, name in self.declarations if _is_struct(kind, name))
        words = len(locals_) + len(self.declarations) - structs + self.key_count
        return CALL_BYTES + words * WORD + structs * STRUCT_BYTES

    def buffer_room(self, room: int) -> int:
        """Return the bytes of a buffer for a string of ``room``: one of few sizes."""
        size = max(SMALLEST_BUFFER, 1 << (room - 1).bit_length()) if room else 0
        return size if 0 < size < self.unit.string_room else self.unit.string_room

    def buffer(self, room: int) -> tuple[str, int]:
        """Take a string buffer of ``room`` or more bytes (0: MAXSTRINGLEN); return name, size."""
        size = self.buffer_room(room)
        fit = [item for item in self._free_buffers if item[1] <= size]
        if fit:
            free = max(fit, key=lambda item: item[1])
            self._free_buffers.remove(free)
            name = free[0].removeprefix("l->")
        else:
            name = self.names.make("text")
            self._buffers[name] = len(self.frame)
            self.frame.append(("", 0))
        # One that was smaller grows: what was written there has the size of the array as its limit.
        self.frame[self._buffers[name]] = (f"char {name}[{self.unit.bytes_text(size)}]", size)
        self._scopes[-1].append(("l->" + name, size))
        return "l->" + name, size

    def member(self, declaration: str, size: int, hint: str) -> str:
        """Add a frame member that stays for the whole function; ``{}`` stands for its name."""
        name = self.names.make(hint)
        self.frame.append((declaration.format(name), size))
        return "l->" + name

    def keys(self, count: int) -> str:
        """Name the array of keys, grown to at least ``count``."""
        self.key_count = max(self.key_count, count)
        return "keys"

    # --- places ------------------------------------------------------------

    def place(self, span: Span) -> str:
        """Name in C the place where a span starts."""
        places = self.unit.places
        return self._own_place([places.of(one) for one in self._in_each(span)])

    def place_of_operator(self, left: Span, right: Span, whole: Span) -> str:
        """Name in C the place of the operator between two operands."""
        each = [self._in_each(span) for span in (left, right, whole)]
        count = max(map(len, each))
        rows = zip(*(spans * count if len(spans) == 1 else spans for spans in each))
        return self._own_place([self.unit.places.of_operator(*row) for row in rows])

    def _in_each(self, span: Span) -> list[Span]:
        """List what a span is in each of the handlers that share this body."""
        return self.shared.places(span) if self.shared is not None else [span]

    def _own_place(self, names: list[str]) -> str:
        """Return the C of a place that has these names in the handlers that share this body."""
        if self.shared is None or len(set(names)) == 1:
            return names[0]
        return self.shared.member("at", names)

    # --- control flow ------------------------------------------------------

    def new_label(self, word: str) -> str:
        """Make a label that no other has."""
        self._labels_made += 1
        return f"{word}_{self._labels_made}"

    def goto(self, label: str) -> Jump:
        """Make a jump to a label, and note that the label is used."""
        self.labels[label] = self.labels.get(label, 0) + 1
        return Jump(f"goto {label};", label)

    def fail(self) -> Jump:
        """Make the jump that an error takes."""
        return self.goto(self.fail_label)

    def check(self, call: str) -> None:
        """Write a call that returns false after it has set the error, and the jump then taken."""
        self.out.check(call, self.fail())

    def check_error(self, span: Span, noting: str = "stapy_called_from") -> None:
        """Leave when what was called at a place has set the error; the place goes with it."""
        place = self.place(span)
        self.out.check_error(f"{noting}(c, {place});", self.fail())

    @contextmanager
    def capture(self) -> Iterator[CWriter]:
        """Yield a writer that takes the lines written inside, in place of the function."""
        outer = self.out
        self.out = CWriter()
        try:
            yield self.out
        finally:
            self.out = outer

    # --- script lines ------------------------------------------------------

    def source_line(self, span: Span) -> None:
        """Write the script's line as a comment, once for each run of statements from it."""
        if self.unit.terse:
            return
        sources = self.unit.sources
        file, line, _ = sources.position(span)
        if not line or (file, line) == self._last_comment:
            return
        self._last_comment = (file, line)
        self.out.blank()
        text = sources.line_text(span)
        self.out.line(comment(f"{self.unit.short(file)}:{line}: {text}"))

    # --- materialising -----------------------------------------------------

    def keep(self, value: Value, hint: str, is_string: bool) -> Value:
        """Copy the value to a temporary, so that later side effects cannot change it."""
        if value.constant is not None:
            return value
        if is_string:
            text, size = self.buffer(value.room)
            self.out.line(f"stapy_copy({text}, {value.text}, sizeof({text}));")
            return Value(text, room=size)
        name = self.temp("s64", hint)
        self.out.line(f"{name} = {value.text};")
        return Value(name)


def _base(name: str) -> str:
    """Return the hint that a temporary was named after."""
    return name.removeprefix("l->").rstrip("0123456789").rstrip("_")


def _is_struct(kind: str, declarator: str) -> bool:
    return kind.startswith("struct") and not declarator.startswith("*")
