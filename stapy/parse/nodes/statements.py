"""Statements of the syntax."""

from __future__ import annotations

from stapy.parse.nodes.base import Expr, Node, Stmt


class Block(Stmt):
    """``{ … }``."""

    body: list[Stmt]


class EmptyStmt(Stmt):
    """``;`` alone."""


class ExprStmt(Stmt):
    """An expression whose value is not used."""

    expr: Expr


class IfStmt(Stmt):
    """``if (cond) then else otherwise``."""

    cond: Expr
    then: Stmt
    otherwise: Stmt | None = None


class WhileStmt(Stmt):
    """``while (cond) body``."""

    cond: Expr
    body: Stmt


class ForStmt(Stmt):
    """``for (init; cond; step) body``; any part may be missing."""

    init: Expr | None
    cond: Expr | None
    step: Expr | None
    body: Stmt


class ForeachKey(Node):
    """One loop variable; ``sort`` is 1 (``+``), -1 (``-``) or 0."""

    name: str
    sort: int = 0


class ForeachStmt(Stmt):
    """``foreach (value = [keys] in array[slice] sort limit n) body``.

    ``array`` is `Name` or `Histogram`.  ``value`` is the optional value
    variable (with its own sort mark); ``sort`` is the mark after the array's
    name, ``sort_op`` the aggregate operator written there
    (``@count`` → "count").  ``slice`` has one entry per key, None for ``*``;
    it is None when no slice was written.
    """

    keys: list[ForeachKey]
    value: ForeachKey | None
    array: Expr
    slice: list[Expr | None] | None
    sort: int
    sort_op: str
    limit: Expr | None
    body: Stmt


class BreakStmt(Stmt):
    """``break``."""


class ContinueStmt(Stmt):
    """``continue``."""


class NextStmt(Stmt):
    """``next``."""


class ReturnStmt(Stmt):
    """``return [value]``."""

    value: Expr | None = None


class DeleteStmt(Stmt):
    """``delete target``; target is `Name` or `Index`."""

    target: Expr


class TryStmt(Stmt):
    """``try { } catch (name) { }``; ``variable`` is None without parentheses."""

    body: Stmt
    variable: str | None
    handler: Stmt


class EmbeddedStmt(Stmt):
    """``%{ C %}`` used as a statement."""

    code: str
