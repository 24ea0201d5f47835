"""What every syntax node is, and what is below expressions and statements."""

from __future__ import annotations

from stapy.diagnostics import Span
from stapy.record import Record


class Node(Record):
    """Base of all syntax nodes."""

    span: Span


class Expr(Node):
    """Base of all expressions."""


class Stmt(Node):
    """Base of all statements."""
