"""What finding the types hands on: a program whose types are settled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stapy.record import Record

if TYPE_CHECKING:
    from stapy.diagnostics import Span
    from stapy.elaborate.lower.value_types import ValueTypes
    from stapy.elaborate.names.pointtree import PointTree
    from stapy.elaborate.names.select import SymbolTable
    from stapy.ir import program as p
    from stapy.ir.effects import CallGraph


class TypedProbe(Record):
    """A probe whose types are settled, on its way into the program."""

    family: str
    sites: list[Any]
    points: list[str]
    written: str
    alias: str
    chain: list[str]
    body: p.Stmt
    locals: list[p.Variable]
    condition: p.Expr | None
    entry: p.Stmt | None
    entry_locals: list[p.Variable]
    slots: list[p.Type]
    span: Span


class Typed(Record):
    """A program whose types are settled; what is left to report needs no other step."""

    probes: list[TypedProbe]
    functions: list[p.Function]
    graph: CallGraph
    embedded: list[str]  # top-level C
    symbols: SymbolTable
    values: ValueTypes
    points: PointTree
