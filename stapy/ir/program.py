"""Program: the typed, resolved script that pass 2 hands to pass 3.

A tree, not a list: translation gives names to what can fail, block or change
something (see ``translate/lower.py``).  Every expression carries its type,
every name is resolved to its record, every target variable has become reads of
memory and registers, every probe point has become a `DerivedProbe` with the
record of its family as `site`.  No node of the syntax tree and no handle of
the debug information is left in here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stapy.diagnostics import NOWHERE, Span
from stapy.record import Record, new

if TYPE_CHECKING:
    from stapy.debuginfo.lookup.line_pack import LineTable

LONG = "long"
STRING = "string"
STATS = "stats"
VOID = "void"
HISTOGRAM = "histogram"  # only as an argument of `PrintOp`


# --- globals and functions ----------------------------------------------


class HistogramShape(Record):
    """Bucket layout of a statistic; ``kind`` is "log" or "linear"."""

    kind: str
    low: int = 0
    high: int = 0
    step: int = 0


class Global(Record):
    """A global variable after inference.

    ``type`` is LONG, STRING or STATS: of the scalar, or of the elements when
    ``keys`` is not empty.  ``c_name`` is unique in the module.  ``stats`` is
    the set of operators used on it ("count", "variance", …), so that the
    runtime can leave out what nobody reads; ``shift`` is @variance's.
    ``autoprint``: written and never read, printed at the end of the session.
    ``size_set``: the script declared a size (it changes the overflow message).
    """

    name: str
    c_name: str
    type: str
    keys: list[str] = new(list)
    size: int = 0
    size_set: bool = False
    wrap: bool = False
    init: int | str | None = None
    stats: set[str] = new(set)
    shift: int = 0
    histogram: HistogramShape | None = None
    autoprint: bool = False
    settable: bool = False  # named by -G or a module parameter
    span: Span = NOWHERE


# The mark of C that first asserts to be in a process of the session's user.
ASSERTS = "assert-myproc"


class Variable(Record):
    """A local variable or a parameter."""

    name: str
    type: str


class Function(Record):
    """A script function that the program calls.

    Exactly one of ``body`` and ``code`` is set.  ``next`` is the overload that
    the ``next`` statement falls through to.  ``markers`` are the comment
    pragmas of embedded C ("pure", "unprivileged", "unmangled", …).
    """

    name: str
    c_name: str
    type: str  # LONG, STRING or VOID
    params: list[Variable] = new(list)
    locals: list[Variable] = new(list)
    body: Stmt | None = None
    code: str | None = None
    next: Function | None = None
    markers: set[str] = new(set)
    reads: set[str] = new(set)  # c_names of globals, itself and callees
    writes: set[str] = new(set)
    recursive: bool = False
    span: Span = NOWHERE


# --- expressions ---------------------------------------------------------


class Expr(Record):
    """Base of all typed expressions."""

    span: Span
    type: str


class Const(Expr):
    """Integer; ``member_name`` tells of which member it is the offset."""

    value: int
    member_name: str = ""


class Text(Expr):
    """String literal, one latin-1 character per byte."""

    value: str


class LocalRef(Expr):
    """Local variable or parameter."""

    name: str


class GlobalRef(Expr):
    """Scalar global (as a value, or as target of an assignment)."""

    var: Global


class ElementRef(Expr):
    """Element of an array; ``None`` in ``keys`` is ``*`` (aggregate reads and delete only)."""

    var: Global
    keys: list[Expr | None]


class BinaryOp(Expr):
    """``op`` as in the language.

    Arithmetic and bit operators take longs; comparisons take two longs or two
    strings and give a long; ``.`` concatenates strings.  ``/`` and ``%`` fail
    on a zero divisor, as do ``u/`` and ``u%``, which divide without sign: no
    script can write them, but locations of variables can.  ``operator_span`` is
    the operator's place: folding may replace what stands beside it.
    """

    op: str
    left: Expr
    right: Expr
    operator_span: Span = NOWHERE


class UnaryOp(Expr):
    """``- ~ !`` on a long."""

    op: str
    operand: Expr


class LogicalOp(Expr):
    """``&&`` or ``||``; operands are longs."""

    op: str
    left: Expr
    right: Expr


class Conditional(Expr):
    """``cond ? yes : no``."""

    cond: Expr
    yes: Expr
    no: Expr


class AssignOp(Expr):
    """Assignment used as a value.

    ``target`` is LocalRef, GlobalRef, ElementRef, `MemoryRead` or
    `ContextValue` (guru writes).  ``op`` is ``=`` or a compound operator; ``<<<`` for statistics.
    """

    op: str
    target: Expr
    value: Expr


class IncrementOp(Expr):
    """``++`` or ``--``; the value is the new one when ``prefix``."""

    op: str
    target: Expr
    prefix: bool


class InArray(Expr):
    """``[keys] in var``; ``None`` is ``*``."""

    var: Global
    keys: list[Expr | None]


class CallOp(Expr):
    """Call of a script function."""

    function: Function
    args: list[Expr]


class FormatPiece(Record):
    """One directive of a format.

    ``kind`` is "text" (literal in ``text``) or the directive letter
    ``d i u o x X s c p b m M n`` ("d" for plain print of a long, "s" of a string,
    "hist" for a histogram argument).  ``width``/``precision``: a number, None,
    or "*" when the next argument gives it.
    """

    kind: str
    text: str = ""
    flags: str = ""
    width: int | str | None = None
    precision: int | str | None = None


class PrintOp(Expr):
    """Output (type VOID), or formatting into a string (type STRING).

    ``pieces`` is the whole format, delimiters and newlines of the print family
    included; ``args`` are consumed in order ("*" before its value).
    """

    pieces: list[FormatPiece]
    args: list[Expr]


class HistogramRef(Expr):
    """A whole histogram as an argument of `PrintOp` (type HISTOGRAM)."""

    stat: Expr  # GlobalRef or ElementRef


class StatRead(Expr):
    """``@count(x)`` … of a GlobalRef or ElementRef; ``op`` as in `nodes.StatOp`."""

    op: str
    stat: Expr
    shift: int = 0


class BucketRead(Expr):
    """``@hist_log(x)[bucket]``: how many values fell into the bucket."""

    stat: Expr
    bucket: Expr


class BucketIn(Expr):
    """``bucket in @hist_log(x)``."""

    stat: Expr
    bucket: Expr


class RegexMatch(Expr):
    """``left =~ pattern``; ``negate`` for ``!~``; ``groups`` when matched() is used anywhere."""

    left: Expr
    pattern: str
    negate: bool = False
    groups: bool = False


class MemoryRead(Expr):
    """A checked read of ``size`` bytes (1, 2, 4, 8) at ``address``, widened to 64 bits.

    For a bit field ``bits`` > 0 and ``shift`` is the distance of its lowest bit
    from the lowest bit of the ``size``-byte unit.  ``source`` is the text shown
    in a fault message ("near operator '@cast'", "near identifier '$file'").
    """

    address: Expr
    size: int
    signed: bool
    user: bool = False
    bits: int = 0
    shift: int = 0


class ContextValue(Expr):
    """A value that the probe's context holds; ``name`` is a row of ``translate/operations.py``.

    ===================  =====================================================
    ``arg``              integer argument register ``index`` (0..5) at function entry
    ``stack_arg``        8-byte stack argument number ``index`` at function entry
    ``register``         register by DWARF number ``index``, in a probe that surely has registers
    ``kernel_register``  the same in any probe: an error at run time where there are none
    ``user_register``    the same of the user context
    ``program_register`` the same in a probe of a program's place, which surely has one
    ``vector``           the lowest 8 bytes of vector register ``index``, there as well
    ``thread_base``      where the program's thread has what is its own, there as well
    ``return``           the return value register
    ``trace_arg``        argument ``index`` of a tracepoint
    ``word``             word ``index`` of what the family keeps for a hit (netfilter)
    ``syscall_arg``      system call argument ``index`` (0..5) of a wrapper taking pt_regs
    ``value``            $value of a procfs probe, and other family values by name
    ===================  =====================================================

    ``size`` and ``signed`` say how to widen it to 64 bits.
    """

    name: str
    index: int = 0
    size: int = 8
    signed: bool = False


class Entrance(Record):
    """Where a function is entered: ``symbol`` plus ``offset`` of the kernel or a module."""

    symbol: str
    module: str | None
    offset: int


class EntryRegister(Expr):
    """What an argument register had when the function around the probe was entered.

    ``register`` is the number of the argument (0..5).  Entries of that function
    are probed, too, and its registers kept under the address of its frame, which
    ``frame`` computes at the probe.  A call that was not seen is a run-time error.
    """

    function: Entrance
    register: int
    frame: Expr


class NotKnown(Expr):
    """No value: evaluating it is a run-time error with the text ``why``."""

    why: str


class SavedEntry(Expr):
    """A value that the entry side of a return probe saved in slot ``slot``."""

    slot: int


class EmbeddedValue(Expr):
    """``%{ C expression %}``; its pragmas name the globals that it uses.

    ``arguments`` are the parameters of the script function around it that the C
    calls STAP_ARG_name.
    """

    code: str
    markers: set[str] = new(set)
    reads: list[Global] = new(list)
    writes: list[Global] = new(list)
    arguments: list[Expr] = new(list)


PER_CPU = ".data..percpu"  # the section; no symbol has a name like it


class ModuleAddress(Expr):
    """An address of a kernel module, as ``symbol`` plus ``offset``; ``offset`` while it is away.

    Each section of a module lies where the kernel found room when it was loaded.
    With the symbol `PER_CPU` it is that of this CPU's copy of a variable, whose place
    in the module's per-CPU area is ``offset``.
    """

    module: str
    symbol: str
    offset: int


class PrettyPrint(Expr):
    """``$x$``, ``$$vars`` …: formatting into a string where a failed read prints ``ERROR``/``?``.

    Each piece's read is tried by itself: a fault makes that piece print as "?".
    """

    pieces: list[FormatPiece]
    args: list[Expr]


# --- statements ----------------------------------------------------------


class Stmt(Record):
    """Base of all typed statements."""

    span: Span


class Block(Stmt):
    """Statements in order."""

    body: list[Stmt]


class Evaluate(Stmt):
    """An expression for its effect."""

    expr: Expr


class If(Stmt):
    """``if``."""

    cond: Expr
    then: Stmt
    otherwise: Stmt | None = None


class Loop(Stmt):
    """``for`` and ``while``: test ``cond`` (None is true), run body, then ``step``."""

    cond: Expr | None
    step: Expr | None
    body: Stmt


class Foreach(Stmt):
    """Iteration over an array.

    ``keys`` are the local variables, ``value`` the value variable or None.
    ``sort_by`` is "" (no sorting), "value", or "key"; ``sort_index`` the key's
    number from 0; ``sort_op`` the aggregate operator for statistics ("count"
    when none was written); ``descending`` the direction.
    """

    var: Global
    keys: list[Variable]
    value: Variable | None
    slice: list[Expr | None] | None
    sort_by: str
    sort_index: int
    sort_op: str
    descending: bool
    limit: Expr | None
    body: Stmt


class ForeachBucket(Stmt):
    """``foreach (bucket in @hist_log(stat))``: lower bounds of the buckets in order."""

    stat: Expr
    bucket: Variable
    value: Variable | None
    limit: Expr | None
    body: Stmt


class Break(Stmt):
    """``break``."""


class Continue(Stmt):
    """``continue``."""


class Next(Stmt):
    """``next``: leave the handler, or in a function fall through to the next overload."""


class Return(Stmt):
    """``return``."""

    value: Expr | None = None


class Delete(Stmt):
    """``delete``: GlobalRef (a scalar, or a whole array) or ElementRef."""

    target: Expr


class Try(Stmt):
    """``try``/``catch``."""

    body: Stmt
    variable: Variable | None
    handler: Stmt


class EmbeddedC(Stmt):
    """``%{ C %}`` as a statement; fields as in `EmbeddedValue`."""

    code: str
    markers: set[str] = new(set)
    reads: list[Global] = new(list)
    writes: list[Global] = new(list)
    arguments: list[Expr] = new(list)


class Locked(Stmt):
    """The part of a handler that needs its globals; nothing comes after it on its path.

    At its end, with the globals still held, its ``conditions`` are judged.
    """

    body: Stmt
    locks: list[Lock] = new(list)
    conditions: list[Condition] = new(list)


class SaveEntry(Stmt):
    """Entry side of a return probe: store ``value`` in slot ``slot`` of the instance."""

    slot: int
    value: Expr


# A node of a body; trees are walked without a look at which it is.
Node = Expr | Stmt


# --- probes --------------------------------------------------------------


class Lock(Record):
    """A global that a handler holds while it runs."""

    var: Global
    write: bool


class Condition(Record):
    """An arming condition; equal ones of several probes are one.

    ``judged_once``: no handler changes what it reads, so it is judged once.
    """

    test: Expr
    judged_once: bool


class Handler(Record):
    """One distinct body; equal bodies are one Handler.

    ``locks`` are held as long as the body runs, or each of its `Locked` parts;
    ``conditions`` are those that read a global which the body changes.  With
    ``again`` its own condition reads one of these globals and is looked at
    once more when they are held.
    """

    c_name: str
    locals: list[Variable]
    body: Stmt
    locks: list[Lock] = new(list)
    span: Span = NOWHERE
    conditions: list[Condition] = new(list)
    again: bool = False


class DerivedProbe(Record):
    """One probe that will be registered, or a batch of equal ones.

    ``family`` names the module in ``stapy/probes``; ``sites`` are that
    family's records, one for each place (a wildcard gives many with one
    handler); ``points`` the resolved point of each site as ``pp()`` prints it;
    ``written`` is what the script says, ``alias`` what ``pn()`` prints;
    ``chain`` the alias names from the script's point down to the resolved one.
    ``entry`` is the handler that runs at function entry of a return probe and
    fills ``slots`` (types of the saved values).
    """

    family: str
    sites: list[Any]
    points: list[str]
    written: str
    alias: str
    chain: list[str]
    handler: Handler
    condition: Condition | None = None
    entry: Handler | None = None
    slots: list[str] = new(list)
    span: Span = NOWHERE


# Pieces of the runtime: /* pragma:user_stacks */ in embedded C.
USER_STACKS = "user_stacks"  # frames of user programs
USER_NAMES = "user_names"  # and names of their functions


class Program(Record):
    """Everything that pass 3 needs.

    ``features`` are pieces of runtime that this program uses: "backtrace",
    "symbols", "regex", "stats", "gettimeofday", …
    """

    globals: list[Global]
    functions: list[Function]
    handlers: list[Handler]
    probes: list[DerivedProbe]
    embedded: list[str]
    features: set[str]
    nesting: int  # deepest call chain, or the bound for recursion
    conditions: list[Condition] = new(list)
    # What the module takes along of the kernel and of modules with probes.
    release: str = ""
    arch: str = ""
    build_ids: dict[str, str] = new(dict)
    line_tables: list[LineTable] = new(list)
