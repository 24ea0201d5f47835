"""What resolving and lowering hand on: a program with names, without types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.ir import program as p
from stapy.record import Record, new

if TYPE_CHECKING:
    from stapy.elaborate.lower.body import EntrySlots, FunctionBody
    from stapy.elaborate.lower.ruledout import RuledOut
    from stapy.elaborate.lower.value_types import ValueTypes
    from stapy.elaborate.names.derived import Derived
    from stapy.elaborate.names.pointtree import PointTree
    from stapy.elaborate.names.select import SymbolTable
    from stapy.elaborate.typevars import TypeTable
    from stapy.probes.family import Match


class LoweredProbe(Record):
    """A probe whose handler is lowered, but not yet typed or optimised."""

    derived: Derived
    matches: list[Match]
    body: p.Stmt
    locals: dict[str, p.Variable]
    slots: EntrySlots | None = None
    condition: p.Expr | None = None
    means_the_same_everywhere: bool = False  # its body does


class Dropped(Record):
    """A tree that the optimiser dropped, and the function that it was in.

    ``would_act`` tells code that would do something, but never runs, from code without effect.
    """

    node: p.Node
    function: p.Function | None
    would_act: bool

    @property
    def strict(self) -> bool:
        """True where types count as in code that runs."""
        return self.would_act and not isinstance(self.node, p.Try)


class Lowered(Record):
    """A program whose names are resolved; each step hands on one with less in it.

    ``unreachable`` are overloads that were warned of, by the id of their declaration;
    ``ruled_out`` branches that ``@defined`` leaves out, which can be lowered after all when a
    type stays open without them; ``dropped`` what the optimiser took away.
    """

    probes: list[LoweredProbe]
    functions: list[FunctionBody]
    symbols: SymbolTable
    types: TypeTable
    values: ValueTypes
    points: PointTree
    unreachable: set[int]
    ruled_out: RuledOut
    dropped: list[Dropped] = new(list)
