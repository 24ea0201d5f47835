"""What the steps of pass 2 hand on: a lowered program, then a typed one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stapy.ir import program as p
from stapy.record import Record, new

if TYPE_CHECKING:
    from stapy.debuginfo.ctypes import CType
    from stapy.diagnostics import Span
    from stapy.elaborate.ctypes_of_values import ValueTypes
    from stapy.elaborate.lower import EntrySlots
    from stapy.elaborate.points import Derived
    from stapy.elaborate.pointtree import PointTree
    from stapy.elaborate.resolve import Resolver
    from stapy.elaborate.ruledout import RuledOut
    from stapy.elaborate.select import FunctionSource, SymbolTable
    from stapy.elaborate.typevars import TypeTable
    from stapy.ir.effects import CallGraph


class LoweredProbe(Record):
    """A probe whose handler is lowered, but not yet typed or optimised."""

    derived: Derived
    matches: list[Any]
    body: p.Stmt
    locals: dict[str, p.Variable]
    slots: EntrySlots | None = None
    condition: p.Expr | None = None
    anywhere: bool = False  # the body means the same wherever it runs


class FunctionBody(Record):
    """What lowering a function left besides the function."""

    function: p.Function
    source: FunctionSource
    locals: dict[str, p.Variable]
    returns: list[CType | None] = new(list)


class Dropped(Record):
    """A tree that the optimiser dropped, and the function that it was in.

    ``acts`` tells code that would do something, but never runs, from code without effect.
    """

    node: Any
    function: p.Function | None
    acts: bool

    @property
    def strict(self) -> bool:
        """True where types count as in code that runs."""
        return self.acts and not isinstance(self.node, p.Try)


class Lowered(Record):
    """A program whose names are resolved; each step hands on one with less in it.

    ``unreachable`` are overloads that were warned of, by the id of their declaration;
    ``ruled_out`` branches that ``@defined`` leaves out, which `resolver` can lower after
    all when a type stays open without them; ``dropped`` what the optimiser took away.
    """

    probes: list[LoweredProbe]
    functions: list[FunctionBody]
    symbols: SymbolTable
    types: TypeTable
    values: ValueTypes
    points: PointTree
    unreachable: set[int]
    ruled_out: RuledOut
    resolver: Resolver
    dropped: list[Dropped] = new(list)


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
    slots: list[str]
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
