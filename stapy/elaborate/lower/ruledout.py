"""Branches that ``@defined`` rules out: not part of the program, and lowered only on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.elaborate.lower.lowerer import Lowerer
from stapy.elaborate.lower.pending import Pending
from stapy.elaborate.names import syntax
from stapy.ir import program as p
from stapy.ir.walk import walk
from stapy.parse import nodes as n
from stapy.record import replace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stapy.elaborate.lower.body import FunctionBody, LoweringState
    from stapy.elaborate.lower.context import Worklist


class RuledOut:
    """The branches, each with the body that it stands in, as it was there."""

    def __init__(
        self,
        branches: list[tuple[n.Stmt | n.Expr, LoweringState]],
        functions: list[FunctionBody],
        worklist: Worklist,
    ) -> None:
        self._branches = branches
        self._functions = functions
        self._worklist = worklist

    def __bool__(self) -> bool:
        return bool(self._branches)

    def lowered(self) -> Iterator[tuple[p.Node | None, p.Function | None]]:
        """Lower the branches, and what only they call: trees, and whose they are."""
        before = len(self._functions)
        for node, body in list(self._branches):
            yield _lower(self._worklist, node, body), body.function
        for item in self._functions[before:]:
            yield item.function.body, item.function


def _lower(worklist: Worklist, node: n.Stmt | n.Expr, body: LoweringState) -> p.Node:
    params = body.function.params if body.function is not None else []
    known = {variable.name: variable for variable in params} | body.locals
    low = Lowerer(worklist, replace(body, locals=known, entry=None, loops=1))
    lowered = low.stmt(node) if isinstance(node, n.Stmt) else low.expr(node)
    texts = [item.span for item in syntax.walk(node) if _is_text(item)]
    for item in walk(lowered):
        if isinstance(item, Pending):  # target variables that are not there
            kind = p.STRING if item.span in texts else p.LONG
            worklist.types.unify(item.type, kind, item.span)
    return lowered


def _is_text(node: n.Node) -> bool:
    chain: list[n.Component] = getattr(node, "chain", [])
    pretty = bool(chain) and isinstance(chain[-1], n.Pretty)
    return pretty or (isinstance(node, n.Target) and node.name.startswith("$$"))
