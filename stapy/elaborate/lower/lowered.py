"""What resolving and lowering hand on: a program with names, without types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stapy.ir import program as p
from stapy.record import Record, new

if TYPE_CHECKING:
    from stapy.debuginfo.ctypes import CType
    from stapy.elaborate.lower.lowerer import Body, EntrySlots
    from stapy.elaborate.lower.resolve import Resolver
    from stapy.elaborate.lower.value_types import ValueTypes
    from stapy.elaborate.names.points import Derived
    from stapy.elaborate.names.pointtree import PointTree
    from stapy.elaborate.names.select import FunctionSource, SymbolTable
    from stapy.elaborate.typevars import TypeTable
    from stapy.parse import nodes as n

# The branch and the body that it stands in, as it was there.
RuledOut = list[tuple["n.Stmt | n.Expr", "Body"]]


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
