"""The state of one body while it is lowered, and what lowering a function leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.diagnostics import NOWHERE, Span
from stapy.ir import program as p
from stapy.record import Record, new

if TYPE_CHECKING:
    from collections.abc import Hashable

    from stapy.debuginfo.ctypes import CType
    from stapy.elaborate.lower.pending import Pending
    from stapy.elaborate.names.select import FileScope, FunctionSource
    from stapy.ir.scope import TargetScope
    from stapy.parse import nodes as n


class EntrySlots(Record):
    """What the entry side of a return probe saves: values, types, and their fingerprints."""

    values: list[p.Expr] = new(list)
    types: list[p.Type] = new(list)
    keys: dict[Hashable, int] = new(dict)
    locals: dict[str, p.Variable] = new(dict)


class LoweringState(Record):
    """The state of one handler or function while it is lowered."""

    file: FileScope
    scope: TargetScope | None
    locals: dict[str, p.Variable]
    ctypes: dict[str, CType | None] = new(dict)
    wanted: set[str] = new(set)  # locals whose members were asked for, but have no type yet
    causes: dict[str, Pending] = new(dict)  # why nothing is known of a local's type
    function: p.Function | None = None
    entry: EntrySlots | None = None
    loops: int = 0
    hidden: int = 0
    at_entry: bool = False
    point: str = ""
    own: n.Stmt | None = None  # the body of the script's probe, without those of aliases
    before: list[n.Stmt] = new(list)  # bodies of the same handler that run before this one
    use: Span = NOWHERE  # the script's probe point, for messages


class FunctionBody(Record):
    """What lowering a function left besides the function."""

    function: p.Function
    source: FunctionSource
    locals: dict[str, p.Variable]
    returns: list[CType | None] = new(list)
