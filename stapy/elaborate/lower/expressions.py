"""Lowering of expressions: names, operators, calls."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from stapy.diagnostics import NOWHERE, Span
from stapy.elaborate.lower import casts, entries, stats, targets
from stapy.elaborate.lower.elements import element
from stapy.elaborate.lower.fold import constant
from stapy.elaborate.lower.pending import Pending
from stapy.elaborate.lower.permission import check_code
from stapy.elaborate.lower.printing import print_
from stapy.elaborate.names.privilege import asserted
from stapy.elaborate.names.syntax import markers, walk
from stapy.ir import program as p
from stapy.ir.effects import PRAGMA_READ, PRAGMA_WRITE
from stapy.parse import nodes as n

if TYPE_CHECKING:
    from collections.abc import Callable

    from stapy.elaborate.lower.context import Context

COMPARE = {"<", ">", "<=", ">=", "==", "!="}


def lower_expr(low: Context, node: n.Expr) -> p.Expr:
    """Lower any expression."""
    found = _EXPRESSIONS[type(node)](low, node)
    if isinstance(found, Pending):
        _keep_reads(low, node, found)
    return found


def _keep_reads(low: Context, node: n.Expr, found: Pending) -> None:
    """Have locals that a wrong expression would have read count as read.

    Else a message would tell that what gives them a value is left out.
    """
    for item in walk(node):
        if isinstance(item, n.Name) and item.name in low.body.locals:
            var = low.body.locals[item.name]
            if low.global_(item.name) is None:
                found.reads.append(p.LocalRef(item.span, var.type, var.name))


def decided(syntax: n.Expr, value: p.Expr) -> bool | None:
    """Decide the truth of a condition that ``@defined`` and constants settle, else return None."""
    if not any(isinstance(item, (n.Defined, n.ProbeWrite)) for item in walk(syntax)):
        return None
    known = constant(value)
    return None if not isinstance(known, int) else bool(known)


def number(low: Context, node: n.Number) -> p.Expr:
    """Lower an integer literal."""
    return p.Const(node.span, p.LONG, node.value)


def string(low: Context, node: n.String) -> p.Expr:
    """Lower a string literal."""
    return p.Text(node.span, p.STRING, node.value)


def name(low: Context, node: n.Name) -> p.Expr:
    """Lower a variable: parameter, global, or local."""
    var = low.global_(node.name)
    if var is not None:
        low.names.note_arity(var, 0, node.span)
        value = p.GlobalRef(node.span, var.type, var)
        low.values.remember(value, low.values.of_global(var))
        return value
    found = low.local(node.name)
    result = p.LocalRef(node.span, found.type, node.name)
    low.values.remember(result, low.values.of_local(low.body, node.name))
    return result


def index(low: Context, node: n.Index) -> p.Expr:
    """Lower ``array[keys]``, or the bucket of a histogram."""
    if isinstance(node.base, n.Histogram):
        stat = stats.histogram_stat(low, node.base)
        keys = [low.expr(k) for k in node.keys if k is not None]
        if stat is None or len(keys) != 1:
            return low.error("E0205", "a histogram has one key", node.span)
        return p.BucketRead(node.span, p.LONG, stat, keys[0])
    return element(low, node)


def binary(low: Context, node: n.Binary) -> p.Expr:
    """Lower a binary operator: arithmetic, bits, comparison, concatenation."""
    left, right = low.expr(node.left), low.expr(node.right)
    kind = p.STRING if node.op == "." else p.LONG
    at = node.operator_at
    place = Span(node.span.source, at, at + len(node.op)) if at >= 0 else NOWHERE
    return p.BinaryOp(node.span, kind, node.op, left, right, place)


def logical(low: Context, node: n.Logical) -> p.Expr:
    """Lower ``&&`` and ``||``; the right side is not looked at when @defined decides."""
    left = low.expr(node.left)
    known = decided(node.left, left)
    if known is not None and known == (node.op == "||"):
        low.rule_out(node.right)
        return p.Const(node.span, p.LONG, int(known))
    return p.LogicalOp(node.span, p.LONG, node.op, left, low.expr(node.right))


def regex(low: Context, node: n.Regex) -> p.Expr:
    """Lower ``=~`` and ``!~``; report a pattern that does not compile."""
    from stapy.ir.regex import RegexError, parse

    left = low.expr(node.left)
    try:
        parse(node.pattern.value)
    except RegexError as wrong:
        low.error(
            "E0256",
            f"regex compilation error (at position {wrong.offset}): {wrong.message}",
            node.pattern.span,
        )
    return p.RegexMatch(node.span, p.LONG, left, node.pattern.value, node.op == "!~")


def array_in(low: Context, node: n.ArrayIn) -> p.Expr:
    """Lower ``[keys] in array``, where the array may be a histogram."""
    keys = [low.expr(k) if k is not None else None for k in node.keys]
    if isinstance(node.array, n.Histogram):
        stat = stats.histogram_stat(low, node.array)
        if stat is None or len(keys) != 1 or keys[0] is None:
            return low.error("E0205", "a histogram has one key", node.span)
        return p.BucketIn(node.span, p.LONG, stat, keys[0])
    if not isinstance(node.array, n.Name):
        return low.error("E0250", "'in' needs an array or a histogram", node.array.span)
    var = low.array(node.array, len(keys))
    if var is None:
        return p.Const(node.span, p.LONG, 0)
    return p.InArray(node.span, p.LONG, var, keys)


def unary(low: Context, node: n.Unary) -> p.Expr:
    """Lower the unary operators ``- + ! ~``."""
    operand = low.expr(node.operand)
    if node.op == "+":
        return p.BinaryOp(node.span, p.LONG, "+", p.Const(node.span, p.LONG, 0), operand)
    return p.UnaryOp(node.span, p.LONG, node.op, operand)


def lvalue(low: Context, node: n.Expr, what: str, operator: n.Expr) -> p.Expr | None:
    """Lower the target of an assignment; None (reported) when it cannot be one."""
    if isinstance(node, n.Name):
        return name(low, node)
    if isinstance(node, n.Index) and isinstance(node.base, n.Name):
        place = element(low, node)
        return place if isinstance(place, p.ElementRef) else None
    if isinstance(node, (n.Target, n.AtVar, n.Cast, n.AutoCast)):
        return targets.write_place(low, node, getattr(operator, "op", ""))
    hint = "only variables, array elements and (with -g) target variables can be changed"
    if isinstance(operator, n.Assign) and operator.op == "=":
        hint = "'==' compares; '=' gives a value to a variable or to an element of an array"
    if isinstance(node, n.Ternary):
        hint = "write 'a ? b : (c = d)', or --compatible=3.3 to have it read like that"
    low.error(
        "E0254",
        f"Expecting lvalue for {what}",
        operator.span,
        where="the left side is not a variable",
        hint=hint,
    )
    return None


def assign(low: Context, node: n.Assign) -> p.Expr:
    """Lower ``=``, ``<<<`` and the compound assignments."""
    if node.op == "<<<":
        return stats.insert(low, node)
    target = lvalue(low, node.target, "assignment", node)
    value = low.expr(node.value)
    if target is None:
        return p.Const(node.span, low.types.new(), 0)
    # An unresolved place stays in the tree: a write is an effect, so it is not dropped unseen.
    result = p.AssignOp(node.span, target.type, node.op, target, value)
    ctype = low.values.ctype(value)
    if node.op == "=":
        low.values.remember(result, ctype)
        low.values.note_stored(target, value)
        if isinstance(node.target, n.Name):
            low.values.assign(low.body, node.target.name, value)
    return result


def increment(low: Context, node: n.Increment) -> p.Expr:
    """Lower ``++`` and ``--``."""
    target = lvalue(low, node.operand, f"'{node.op}'", node)
    if target is None:
        return p.Const(node.span, low.types.new(), 0)
    return p.IncrementOp(node.span, p.LONG, node.op, target, node.is_prefix)


def ternary(low: Context, node: n.Ternary) -> p.Expr:
    """Lower ``?:``; a branch that @defined rules out is not looked at."""
    cond = low.expr(node.cond)
    known = decided(node.cond, cond)
    if known is not None:
        low.rule_out(node.no if known else node.yes)
        return low.expr(node.yes if known else node.no)
    yes, no = low.expr(node.yes), low.expr(node.no)
    result = p.Conditional(node.span, low.types.new(), cond, yes, no)
    low.values.remember(result, low.values.common_ctype([yes, no]))
    return result


def call(low: Context, node: n.Call) -> p.Expr:
    """Lower a call of a script function."""
    args = [low.expr(arg) for arg in node.args]
    function = low.worklist.request(low, node, args)
    if function is None:
        return p.Const(node.span, low.types.new(), 0)
    result = p.CallOp(node.span, function.type, function, args)
    low.values.remember(result, low.worklist.result_ctype(function))
    return result


def embedded(low: Context, node: n.EmbeddedExpr) -> p.Expr:
    """Lower ``%{ C %}`` as a value."""
    marks = markers(node.code)
    kind = p.STRING if "string" in marks else p.LONG
    check_code(low, marks, node.span)
    marks |= asserted(low.services, marks)
    reads, writes = pragma_globals(low, marks)
    arguments = embedded_arguments(low, node.code, node.span)
    return p.EmbeddedValue(node.span, kind, node.code, marks, reads, writes, arguments)


def embedded_arguments(low: Context, code: str, span: Span) -> list[p.Expr]:
    """List the parameters of the function at hand that embedded C calls STAP_ARG_name."""
    function = low.body.function
    if function is None or "STAP_ARG_" not in code:
        return []
    words = set(re.findall(r"\bSTAP_ARG_(\w+)", code))
    return [
        p.LocalRef(span, low.local(param.name).type, param.name)
        for param in function.params
        if param.name in words
    ]


def pragma_globals(low: Context, marks: set[str]) -> tuple[list[p.Global], list[p.Global]]:
    """List the globals that embedded C reads, and those it writes, by ``/* pragma:read:x */``."""
    found: dict[str, list[p.Global]] = {PRAGMA_READ: [], PRAGMA_WRITE: []}
    for mark in sorted(marks):
        for prefix, list_ in found.items():
            var = low.global_(mark[len(prefix) :]) if mark.startswith(prefix) else None
            if var is not None:
                list_.append(var)
    return found[PRAGMA_READ], found[PRAGMA_WRITE]


def guru_only(low: Context, node: n.Expr, word: str) -> bool:
    """Report the use of an operator that needs -g; True when it is allowed."""
    if low.services.options.guru or low.body.file.script.is_library:
        return True
    low.error(
        "E0215",
        f"using {word} operator not permitted; need stap -g",
        node.span,
        hint="add -g when you are sure about the address or register",
    )
    return False


def register(low: Context, node: n.AtRegister) -> p.Expr:
    """Lower ``@kregister(n)`` and ``@uregister(n)``; n is a constant, a number of DWARF."""
    word = "@uregister" if node.is_user else "@kregister"
    index = constant(low.expr(node.number))
    last = len(low.services.machine.registers) - 1
    if not isinstance(index, int) or not 0 <= index <= last:
        return low.error("E0257", f"{word} needs a register number from 0 to {last}", node.span)
    guru_only(low, node, word)
    kind = "user_register" if node.is_user else "kernel_register"
    return p.ContextValue(node.span, p.LONG, kind, index)


def deref(low: Context, node: n.AtDeref) -> p.Expr:
    """Lower ``@kderef(size, address)`` and ``@uderef``; the size is 1, 2, 4 or 8 bytes."""
    word = "@uderef" if node.is_user else "@kderef"
    size = constant(low.expr(node.size))
    address = low.expr(node.address)
    if size not in (1, 2, 4, 8):
        return low.error("E0257", f"{word} needs a size of 1, 2, 4 or 8", node.span)
    guru_only(low, node, word)
    return p.MemoryRead(node.span, p.LONG, address, int(size), False, node.is_user)


_EXPRESSIONS: dict[type, Callable[..., p.Expr]] = {
    n.Number: number,
    n.String: string,
    n.Name: name,
    n.Index: index,
    n.Binary: binary,
    n.Logical: logical,
    n.Regex: regex,
    n.ArrayIn: array_in,
    n.Unary: unary,
    n.Increment: increment,
    n.Assign: assign,
    n.Ternary: ternary,
    n.Call: call,
    n.Print: print_,
    n.Histogram: stats.histogram_value,
    n.StatOp: stats.stat_read,
    n.Target: targets.target,
    n.AtVar: targets.at_var,
    n.Cast: casts.cast,
    n.AutoCast: casts.autocast,
    n.Defined: targets.defined,
    n.Entry: entries.entry,
    n.Perf: targets.perf,
    n.ProbeWrite: targets.probe_write,
    n.AtConst: casts.at_const,
    n.AtEnum: casts.at_enum,
    n.AtEnumName: casts.at_enum_name,
    n.AtRegister: register,
    n.AtDeref: deref,
    n.EmbeddedExpr: embedded,
}
