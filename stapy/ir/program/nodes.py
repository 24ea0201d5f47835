"""What bodies are made of: the bases of expressions and statements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.record import Record

if TYPE_CHECKING:
    from stapy.diagnostics import Span
    from stapy.ir.program.types import Type


class Expr(Record):
    """Base of all typed expressions."""

    span: Span
    type: Type


class Stmt(Record):
    """Base of all typed statements."""

    span: Span


# A node of a body; trees are walked without a look at which it is.
Node = Expr | Stmt
