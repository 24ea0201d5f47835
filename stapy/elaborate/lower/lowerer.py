"""Syntax to typed program: the state of lowering one body, and the statements.

Types are variables (`typevars.py`) at this point; `analyse/types.py` finds them once
the unused code is gone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.elaborate.lower.context import Context
from stapy.elaborate.lower.elements import element
from stapy.elaborate.lower.expressions import (
    decided,
    embedded_arguments,
    lower_expr,
    pragma_globals,
)
from stapy.elaborate.lower.permission import check_code
from stapy.elaborate.lower.stats import histogram_stat
from stapy.elaborate.lower.value_types import MIXED
from stapy.elaborate.names.privilege import asserted
from stapy.elaborate.names.syntax import markers
from stapy.ir import program as p
from stapy.parse import nodes as n

if TYPE_CHECKING:
    from collections.abc import Callable


class Lowerer(Context):
    """Lowers the pieces of one body."""

    def expr(self, node: n.Expr) -> p.Expr:
        """Lower an expression."""
        return lower_expr(self, node)

    # --- statements ---------------------------------------------------------

    def stmt(self, node: n.Stmt) -> p.Stmt:
        """Lower a statement."""
        result: p.Stmt = _STATEMENTS[type(node)](self, node)
        return result

    def loop_body(self, node: n.Stmt) -> p.Stmt:
        """Lower the body of a loop."""
        self.body.loops += 1
        try:
            return self.stmt(node)
        finally:
            self.body.loops -= 1

    def block(self, node: n.Block) -> p.Stmt:
        """Lower ``{ … }``."""
        return p.Block(node.span, [self.stmt(item) for item in node.body])

    def empty(self, node: n.Stmt) -> p.Stmt:
        """Lower ``;`` to an empty block."""
        return p.Block(node.span, [])

    def expression(self, node: n.ExprStmt) -> p.Stmt:
        """Lower an expression for its effect; operators that choose become ``if``."""
        return self.effect(node.expr)

    def effect(self, node: n.Expr) -> p.Stmt:
        """Evaluate an expression whose value is not used.

        What it chooses between need not have a value: ``debug && print(x)``.
        """
        if isinstance(node, n.Ternary):
            branch = n.IfStmt(
                node.span,
                node.cond,
                n.ExprStmt(node.yes.span, node.yes),
                n.ExprStmt(node.no.span, node.no),
            )
            return self.if_(branch)
        if isinstance(node, n.Logical):
            cond = node.left
            if node.op == "||":
                cond = n.Unary(node.left.span, "!", node.left)
            return self.if_(n.IfStmt(node.span, cond, n.ExprStmt(node.right.span, node.right)))
        value = self.expr(node)
        return p.Evaluate(value.span, value)

    def if_(self, node: n.IfStmt) -> p.Stmt:
        """Lower ``if``; a branch that ``@defined`` rules out is not even looked at."""
        cond = self.expr(node.cond)
        known = decided(node.cond, cond)
        if known is not None:
            chosen, other = (node.then, node.otherwise)[:: 1 if known else -1]
            self.rule_out(other)
            return self.stmt(chosen) if chosen is not None else p.Block(node.span, [])
        then = self.stmt(node.then)
        otherwise = self.stmt(node.otherwise) if node.otherwise is not None else None
        return p.If(node.span, cond, then, otherwise)

    def while_(self, node: n.WhileStmt) -> p.Stmt:
        """Lower ``while``."""

        def loop() -> p.Stmt:
            cond = self.expr(node.cond)
            return p.Loop(node.span, cond, None, self.loop_body(node.body))

        return self._around(loop)

    def for_(self, node: n.ForStmt) -> p.Stmt:
        """Lower ``for``: the first part comes before the loop."""

        def loop() -> p.Stmt:
            cond = self.expr(node.cond) if node.cond is not None else None
            body = self.loop_body(node.body)
            step = self.expr(node.step) if node.step is not None else None
            return p.Loop(node.span, cond, step, body)

        init = self.expr(node.init) if node.init is not None else None
        made = self._around(loop)
        if init is None:
            return made
        return p.Block(node.span, [p.Evaluate(init.span, init), made])

    def _around(self, loop: Callable[[], p.Stmt]) -> p.Stmt:
        """Lower a loop; its next round begins with the C types that its end leaves.

        When the loop takes the type from a local, or gives it to one whose members it has
        asked for in vain, it is lowered anew with that.
        """
        known = dict(self.body.ctypes)
        made = loop()
        found = self.body.ctypes
        lost = [name for name, type in found.items() if type is MIXED is not known.get(name)]
        gained = [name for name in self.body.wanted if known.get(name) is None and found.get(name)]
        if lost or gained:
            self.body.ctypes = {**known, **{name: found[name] for name in (*lost, *gained)}}
            made = loop()
        return made

    def loop_variable(self, key: n.ForeachKey) -> tuple[p.Variable, p.Stmt | None]:
        """Make the variable of a loop; for a global's name, a hidden one and its assignment."""
        var = self.global_(key.name)
        if var is None:
            if key.name in self.body.ctypes:
                self.body.ctypes[key.name] = None
            return self.local(key.name), None
        if not self.names.note_arity(var, 0, key.span):
            return self.local(key.name), None
        hidden = self.hidden(key.name, var.type)
        value = p.LocalRef(key.span, hidden.type, hidden.name)
        target = p.GlobalRef(key.span, var.type, var)
        assign = p.AssignOp(key.span, var.type, "=", target, value)
        return hidden, p.Evaluate(key.span, assign)

    def foreach(self, node: n.ForeachStmt) -> p.Stmt:
        """Lower ``foreach`` over an array or the buckets of a histogram."""
        keys, copies = [], []
        for key in node.keys:
            variable, copy = self.loop_variable(key)
            keys.append(variable)
            copies += [copy] if copy is not None else []
        value = None
        if node.value is not None:
            value, copy = self.loop_variable(node.value)
            copies += [copy] if copy is not None else []
        limit = self.expr(node.limit) if node.limit is not None else None
        if isinstance(node.array, n.Histogram):
            return self._foreach_bucket(node, keys, value, limit, copies)
        if not isinstance(node.array, n.Name):
            self.error("E0250", "foreach needs an array or a histogram", node.array.span)
            return p.Block(node.span, [])
        var = self.array(node.array, len(keys))
        if var is None:
            return p.Block(node.span, [])
        slice_ = None
        if node.slice is not None:
            if not self.names.note_arity(var, len(node.slice), node.span):
                return p.Block(node.span, [])
            slice_ = [self.expr(k) if k is not None else None for k in node.slice]
        sort = self._sort(node)
        if sort is None:
            return p.Block(node.span, [])
        body = self._around(lambda: self.loop_body(node.body))
        if copies:
            body = p.Block(body.span, [*copies, body])
        by, index, op, descending = sort
        if op:
            var.stats.add(op)  # the order reads it, like an operator of the body
        return p.Foreach(
            node.span, var, keys, value, slice_, by, index, op, descending, limit, body
        )

    def _sort(self, node: n.ForeachStmt) -> tuple[str, int, str, bool] | None:
        marks: list[tuple[str, int, int]] = []
        for number, key in enumerate(node.keys):
            if key.sort:
                marks.append(("key", number, key.sort))
        if node.value is not None and node.value.sort:
            marks.append(("value", 0, node.value.sort))
        if node.sort:
            marks.append(("value", 0, node.sort))
        if len(marks) > 1:
            self.error(
                "E0251",
                "multiple sort directives",
                node.span,
                where="only one mark may sort the loop",
                hint="keep one of the '+' and '-' marks",
            )
            return None
        if not marks:
            return "", 0, node.sort_op, False
        by, index, direction = marks[0]
        return by, index, node.sort_op, direction < 0

    def _foreach_bucket(
        self,
        node: n.ForeachStmt,
        keys: list[p.Variable],
        value: p.Variable | None,
        limit: p.Expr | None,
        copies: list[p.Stmt],
    ) -> p.Stmt:
        assert isinstance(node.array, n.Histogram)
        if len(keys) != 1:
            self.error("E0205", f"inconsistent arity (1 vs {len(keys)})", node.span)
            return p.Block(node.span, [])
        if node.sort or any(key.sort for key in node.keys) or (node.value and node.value.sort):
            self.error("E0251", "histogram buckets cannot be sorted", node.span)
            return p.Block(node.span, [])
        stat = histogram_stat(self, node.array)
        body = self.loop_body(node.body)
        if copies:
            body = p.Block(body.span, [*copies, body])
        if stat is None:
            return p.Block(node.span, [])
        return p.ForeachBucket(node.span, stat, keys[0], value, limit, body)

    def break_(self, node: n.BreakStmt) -> p.Stmt:
        """Lower ``break``; report it outside a loop."""
        if not self.body.loops:
            self.error("E0252", "cannot 'break' outside loop", node.span)
        return p.Break(node.span)

    def continue_(self, node: n.ContinueStmt) -> p.Stmt:
        """Lower ``continue``; report it outside a loop."""
        if not self.body.loops:
            self.error("E0252", "cannot 'continue' outside loop", node.span)
        return p.Continue(node.span)

    def next_(self, node: n.NextStmt) -> p.Stmt:
        """Lower ``next``."""
        return p.Next(node.span)

    def return_(self, node: n.ReturnStmt) -> p.Stmt:
        """Lower ``return``; report it outside a function."""
        value = self.expr(node.value) if node.value is not None else None
        if self.body.function is None:
            self.error(
                "E0253",
                "found 'return' not in function context",
                node.span,
                hint="'next' leaves a probe handler",
            )
        return p.Return(node.span, value)

    def delete(self, node: n.DeleteStmt) -> p.Stmt:
        """Lower ``delete`` of a scalar, an element, a slice, or a whole array."""
        target = node.target
        if isinstance(target, n.Name):
            var = self.global_(target.name)
            if var is None and target.name in self.body.locals:
                return p.Delete(node.span, self.expr(target))
            if var is None:
                self.error(
                    "E0202",
                    "unresolved array in delete statement",
                    target.span,
                    where=f"'{target.name}' is neither a global nor a local used before",
                )
                return p.Block(node.span, [])
            return p.Delete(node.span, p.GlobalRef(target.span, var.type, var))
        if isinstance(target, n.Index) and isinstance(target.base, n.Name):
            place = element(self, target, allow_wildcard=True)
            if isinstance(place, p.ElementRef):
                return p.Delete(node.span, place)
            return p.Block(node.span, [])
        self.error("E0254", "expecting a global or an element of an array", target.span)
        return p.Block(node.span, [])

    def try_(self, node: n.TryStmt) -> p.Stmt:
        """Lower ``try`` and ``catch``."""
        body = self.stmt(node.body)
        variable, copy = None, None
        if node.variable is not None:
            key = n.ForeachKey(node.span, node.variable)
            variable, copy = self.loop_variable(key)
        handler = self.stmt(node.handler)
        if copy is not None:
            handler = p.Block(handler.span, [copy, handler])
        return p.Try(node.span, body, variable, handler)

    def embedded(self, node: n.EmbeddedStmt) -> p.Stmt:
        """Lower ``%{ C %}`` as a statement."""
        marks = markers(node.code)
        check_code(self, marks, node.span)
        marks |= asserted(self.services, marks)
        reads, writes = pragma_globals(self, marks)
        arguments = embedded_arguments(self, node.code, node.span)
        return p.EmbeddedC(node.span, node.code, marks, reads, writes, arguments)


_STATEMENTS: dict[type, Callable[..., p.Stmt]] = {
    n.Block: Lowerer.block,
    n.EmptyStmt: Lowerer.empty,
    n.ExprStmt: Lowerer.expression,
    n.IfStmt: Lowerer.if_,
    n.WhileStmt: Lowerer.while_,
    n.ForStmt: Lowerer.for_,
    n.ForeachStmt: Lowerer.foreach,
    n.BreakStmt: Lowerer.break_,
    n.ContinueStmt: Lowerer.continue_,
    n.NextStmt: Lowerer.next_,
    n.ReturnStmt: Lowerer.return_,
    n.DeleteStmt: Lowerer.delete,
    n.TryStmt: Lowerer.try_,
    n.EmbeddedStmt: Lowerer.embedded,
}
