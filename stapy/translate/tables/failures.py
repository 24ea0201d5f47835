"""Which functions can leave an error behind: their callers look only after those."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.ir import program as p
from stapy.ir.walk import walk
from stapy.translate.c.operations import CONTEXT, FAILING, STAT_NEVER_FAILS
from stapy.translate.c.words import can_fail, macros_of

if TYPE_CHECKING:
    from collections.abc import Callable


class Failures:
    """Answers for one program; ``unbounded`` tells which functions watch MAXACTION."""

    def __init__(self, program: p.Program, unbounded: Callable[[p.Function], bool]) -> None:
        self.macros = macros_of(program)
        self._unbounded = unbounded
        self._known: dict[int, bool] = {}

    def of(self, function: p.Function) -> bool:
        """Tell whether a call can set the error of the run."""
        key = id(function)
        if key not in self._known:
            self._known[key] = True  # while it is looked at: recursion can fail
            self._known[key] = self._look(function)
        return self._known[key]

    def _look(self, function: p.Function) -> bool:
        if function.next is not None and self.of(function.next):
            return True
        if function.body is None:
            return can_fail(function, self.macros)
        if function.is_recursive or self._unbounded(function):
            return True
        last = function.next is None
        return any(
            self._fails(node) or (last and isinstance(node, p.Next)) for node in walk(function.body)
        )

    def _fails(self, node: p.Node) -> bool:
        """Tell whether the operation of a node itself can fail."""
        if isinstance(node, p.CallOp):
            return self.of(node.function)
        if isinstance(node, p.BinaryOp):
            return node.op in FAILING
        if isinstance(node, (p.AssignOp, p.IncrementOp)):
            return not isinstance(node.target, (p.LocalRef, p.GlobalRef)) or node.op in (
                "/=",
                "%=",
            )
        if isinstance(node, p.StatRead):
            return node.op not in STAT_NEVER_FAILS
        if isinstance(node, p.ContextValue):
            row = CONTEXT.get(node.name)
            return row is None or row.is_address or row.is_function
        if isinstance(node, p.PrintOp):
            return any(piece.kind in ("m", "M") for piece in node.pieces)
        if isinstance(node, p.Foreach):
            return node.value is not None and node.var.type == p.STATS
        kinds = (
            p.MemoryRead,
            p.EntryRegister,
            p.FileImage,
            p.NotKnown,
            p.HistogramRef,
            p.BucketRead,
            p.BucketIn,
            p.EmbeddedValue,
            p.EmbeddedC,
            p.Try,
        )
        return isinstance(node, kinds)
