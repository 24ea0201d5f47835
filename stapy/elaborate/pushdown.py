"""Locks as late as possible: the critical region of a handler is moved down its tree.

Most handlers begin with a test that most hits fail, and work out values of
their own before they touch a global.  None of that needs a lock.  A region
always is the last thing on its path: it begins with the first statement that
touches a locked global or has any effect that can be seen, so that

- a hit whose locks cannot be had has done nothing yet,
- what is printed is stamped while the locks are held, and comes in the order
  in which the globals changed,
- all locks of a region are taken at once, in the program's order, so that
  no two handlers can wait for each other.

``--compatible=4.3`` keeps the locks for the whole handler, as SystemTap does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.elaborate import program as p
from stapy.elaborate.effects import calls, locks_of, own_effect

if TYPE_CHECKING:
    from stapy.elaborate.effects import CallGraph


class Pushdown:
    """Narrows handlers of one program; ``impure`` are the functions with effects."""

    def __init__(self, graph: CallGraph, constant: set[str], impure: set[str]) -> None:
        self._graph = graph
        self._constant = constant
        self._impure = impure

    def narrow(self, body: p.Stmt) -> p.Stmt:
        """The body with its regions marked; without marks when it is one region as a whole."""
        result = self._narrow(body)
        return body if isinstance(result, p.Locked) else result

    def _locks(self, node: p.Stmt | p.Expr | None) -> list[p.Lock]:
        return [] if node is None else locks_of(self._graph.whole(node), self._constant)

    def _acts(self, node: p.Stmt | p.Expr) -> bool:
        return own_effect(node) or not self._impure.isdisjoint(calls(node))

    def _narrow(self, stmt: p.Stmt | None) -> p.Stmt:
        """A statement that is the last of its path."""
        assert stmt is not None
        locks = self._locks(stmt)
        if not locks:
            return stmt
        if isinstance(stmt, p.Block):
            first = 0
            while not self._acts(stmt.body[first]) and not self._locks(stmt.body[first]):
                first += 1
            rest = stmt.body[first:]
            inner = self._narrow(rest[0]) if len(rest) == 1 else self._region(stmt, rest)
            return p.Block(stmt.span, [*stmt.body[:first], inner]) if first else inner
        if isinstance(stmt, p.If) and not self._acts(stmt.cond) and not self._locks(stmt.cond):
            other = stmt.otherwise
            return p.If(
                stmt.span,
                stmt.cond,
                self._narrow(stmt.then),
                self._narrow(other) if other is not None else None,
            )
        return p.Locked(stmt.span, stmt, locks)

    def _region(self, block: p.Block, rest: list[p.Stmt]) -> p.Stmt:
        inside = rest[0] if len(rest) == 1 else p.Block(block.span, rest)
        return p.Locked(rest[0].span, inside, self._locks(inside))
