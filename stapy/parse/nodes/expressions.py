"""Expressions of the syntax, target variables and casts with their chains among them."""

from __future__ import annotations

from stapy.parse.nodes.base import Expr, Node
from stapy.record import new


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
