"""Typed expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.diagnostics import NOWHERE, Span
from stapy.ir.program.nodes import Expr
from stapy.record import Record, new

if TYPE_CHECKING:
    from stapy.ir.program.symbols import Function, Global


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
    """``++`` or ``--``; the value is the new one when ``is_prefix``."""

    op: str
    target: Expr
    is_prefix: bool


class InArray(Expr):
    """``[keys] in var``; ``None`` is ``*``."""

    var: Global
    keys: list[Expr | None]


class CallOp(Expr):
    """Call of a script function."""

    function: Function
    args: list[Expr]


MAX_WIDTH = 1 << 30  # of a width or precision, as STAPY_MAX_WIDTH: no print is as long


class FormatPiece(Record):
    """One directive of a format.

    ``kind`` is "text" (literal in ``text``) or the directive letter
    ``d i u o x X s c p b m M n`` ("d" for plain print of a long, "s" of a string,
    "hist" for a histogram argument), or "field" for what programs are told only.
    ``width``/``precision``: a number, None, or "*" when the next argument gives it.
    ``name`` is that of the field, for programs (``--format``); "" without one.
    """

    kind: str
    text: str = ""
    flags: str = ""
    width: int | str | None = None
    precision: int | str | None = None
    name: str = ""


class PrintOp(Expr):
    """Output (type VOID), or formatting into a string (type STRING).

    ``pieces`` is the whole format, delimiters and newlines of the print family
    included; ``args`` are consumed in order ("*" before its value).  ``shows`` is
    the global that is printed at the end of the session, for programs, or before
    its end, which ``is_snapshot`` says.
    """

    pieces: list[FormatPiece]
    args: list[Expr]
    shows: Global | None = None
    is_snapshot: bool = False


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
    """``left =~ pattern``, or ``!~``.

    ``keeps_groups``: somebody asks matched(), in whatever handler.
    """

    left: Expr
    pattern: str
    is_negated: bool = False
    keeps_groups: bool = False


class MemoryRead(Expr):
    """A checked read of ``size`` bytes (1, 2, 4, 8) at ``address``, widened to 64 bits.

    For a bit field ``bits`` > 0 and ``shift`` is the distance of its lowest bit
    from the lowest bit of the ``size``-byte unit.  ``source`` is the text shown
    in a fault message ("near operator '@cast'", "near identifier '$file'").
    """

    address: Expr
    size: int
    signed: bool
    is_user: bool = False
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
    ``image``            where the code of the process's program begins, 0 where it has none
    ``cpu_counter``      what this CPU has counted for the counter ``index``
    ``task_counter``     what this thread has
    ``thread_base``      where the program's thread has what is its own, there as well
    ``return``           the return value register
    ``trace_arg``        argument ``index`` of a tracepoint
    ``word``             word ``index`` of what the family keeps for a hit (netfilter)
    ``syscall_arg``      system call argument ``index`` (0..5) of a wrapper taking pt_regs
    ``value``            $value of a procfs probe, a string
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


class FileImage(Expr):
    """Where the process that runs now has the first byte of a file's code; an error without it.

    ``path`` is that of a program or library, as the consumer opens it; ``identity`` tells
    its build (`stapy.probes.programs.identity`), ``code`` is where its code begins in it.
    """

    path: str
    identity: str
    code: int


class PrettyPrint(Expr):
    """``$x$``, ``$$vars`` …: formatting into a string where a failed read prints ``ERROR``/``?``.

    Each piece's read is tried by itself: a fault makes that piece print as "?".
    """

    pieces: list[FormatPiece]
    args: list[Expr]
