"""What has a name in a program: globals, variables, functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.diagnostics import NOWHERE, Span
from stapy.record import Record, new

if TYPE_CHECKING:
    from stapy.ir.program.nodes import Stmt
    from stapy.ir.program.types import Type


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
    type: Type
    keys: list[Type] = new(list)
    size: int = 0
    size_set: bool = False
    wraps: bool = False
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
    type: Type


class Function(Record):
    """A script function that the program calls.

    Exactly one of ``body`` and ``code`` is set.  ``next`` is the overload that
    the ``next`` statement falls through to.  ``markers`` are the comment
    pragmas of embedded C ("pure", "unprivileged", "unmangled", …).
    """

    name: str
    c_name: str
    type: Type  # LONG, STRING or VOID
    params: list[Variable] = new(list)
    locals: list[Variable] = new(list)
    body: Stmt | None = None
    code: str | None = None
    next: Function | None = None
    markers: set[str] = new(set)
    reads: set[str] = new(set)  # c_names of globals, itself and callees
    writes: set[str] = new(set)
    is_recursive: bool = False
    span: Span = NOWHERE
