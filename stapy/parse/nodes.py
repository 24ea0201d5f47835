"""Syntax nodes: what pass 1 hands to pass 2.

Slotted records without behaviour; the first field is always ``span``.  A name
ends in ``Stmt`` when it is a statement; everything below `Expr` is an
expression.  Sub-expressions keep no parentheses: the printer puts back those
that precedence needs.  ``docs/architecture.md``, "Records", has the rules.
"""

from __future__ import annotations

from stapy.diagnostics import Span
from stapy.record import Record, new


class Node(Record):
    """Base of all syntax nodes."""

    span: Span


# --- expressions ---------------------------------------------------------


class Expr(Node):
    """Base of all expressions."""


class Number(Expr):
    """Integer literal; ``value`` is already wrapped to int64."""

    value: int
    text: str = ""


class String(Expr):
    """String literal: ``value`` with escapes decoded (bytes as latin-1 characters)."""

    value: str


class Name(Expr):
    """A plain identifier: a variable, or a function called without parentheses."""

    name: str


class Index(Expr):
    """``base[keys]``: an element of a global array.  ``None`` in ``keys`` is the slice ``*``.

    ``base`` is `Name`, or a `Histogram` (bucket read).
    """

    base: Expr
    keys: list[Expr | None]


class Binary(Expr):
    """``left op right``; op in ``* / % + - << >> < > <= >= == != & ^ | .``.

    ``operator_at`` is where the operator stands in the source of ``span``, -1 when it
    stands in another (a macro's expansion).
    """

    op: str
    left: Expr
    right: Expr
    operator_at: int = -1


class Logical(Expr):
    """``left && right`` or ``left || right``, short circuit."""

    op: str
    left: Expr
    right: Expr


class Regex(Expr):
    """``left =~ "pattern"`` (op ``=~``) or ``!~``."""

    op: str
    left: Expr
    pattern: String


class ArrayIn(Expr):
    """``[keys] in array``; ``None`` among the keys is ``*``."""

    keys: list[Expr | None]
    array: Expr


class Unary(Expr):
    """``op operand``; op in ``- + ! ~``."""

    op: str
    operand: Expr


class Increment(Expr):
    """``++x``, ``x--`` …; ``op`` is ``++`` or ``--``."""

    op: str
    operand: Expr
    is_prefix: bool


class Assign(Expr):
    """``target op value``; op in ``= <<< += -= *= /= %= <<= >>= &= ^= |= .=``."""

    op: str
    target: Expr
    value: Expr


class Ternary(Expr):
    """``cond ? yes : no``."""

    cond: Expr
    yes: Expr
    no: Expr


class Call(Expr):
    """``name(args)``: a script function."""

    name: str
    args: list[Expr]


class Print(Expr):
    """The print family.

    ``name`` as written (``print println printd printdln printf`` and the
    ``sprint…`` forms, ``printk`` is an ordinary function).  ``format`` is the
    printf format or the delimiter of ``…d`` forms, else None.
    """

    name: str
    format: String | None
    args: list[Expr]


class Histogram(Expr):
    """``@hist_log(stat)`` or ``@hist_linear(stat, low, high, step)``; ``kind`` log|linear."""

    kind: str
    stat: Expr
    params: list[Expr] = new(list)


class StatOp(Expr):
    """``@count(stat)`` …: ``op`` in count sum min max avg variance; ``params`` holds the shift."""

    op: str
    stat: Expr
    params: list[Expr] = new(list)


# target variables and casts: a root and a chain of components


class Component(Node):
    """Base of one step of a chain."""


class MemberAccess(Component):
    """``->name``."""

    name: str


class Subscript(Component):
    """``[index]``; the index may be any expression."""

    index: Expr


class Pretty(Component):
    """Trailing ``$`` (depth 1) or ``$$`` (depth 2)."""

    depth: int


class Target(Expr):
    """``$name`` with its chain; ``name`` includes the dollar: ``$file``, ``$$vars``."""

    name: str
    chain: list[Component] = new(list)
    address_of: bool = False


class AtVar(Expr):
    """``@var("name[@cu]"[, "module"])`` with its chain."""

    name: str
    module: str
    chain: list[Component] = new(list)
    address_of: bool = False


class Cast(Expr):
    """``@cast(value, "type"[, "module"])`` with its chain."""

    value: Expr
    type: str
    module: str
    chain: list[Component] = new(list)
    address_of: bool = False


class AutoCast(Expr):
    """``expr->member…``: the type comes from the value itself."""

    value: Expr
    chain: list[Component] = new(list)
    address_of: bool = False


class Defined(Expr):
    """``@defined(expr)``."""

    operand: Expr


class Entry(Expr):
    """``@entry(expr)``."""

    operand: Expr


class Perf(Expr):
    """``@perf("name")``."""

    name: str


class ProbeWrite(Expr):
    """``@probewrite(target)``."""

    operand: Expr


class AtConst(Expr):
    """``@const("C expression")``."""

    text: str


class AtEnum(Expr):
    """``@enum("NAME")``."""

    name: str


class AtEnumName(Expr):
    """``@enumname(value[, "type"[, "module"]])``."""

    value: Expr
    type: str = ""
    module: str = ""


class AtRegister(Expr):
    """``@kregister(n)`` (user False) or ``@uregister(n)``, DWARF numbering."""

    number: Expr
    is_user: bool


class AtDeref(Expr):
    """``@kderef(size, address)`` or ``@uderef``."""

    size: Expr
    address: Expr
    is_user: bool


class EmbeddedExpr(Expr):
    """``%{ C %}`` used as a value."""

    code: str


# --- statements ----------------------------------------------------------


class Stmt(Node):
    """Base of all statements."""


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


# --- declarations --------------------------------------------------------


class PointComponent(Node):
    """``name(arg)`` in a probe point; ``arg`` is Number, String or None.

    ``name`` may hold the wildcards ``*`` and ``**``.
    """

    name: str
    arg: Number | String | None = None


class ProbePoint(Node):
    """``a.b("c").d ? if (cond)``.

    Braces have been expanded by the parser: ``a.{b,c}`` gives two points.
    ``optional`` is ``?``; ``sufficient`` is ``!``.
    """

    components: list[PointComponent]
    optional: bool = False
    sufficient: bool = False
    condition: Expr | None = None


class Decl(Node):
    """Base of top-level declarations."""


class GlobalDecl(Decl):
    """One global variable (``global a, b`` gives two)."""

    name: str
    is_private: bool = False
    init: Number | String | None = None
    size: int | None = None
    wraps: bool = False


class Param(Node):
    """Function parameter; ``type`` is "long", "string" or "" (to be inferred)."""

    name: str
    type: str = ""


class FunctionDecl(Decl):
    """A function; exactly one of ``body`` and ``code`` (embedded C) is set."""

    name: str
    params: list[Param]
    type: str
    body: Stmt | None
    code: str | None
    is_private: bool = False
    priority: int | None = None
    doc: str = ""


class ProbeDecl(Decl):
    """``probe points { body }``."""

    points: list[ProbePoint]
    body: Stmt


class AliasDecl(Decl):
    """``probe name = points { prologue }, { epilogue }``.

    ``epilogue`` alone comes from ``+=``; the other one is then None.
    ``name`` is a list of components without wildcards.
    """

    name: list[PointComponent]
    points: list[ProbePoint]
    prologue: Stmt | None
    epilogue: Stmt | None
    doc: str = ""


class EmbeddedDecl(Decl):
    """``%{ C %}`` at top level."""

    code: str


class Script(Node):
    """One parsed text.

    ``is_library`` is True for tapset files; ``path`` as shown in messages.
    """

    path: str
    decls: list[Decl]
    is_library: bool = False
