"""What an alias computes, as late as possible: a hit that the script's own test turns away pays
for none of it.

The body of an alias stands before the script's, and sets variables of which a handler reads few,
mostly behind a test of its own (``if (pid() != target()) next``).  Such an assignment goes down
to the first statement that needs its variable, into a branch when only that one does.

- Only statements of an alias move; what the script itself says stays where it is.
- The value is the same there: it does nothing, reads no global that changes, no clock and no match
  of a regular expression, and no variable that is set on the way.
- On its way down it passes tests and assignments to local variables only, nothing that can be seen
  or that changes memory.  A value that cannot be read is an error after all that came before, as
  ever; when the test has turned the hit away, it is none.
- Never into a loop, where it would be computed many times, nor into ``try``, which would catch it.

A variable that only ever is a literal is that literal wherever it is read.

``--compatible=4.3`` computes everything at the start, as SystemTap does; ``-u`` does, too.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from stapy.elaborate.lower.fold import fold
from stapy.ir import program as p
from stapy.ir.effects import access, function_effects, has_effect
from stapy.ir.walk import transform, walk
from stapy.record import replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from stapy.diagnostics import SourceMap, Span
    from stapy.ir.effects import CallGraph

CLOCK = "clock"  # the mark of library functions whose value goes on by itself
_VALUES = (
    *(p.Const, p.Text, p.LocalRef, p.BinaryOp, p.UnaryOp, p.LogicalOp, p.Conditional),
    *(p.MemoryRead, p.ContextValue, p.EntryRegister, p.SavedEntry, p.NotKnown, p.ModuleAddress),
    p.FileImage,
    *(p.PrintOp, p.PrettyPrint, p.CallOp),
)
_LEAVES = (p.Next, p.Return)


class Delay:
    """Moves assignments down in the handlers of one program."""

    def __init__(
        self,
        functions: list[p.Function],
        bodies: Iterable[p.Node],
        graph: CallGraph,
        sources: SourceMap,
    ) -> None:
        found = [*map(access, bodies), *graph.access.values()]
        self._written = {name for one in found for name in (*one.writes, *one.inserts)}
        self._impure = function_effects(functions)
        self._graph = graph
        self._sources = sources
        self._steady: dict[str, bool] = {}
        # By the id of a tree, which is kept, so that no other gets its id.
        self._mentioned: dict[int, tuple[p.Node, frozenset[str]]] = {}
        self._moved: set[int] = set()

    def body(self, body: p.Stmt, own: Span) -> p.Stmt:
        """Move what aliases set down to where it is needed; ``own`` is the script's own part."""
        if not isinstance(body, p.Block) or all(_is_inside(item.span, own) for item in body.body):
            return body
        literals = self._literals(body, own)
        if literals:
            body.body = [
                transform(item, lambda node: _insert(node, literals))
                for item in body.body
                if _target(item) not in literals
            ]
        self._mentioned.clear()
        self._moved.clear()
        done: list[p.Stmt] = []
        for item in reversed(body.body):
            name = _target(item)
            if name and not _is_inside(item.span, own) and self._may_move(item):
                done = self._placed(item, name, done)
                self._moved.add(id(item))
            else:
                done.insert(0, item)
        return p.Block(body.span, done)

    def _literals(self, body: p.Block, own: Span) -> dict[str, p.Const | p.Text]:
        """Find what an alias alone sets, once, to a literal before any use: the values by name."""
        found: dict[str, p.Const | p.Text] = {}
        before: set[str] = set()
        for item in body.body:
            name = _target(item)
            if name and name not in before and not _is_inside(item.span, own):
                assert isinstance(item, p.Evaluate) and isinstance(item.expr, p.AssignOp)
                if isinstance(item.expr.value, (p.Const, p.Text)):
                    found[name] = item.expr.value
            before |= _names(item)
        if not found:
            return {}
        times = Counter(name for node in walk(body) for name in set_by(node))
        return {name: value for name, value in found.items() if times[name] == 1}

    # --- what may move ----------------------------------------------------------

    def _may_move(self, stmt: p.Stmt) -> bool:
        assert isinstance(stmt, p.Evaluate) and isinstance(stmt.expr, p.AssignOp)
        return all(self._is_steady(node) for node in walk(stmt.expr.value))

    def _is_steady(self, node: p.Node) -> bool:
        """Tell whether a node, apart from its operands, has the same value a few tests later."""
        if isinstance(node, p.CallOp):
            return self._is_steady_function(node.function)
        if isinstance(node, (p.GlobalRef, p.ElementRef, p.InArray)):
            return node.var.c_name not in self._written
        return isinstance(node, _VALUES) and isinstance(node, p.Expr) and node.type != p.VOID

    def _is_steady_function(self, function: p.Function) -> bool:
        known = self._steady.get(function.c_name)
        if known is None:
            self._steady[function.c_name] = False  # while it is looked at: no recursion
            known = self._steady[function.c_name] = self._look(function)
        return known

    def _look(self, function: p.Function) -> bool:
        uses = self._graph.access[function.c_name]
        if not self._written.isdisjoint((*uses.reads, *uses.writes, *uses.inserts)):
            return False
        if function.c_name in self._impure:
            return False
        if function.next is not None and not self._is_steady_function(function.next):
            return False
        if function.body is None:
            if "stable" in function.markers:
                return True
            source = self._sources.source(function.span)
            return source is not None and source.is_library and CLOCK not in function.markers
        return all(
            self._is_steady_function(node.function)
            for node in walk(function.body)
            if isinstance(node, p.CallOp)
        ) and not any(
            isinstance(node, (p.RegexMatch, p.EmbeddedC, p.EmbeddedValue))
            for node in walk(function.body)
        )

    # --- where to ---------------------------------------------------------------

    def _placed(self, stmt: p.Stmt, name: str, rest: Sequence[p.Stmt]) -> list[p.Stmt]:
        """Put an assignment in front of the first statement that needs it; return them all."""
        reads = self._names(stmt) - {name}
        for at, item in enumerate(rest):
            if name not in self._names(item):
                if self._passes(item, reads):
                    continue
            elif isinstance(item, p.If):
                later = any(name in self._names(other) for other in rest[at + 1 :])
                into = None if later else self._into_branch(stmt, name, item)
                if into is not None:
                    return [*rest[:at], into, *rest[at + 1 :]]
            while at and id(rest[at - 1]) in self._moved:
                at -= 1  # what moves stays in its order
            return [*rest[:at], stmt, *rest[at:]]
        return [stmt, *rest]  # nobody reads it: what has no effect is dropped elsewhere

    def _into_branch(self, stmt: p.Stmt, name: str, test: p.If) -> p.If | None:
        """Move an assignment into the one branch that needs it; None when it cannot go there."""
        if name in self._names(test.cond) or has_effect(test.cond, self._impure):
            return None
        other = test.otherwise
        if name not in self._names(test.then):
            assert other is not None
            return p.If(test.span, test.cond, test.then, self._inside_of(stmt, name, other))
        if other is not None and name in self._names(other):
            return None
        return p.If(test.span, test.cond, self._inside_of(stmt, name, test.then), other)

    def _inside_of(self, stmt: p.Stmt, name: str, branch: p.Stmt) -> p.Stmt:
        rest = branch.body if isinstance(branch, p.Block) else [branch]
        return p.Block(branch.span, self._placed(stmt, name, rest))

    def _passes(self, item: p.Stmt, reads: frozenset[str]) -> bool:
        """Tell whether a value computed after a statement is the one computed before it."""
        if isinstance(item, p.Block):
            return all(self._passes(one, reads) for one in item.body)
        if isinstance(item, p.If):
            branches = [item.then, *([item.otherwise] if item.otherwise is not None else [])]
            return not has_effect(item.cond, self._impure) and all(
                _leaves(one) or self._passes(one, reads) for one in branches
            )
        name = _target(item)
        if not name or name in reads:
            return False
        assert isinstance(item, p.Evaluate) and isinstance(item.expr, p.AssignOp)
        return not has_effect(item.expr.value, self._impure)

    def _names(self, node: p.Node) -> frozenset[str]:
        """Find the local variables that are read or set anywhere in a tree."""
        found = self._mentioned.get(id(node))
        if found is None:
            found = self._mentioned[id(node)] = node, frozenset(_names(node))
        return found[1]


def _target(stmt: p.Stmt) -> str:
    """Name the local variable that a plain assignment sets; "" for all other statements."""
    if isinstance(stmt, p.Evaluate) and isinstance(stmt.expr, p.AssignOp) and stmt.expr.op == "=":
        target = stmt.expr.target
        return target.name if isinstance(target, p.LocalRef) else ""
    return ""


def set_by(node: p.Node) -> list[str]:
    """List the local variables that a node itself sets, not those that its children set."""
    if isinstance(node, (p.AssignOp, p.IncrementOp, p.Delete)):
        return [node.target.name] if isinstance(node.target, p.LocalRef) else []
    found: list[p.Variable | None] = []
    if isinstance(node, p.Foreach):
        found = [*node.keys, node.value]
    elif isinstance(node, p.ForeachBucket):
        found = [node.bucket, node.value]
    elif isinstance(node, p.Try):
        found = [node.variable]
    return [one.name for one in found if one is not None]


def _names(node: p.Node) -> set[str]:
    names: set[str] = set()
    for item in walk(node):
        names.update(set_by(item))
        if isinstance(item, p.LocalRef):
            names.add(item.name)
    return names


def _insert(node: p.Node, literals: dict[str, p.Const | p.Text]) -> p.Node:
    if isinstance(node, (p.BinaryOp, p.UnaryOp)):
        return fold(node)
    if not isinstance(node, p.LocalRef) or node.name not in literals:
        return node
    literal: p.Expr = replace(literals[node.name], span=node.span)
    return literal


def _leaves(stmt: p.Stmt) -> bool:
    """Tell whether a statement never goes on to the one behind it."""
    last = stmt.body[-1] if isinstance(stmt, p.Block) and stmt.body else stmt
    return isinstance(last, _LEAVES)


def _is_inside(span: Span, around: Span) -> bool:
    return span.source == around.source and around.start <= span.start < around.end
