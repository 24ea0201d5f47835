"""Typed statements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.ir.program.nodes import Expr, Stmt
from stapy.record import Record, new

if TYPE_CHECKING:
    from stapy.ir.program.symbols import Global, Variable


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
    when none was written); ``is_descending`` the direction.
    """

    var: Global
    keys: list[Variable]
    value: Variable | None
    slice: list[Expr | None] | None
    sort_by: str
    sort_index: int
    sort_op: str
    is_descending: bool
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


class Lock(Record):
    """A global that a handler holds while it runs."""

    var: Global
    for_writing: bool


class Condition(Record):
    """An arming condition; equal ones of several probes are one.

    ``judged_once``: no handler changes what it reads, so it is judged once.
    """

    test: Expr
    judged_once: bool


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
