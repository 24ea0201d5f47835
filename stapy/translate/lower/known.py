"""What a body has found out before: results of stable calls, elements that are there.

A walk over a body in the order in which it runs, before any C of it is written.  Within a straight
run of statements, and in the branches below it, a stable function (``tid()``) is called once, and
an element for which ``x in a`` was true is not looked for again: it stays where it is until
something takes it out, or makes place for another one in a wrapping array.

The walk says of an expression that it finds a value out, or that it is one which was found out
before (`AvailableValues.of`).  What it does not know of is written as usual.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.ir import program as p
from stapy.ir.walk import below, fingerprint, walk
from stapy.record import Record

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from stapy.translate.state import Unit

CONTEXT = "context"  # registers and arguments of the probed code, which guru scripts set
_PURE_KEYS = (p.Const, p.Text, p.LocalRef, p.GlobalRef, p.BinaryOp, p.UnaryOp, p.ContextValue)
_JUMPS = (p.Next, p.Return, p.Break, p.Continue)


class SharedValue(Record):
    """A value that is found out once: what it depends on, its C where that was written.

    ``array`` is the one whose element it is; None for the result of a call.
    """

    depends: frozenset[str]
    array: p.Global | None = None
    uses: int = 0
    text: str = ""


# By what was called or looked for.
Facts = dict["Hashable", SharedValue]


class AvailableValues:
    """What is known where, for the expressions of one body."""

    def __init__(self, unit: Unit, body: p.Stmt) -> None:
        self._unit = unit
        self._finds: dict[int, SharedValue] = {}
        self._uses: dict[int, SharedValue] = {}
        self._facts: Facts = {}
        nodes = walk(body)
        if len({id(node) for node in nodes}) < len(nodes):
            return  # a tree that stands in two places has no place
        if any(isinstance(node, p.InArray) or self._is_stable(node) for node in nodes):
            self._stmt(body)

    def finds(self, node: p.Expr) -> SharedValue | None:
        """Return what an expression has to find out, since others use it; None when nobody does."""
        found = self._finds.get(id(node))
        return found if found is not None and found.uses else None

    def text(self, node: p.Expr) -> str:
        """Return the C of what is known of an expression; "" when it has to be written as usual."""
        found = self._uses.get(id(node))
        return found.text if found is not None else ""

    # --- facts ------------------------------------------------------------------

    def _is_stable(self, node: p.Node) -> bool:
        """Tell whether a call cannot fail and gives the same value all through a handler."""
        return (
            isinstance(node, p.CallOp)
            and "stable" in node.function.markers
            and node.function.type != p.VOID
            and node.function.next is None
            and all(isinstance(arg, (p.Const, p.Text)) for arg in node.args)
            and not self._unit.may_fail(node.function)
        )

    def _element(self, var: p.Global, keys: Sequence[p.Expr | None]) -> Hashable | None:
        """Return the key by which an element is known; None if it is a slice or keys may change."""
        if var.type == p.STATS or any(key is None for key in keys):
            return None
        for key in keys:
            for node in walk(key):
                if self._is_stable(node) or isinstance(node, (p.Const, p.Text, p.LocalRef)):
                    continue
                if not isinstance(node, _PURE_KEYS) or not _is_plain(node):
                    return None
        return (var.c_name, tuple(fingerprint(key) for key in keys))

    def _forget(self, *changed: str) -> None:
        """Drop what depends on any of this state."""
        names = set(changed)
        self._facts = {k: v for k, v in self._facts.items() if not v.depends & names}

    def _forget_elements(self, var: p.Global | None = None) -> None:
        """Drop the elements of an array, of all arrays without one."""
        self._facts = {
            key: found
            for key, found in self._facts.items()
            if found.array is None or (var is not None and found.array is not var)
        }

    def _forget_all_of(self, *trees: p.Node | None) -> None:
        """Drop what anything in some trees may change, in whatever order they run."""
        for tree in trees:
            for node in walk(tree):
                self._change(node)

    def _change(self, node: p.Node) -> None:
        """Drop what a node itself changes."""
        if isinstance(node, (p.AssignOp, p.IncrementOp)):
            if isinstance(node.target, p.ElementRef):
                if node.target.var.wraps:
                    self._forget_elements(node.target.var)
            else:
                self._forget(_state(node.target))
        elif isinstance(node, p.CallOp):
            self._called(node.function)
        elif isinstance(node, (p.EmbeddedC, p.EmbeddedValue)):
            self._forget_elements()
            self._forget(CONTEXT, *("g." + var.c_name for var in node.writes))
        elif isinstance(node, p.Delete):
            if isinstance(node.target, p.ElementRef):
                self._forget_elements(node.target.var)
            else:
                self._forget(_state(node.target))
                if isinstance(node.target, p.GlobalRef):
                    self._forget_elements(node.target.var)
        elif isinstance(node, p.Foreach):
            self._forget(*(f"l.{key.name}" for key in (*node.keys, node.value) if key is not None))
        elif isinstance(node, p.ForeachBucket):
            names = [one.name for one in (node.bucket, node.value) if one is not None]
            self._forget(*(f"l.{name}" for name in names))
        elif isinstance(node, p.Try) and node.variable is not None:
            self._forget(f"l.{node.variable.name}")

    def _called(self, function: p.Function) -> None:
        written = function.writes
        if written:
            self._forget(*("g." + name for name in written))
            self._facts = {
                key: found
                for key, found in self._facts.items()
                if found.array is None or found.array.c_name not in written
            }
        if not function.markers & {"pure", "stable"}:
            self._forget(CONTEXT)

    def _apart(self, node: p.Node | None, facts: Facts) -> Facts:
        """Find what is known after something that runs with some facts; those here stay."""
        outer, self._facts = self._facts, dict(facts)
        if isinstance(node, p.Stmt):
            self._stmt(node)
        elif node is not None:
            self._expr(node)
        after, self._facts = self._facts, outer
        return after

    # --- statements -------------------------------------------------------------

    def _stmt(self, node: p.Stmt) -> None:
        if isinstance(node, p.Block):
            for item in node.body:
                self._stmt(item)
        elif isinstance(node, p.Locked):
            self._stmt(node.body)
        elif isinstance(node, p.If):
            self._if(node)
        elif isinstance(node, (p.Loop, p.Foreach, p.ForeachBucket)):
            self._loop(node)
        elif isinstance(node, p.Try):
            self._apart(node.body, self._facts)
            self._forget_all_of(node.body)
            self._apart(node.handler, self._facts)
            self._forget_all_of(node)
        elif isinstance(node, p.Delete):
            if isinstance(node.target, p.ElementRef):
                self._known_or_keys(node.target)
            self._change(node)
        else:
            self._below(node)
            self._change(node)

    def _if(self, node: p.If) -> None:
        yes, no = self._cond(node.cond)
        after = self._apart(node.then, {**self._facts, **yes})
        other = self._apart(node.otherwise, {**self._facts, **no})
        if _leaves(node.then):
            self._facts = other
        elif node.otherwise is not None and _leaves(node.otherwise):
            self._facts = after
        else:
            self._facts = _both(after, other)

    def _loop(self, node: p.Loop | p.Foreach | p.ForeachBucket) -> None:
        if isinstance(node, p.Loop):
            self._forget_all_of(node)
            yes: Facts = {}
            if node.cond is not None:
                yes, _ = self._cond(node.cond)
            self._apart(node.step, self._facts)
            self._apart(node.body, {**self._facts, **yes})
            return
        self._below(node)
        self._forget_all_of(node)
        self._apart(node.body, self._facts)

    # --- expressions ------------------------------------------------------------

    def _cond(self, node: p.Expr) -> tuple[Facts, Facts]:
        """Walk a test: what is known besides when it is true, and when it is false."""
        if isinstance(node, p.UnaryOp) and node.op == "!":
            yes, no = self._cond(node.operand)
            return no, yes
        if isinstance(node, p.LogicalOp):
            yes, no = self._cond(node.left)
            first = yes if node.op == "&&" else no
            outer, self._facts = self._facts, {**self._facts, **first}
            second = self._cond(node.right)[0 if node.op == "&&" else 1]
            kept = {key: one for key, one in first.items() if self._facts.get(key) is one}
            self._facts = _both(outer, self._facts)
            both = {**kept, **second}
            return (both, {}) if node.op == "&&" else ({}, both)
        if isinstance(node, p.InArray):
            for key in node.keys:
                if key is not None:
                    self._expr(key)
            name = self._element(node.var, node.keys)
            if name is None or name in self._facts:
                return {}, {}
            found = SharedValue(_depends(node.keys), node.var)
            self._finds[id(node)] = found
            return {name: found}, {}
        self._expr(node)
        return {}, {}

    def _expr(self, node: p.Expr) -> None:
        if isinstance(node, p.LogicalOp):
            self._cond(node)
        elif isinstance(node, p.Conditional):
            yes, no = self._cond(node.cond)
            after = self._apart(node.yes, {**self._facts, **yes})
            other = self._apart(node.no, {**self._facts, **no})
            self._facts = _both(after, other)
        elif isinstance(node, p.PrettyPrint):
            for arg in node.args:  # each is tried for itself
                self._apart(arg, self._facts)
                self._forget_all_of(arg)
        elif isinstance(node, p.ElementRef):
            self._known_or_keys(node)
        elif isinstance(node, (p.AssignOp, p.IncrementOp)):
            self._assign(node)
        elif isinstance(node, (p.BucketRead, p.BucketIn)):
            self._expr(node.bucket)
            self._expr(node.stat)
        elif self._is_stable(node):
            self._stable(node)
        else:
            self._below(node)
            self._change(node)

    def _below(self, node: p.Node) -> None:
        """Look at the expressions directly below a node, in their order."""
        for item in below(node):
            if isinstance(item, p.Expr):
                self._expr(item)

    def _stable(self, node: p.Expr) -> None:
        name = ("call", fingerprint(node))
        found = self._facts.get(name)
        if found is None:
            self._finds[id(node)] = self._facts[name] = SharedValue(frozenset())
        else:
            found.uses += 1
            self._uses[id(node)] = found

    def _known_or_keys(self, node: p.ElementRef) -> None:
        """Note a use of an element that is known, or look at the keys of one that is not."""
        name = self._element(node.var, node.keys)
        found = self._facts.get(name) if name is not None else None
        if found is None:
            for key in node.keys:
                if key is not None:
                    self._expr(key)
        else:
            found.uses += 1
            self._uses[id(node)] = found

    def _assign(self, node: p.AssignOp | p.IncrementOp) -> None:
        target = node.target
        known: SharedValue | None = None
        if isinstance(target, p.ElementRef):
            name = self._element(target.var, target.keys)
            known = self._facts.get(name) if name is not None else None
            if known is None or target.var.type != p.LONG:
                known = None
                for key in target.keys:
                    if key is not None:
                        self._expr(key)
        elif not isinstance(target, (p.LocalRef, p.GlobalRef)):
            self._below(target)
        if isinstance(node, p.AssignOp):
            self._expr(node.value)
        if known is not None and any(one is known for one in self._facts.values()):
            known.uses += 1
            self._uses[id(target)] = known
        else:
            self._change(node)


def _both(one: Facts, other: Facts) -> Facts:
    """Keep what is known whichever of two ways was taken."""
    return {key: found for key, found in one.items() if other.get(key) is found}


def _leaves(stmt: p.Stmt) -> bool:
    last = stmt.body[-1] if isinstance(stmt, p.Block) and stmt.body else stmt
    return isinstance(last, _JUMPS)


def _is_plain(node: p.Node) -> bool:
    """Tell whether a key is computed without a step that may fail or go on by itself."""
    if isinstance(node, p.BinaryOp):
        return node.op not in ("/", "%", "u/", "u%", ".")
    return not isinstance(node, p.GlobalRef) or node.var.type != p.STATS


def _state(target: p.Expr) -> str:
    if isinstance(target, p.LocalRef):
        return "l." + target.name
    if isinstance(target, (p.GlobalRef, p.ElementRef)):
        return "g." + target.var.c_name
    return CONTEXT if isinstance(target, p.ContextValue) else ""


def _depends(keys: Sequence[p.Expr | None]) -> frozenset[str]:
    return frozenset(
        _state(node)
        for key in keys
        for node in walk(key)
        if isinstance(node, (p.LocalRef, p.GlobalRef, p.ContextValue))
    )
