"""Expressions: pure ones stay nested, the others become statements with a named result."""

from __future__ import annotations

from collections.abc import Callable

from stapy.diagnostics import NOWHERE
from stapy.ir import program as p
from stapy.ir.effects import effects, state_of
from stapy.ir.walk import walk
from stapy.translate.c import values as v
from stapy.translate.c.operations import BINARY, FAILING, SHIFTS, TRUNCATING
from stapy.translate.c.text import as_s64, comment
from stapy.translate.c.values import Value, const, literal, merged
from stapy.translate.lower.body import FunctionWriter
from stapy.translate.lower.dispatch import Destination, lower, lower_into, lower_many, lowers
from stapy.translate.sharing import OwnText

# --- constants and variables ---------------------------------------------


@lowers(p.Const)
def _const(body: FunctionWriter, expr: p.Const) -> Value:
    value = const(as_s64(expr.value))
    if expr.member_name:
        value.text += f" {comment(expr.member_name)}"
    return value


@lowers(p.Text)
def _text(body: FunctionWriter, expr: p.Text) -> Value:
    return literal(expr.value[: body.unit.string_room - 1])


@lowers(OwnText)
def _own_text(body: FunctionWriter, expr: OwnText) -> Value:
    return Value(expr.member, room=expr.room)


@lowers(p.LocalRef)
def _local(body: FunctionWriter, expr: p.LocalRef) -> Value:
    return Value(body.local(expr.name).text, reads=frozenset(("l." + expr.name,)))


@lowers(p.GlobalRef)
def _global(body: FunctionWriter, expr: p.GlobalRef) -> Value:
    return Value(body.unit.global_name(expr.var), reads=frozenset(("g." + expr.var.c_name,)))


# --- operators ------------------------------------------------------------


def binary(
    body: FunctionWriter, op: str, left: Value, right: Value, place: Callable[[], str]
) -> Value:
    """Combine two longs by ``op``; ``place`` gives the place of an error of division."""
    if op in FAILING:
        return _divide(body, op, left, right, place)
    if op in SHIFTS:
        return _shift(op, left, right)
    row = BINARY[op]
    if not (left.is_wide or right.is_wide) and (
        row.is_wide or not (_is_signed(left) and _is_signed(right))
    ):
        left = left.as_wide() if left.constant is None else left
        if not left.is_wide:
            right = right.as_wide()
    text = f"{left.at(row.left)} {row.operator} {right.at(row.right)}"
    fleeting = left.is_fleeting or right.is_fleeting
    return Value(text, row.level, merged(left, right), fleeting, row.is_wide)


def _is_signed(value: Value) -> bool:
    """Tell whether a narrow value is int-like; unsigned ones are cast before a comparison."""
    return value.constant is not None or value.level in (v.LESS, v.EQUAL, v.ANDAND, v.OROR)


def _shift(op: str, left: Value, right: Value) -> Value:
    """Combine two longs by a shift, whose count is taken modulo 64, as the processor does."""
    left = left.as_wide()
    if isinstance(right.constant, int):
        count = str(right.constant & 63)
    else:
        count = f"({right.at(v.UNARY)} & 63)"
    text = f"{left.at(v.UNARY)} {op} {count}"
    return Value(text, v.SHIFT, merged(left, right), left.is_fleeting or right.is_fleeting)


def _divide(
    body: FunctionWriter, op: str, left: Value, right: Value, place: Callable[[], str]
) -> Value:
    row = FAILING[op]
    if isinstance(right.constant, int) and right.constant not in (0, -1) and op in TRUNCATING:
        left = left.as_wide()
        text = f"{left.at(v.MUL)} {op} {right.at(v.UNARY)}"
        return Value(text, v.MUL, left.reads, left.is_fleeting)
    result = body.temp("s64", row.hint)
    if body.in_condition:
        body.out.guard(
            f"!stapy_try_{row.function[6:]}({left.text}, {right.text}, &{result})", body.fail()
        )
    else:
        body.check(f"{row.function}(c, {left.text}, {right.text}, &{result}, {place()})")
    return Value(result)


@lowers(p.BinaryOp)
def _binary(body: FunctionWriter, expr: p.BinaryOp) -> Value:
    if expr.op == ".":
        return concat(body, expr)
    left, right = lower_many(body, [expr.left, expr.right])
    if expr.left.type == p.STRING:
        row = BINARY[expr.op]
        text = f"stapy_compare({left.text}, {right.text}) {row.operator} 0"
        return Value(text, row.level, merged(left, right), is_wide=False)
    return binary(
        body,
        expr.op,
        left,
        right,
        lambda: _operator_place(body, expr),
    )


def _operator_place(body: FunctionWriter, expr: p.BinaryOp) -> str:
    if expr.operator_span != NOWHERE:
        return body.place(expr.operator_span)
    return body.place_of_operator(expr.left.span, expr.right.span, expr.span)


@lowers(p.UnaryOp)
def _unary(body: FunctionWriter, expr: p.UnaryOp) -> Value:
    value = lower(body, expr.operand)
    if expr.op == "!":
        return Value(f"!{value.at(v.UNARY)}", v.UNARY, value.reads, value.is_fleeting, False)
    if value.constant is not None or not value.is_wide:
        value = Value(f"(s64){value.at(v.UNARY)}", v.UNARY, value.reads, value.is_fleeting)
    text = value.at(v.UNARY)
    if text.startswith(expr.op):
        text = f"({text})"
    return Value(expr.op + text, v.UNARY, value.reads, value.is_fleeting)


@lowers(p.LogicalOp)
def _logical(body: FunctionWriter, expr: p.LogicalOp) -> Value:
    left = lower(body, expr.left)
    change = effects(expr.right)
    level = v.ANDAND if expr.op == "&&" else v.OROR
    with body.capture() as inner:
        right = lower(body, expr.right)
    if not len(inner) and not left.reads & change.writes:
        parts = [side.at(level if side.level == level else v.EQUAL) for side in (left, right)]
        text = f" {expr.op} ".join(parts)
        fleeting = left.is_fleeting or right.is_fleeting
        return Value(text, level, merged(left, right), fleeting, False)
    result = body.temp("s64", "both" if expr.op == "&&" else "either")
    body.out.line(f"{result} = {truth(left)};")
    with body.out.block(f"if ({result})" if expr.op == "&&" else f"if (!{result})"):
        body.out.splice(inner)
        body.out.line(f"{result} = {truth(right)};")
    return Value(result)


def truth(value: Value) -> str:
    """Write a value as a C text that is 0 or 1."""
    if value.level in (v.LESS, v.EQUAL, v.ANDAND, v.OROR) or value.text.startswith("!"):
        return value.text
    if isinstance(value.constant, int):
        return "1" if value.constant else "0"
    return f"{value.at(v.ADD)} != 0"


@lowers(p.Conditional)
def _conditional(body: FunctionWriter, expr: p.Conditional) -> Value:
    cond = lower(body, expr.cond)
    with body.capture() as yes_lines:
        yes = lower(body, expr.yes)
    with body.capture() as no_lines:
        no = lower(body, expr.no)
    string = expr.type == p.STRING
    room = max(yes.room, no.room) if yes.room and no.room else 0
    if not len(yes_lines) and not len(no_lines):
        if not string and not (yes.is_wide and no.is_wide):
            yes = Value(f"(s64){yes.at(v.UNARY)}", v.UNARY, yes.reads, yes.is_fleeting)
        text = f"{cond.at(v.OROR)} ? {yes.at(v.OROR)} : {no.at(v.OROR)}"
        fleeting = cond.is_fleeting or yes.is_fleeting or no.is_fleeting
        return Value(text, v.CHOICE, merged(cond, yes, no), fleeting, True, room=room)
    result = body.temp("const char *" if string else "s64", "chosen")
    body.out.open(f"if ({cond.text})")
    body.out.splice(yes_lines)
    body.out.line(f"{result} = {yes.text};")
    body.out.between("else")
    body.out.splice(no_lines)
    body.out.line(f"{result} = {no.text};")
    body.out.close()
    return Value(result, reads=merged(yes, no) if string else v.NOTHING, room=room)


# --- strings --------------------------------------------------------------


def concat(body: FunctionWriter, expr: p.BinaryOp) -> Value:
    """Write ``a . b`` into a buffer of the frame."""
    left, right = lower_many(body, [expr.left, expr.right])
    room = left.room + right.room - 1 if left.room and right.room else 0
    if isinstance(left.constant, str) and isinstance(right.constant, str):
        return literal((left.constant + right.constant)[: body.unit.string_room - 1])
    text, size = body.buffer(room)
    body.out.line(f"stapy_concat({text}, {left.text}, {right.text}, sizeof({text}));")
    return Value(text, room=room or size)


def lower_string_into(body: FunctionWriter, expr: p.Expr, target: Destination, state: str) -> None:
    """Evaluate a string straight into a variable that no part of it depends on.

    ``state`` is the variable's name in `Value.reads`; inside ``try`` a failing
    expression must leave the old value alone, so it goes through a buffer.
    """
    if isinstance(expr, p.BinaryOp) and expr.op == ".":
        if _joins_in_place(body, expr, target, state):
            return
    elif not (body.in_try or state.startswith("g.") or _reads_state(expr, state)) and lower_into(
        body, expr, target
    ):
        return
    value = lower(body, expr)
    body.out.line(f"stapy_copy({target.text}, {value.text}, {target.size});")


def _reads_state(expr: p.Expr, state: str) -> bool:
    for node in walk(expr):
        if isinstance(node, (p.LocalRef, p.GlobalRef)) and state_of(node) == state:
            return True
        if isinstance(node, p.CallOp) and state in {"g." + name for name in node.function.reads}:
            return True
    return False


def _joins_in_place(
    body: FunctionWriter, expr: p.BinaryOp, target: Destination, state: str
) -> bool:
    """Write ``x = a . b . c`` without a buffer; False where another part than the first reads x."""
    parts: list[p.Expr] = []
    node: p.Expr = expr
    while isinstance(node, p.BinaryOp) and node.op == ".":
        parts.append(node.right)
        node = node.left
    parts.append(node)
    parts.reverse()
    if any(_reads_state(part, state) for part in parts[1:]):
        return False
    if _reads_state(parts[0], state) and not isinstance(parts[0], (p.LocalRef, p.GlobalRef)):
        return False
    values = lower_many(body, parts)
    first = values[0].text
    for value in values[1:]:
        body.out.line(f"stapy_concat({target.text}, {first}, {value.text}, {target.size});")
        first = target.text
    return True


# --- regular expressions ----------------------------------------------------


@lowers(p.RegexMatch)
def _regex(body: FunctionWriter, expr: p.RegexMatch) -> Value:
    text = lower(body, expr.left)
    name = body.unit.regex(expr.pattern, expr.span)
    bang = "!" if expr.is_negated else ""
    level = v.UNARY if bang else v.ATOM
    if body.in_condition or not body.unit.captures:
        call = f"{bang}stapy_regex_search(&{name}, {text.text})"
        return Value(call, level, text.reads, text.is_fleeting, False)
    result = body.temp("s64", "matches")
    body.out.line(f"{result} = stapy_regex_match(c, &{name}, {text.text});")
    return Value(bang + result, level, is_wide=not bang)
