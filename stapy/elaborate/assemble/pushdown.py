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

from stapy.ir import program as p
from stapy.ir.effects import acts, calls, locks_of
from stapy.ir.walk import below

if TYPE_CHECKING:
    from stapy.elaborate.assemble.arming import Conditions
    from stapy.ir.effects import CallGraph


class Pushdown:
    """Narrows handlers of one program; ``impure`` are the functions with effects."""

    def __init__(
        self, graph: CallGraph, conditions: Conditions, constant: set[str], impure: set[str]
    ) -> None:
        self._graph = graph
        self._conditions = conditions
        self._constant = constant
        self._impure = impure
        # By the id of each node of the body at hand: needs a lock; needs one or has an effect.
        self._locked: dict[int, bool] = {}
        self._starts: dict[int, bool] = {}

    def narrow(self, body: p.Stmt) -> p.Stmt:
        """Mark the regions of a body that need locks; return it as it is when that is all of it."""
        self._locked.clear()
        self._starts.clear()
        self._look(body)
        result = self._narrow(body)
        return body if isinstance(result, p.Locked) else result

    def _look(self, node: p.Node) -> None:
        locked, starts = self._alone(node)
        for child in below(node):
            self._look(child)
            locked = locked or self._locked[id(child)]
            starts = starts or self._starts[id(child)]
        self._locked[id(node)] = locked
        self._starts[id(node)] = locked or starts

    def _alone(self, node: p.Node) -> tuple[bool, bool]:
        if isinstance(node, (p.GlobalRef, p.ElementRef, p.InArray, p.Foreach)):
            return node.var.c_name not in self._constant, False
        if isinstance(node, (p.EmbeddedValue, p.EmbeddedC)):
            used = {var.c_name for var in (*node.reads, *node.writes)}
            return bool(used - self._constant), acts(node)
        if isinstance(node, p.CallOp):
            names = calls(p.CallOp(node.span, node.type, node.function, []))
            found = [self._graph.access[name] for name in names]
            used = {key for one in found for key in (*one.reads, *one.writes, *one.inserts)}
            return bool(used - self._constant), not self._impure.isdisjoint(names)
        return False, acts(node)

    def _narrow(self, stmt: p.Stmt) -> p.Stmt:
        """Mark the regions of a statement that is the last of its path; return the result."""
        if not self._locked[id(stmt)]:
            return stmt
        if isinstance(stmt, p.Block):
            first = 0
            while not self._starts[id(stmt.body[first])]:
                first += 1
            rest = stmt.body[first:]
            inner = self._narrow(rest[0]) if len(rest) == 1 else self._region(stmt, rest)
            return p.Block(stmt.span, [*stmt.body[:first], inner]) if first else inner
        if isinstance(stmt, p.If) and not self._starts[id(stmt.cond)]:
            other = stmt.otherwise
            return p.If(
                stmt.span,
                stmt.cond,
                self._narrow(stmt.then),
                self._narrow(other) if other is not None else None,
            )
        return self._region(stmt, [stmt])

    def _region(self, around: p.Stmt, rest: list[p.Stmt]) -> p.Stmt:
        inside = rest[0] if len(rest) == 1 else p.Block(around.span, rest)
        found = self._graph.whole(inside)
        judged = self._conditions.changed_by(found)
        held = self._conditions.widened(found, judged)
        return p.Locked(rest[0].span, inside, locks_of(held, self._constant), judged)
