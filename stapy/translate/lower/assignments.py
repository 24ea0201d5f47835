"""Assignments and increments, as statements and as values."""

from __future__ import annotations

from stapy.diagnostics import Bug
from stapy.ir import program as p
from stapy.ir.effects import state_of
from stapy.translate.c import values as v
from stapy.translate.c.operations import FAILING, SHIFTS
from stapy.translate.c.values import Value, const
from stapy.translate.lower import arrays, memory
from stapy.translate.lower.body import FunctionWriter
from stapy.translate.lower.dispatch import Destination, hint_for, lower, lower_many, lowers
from stapy.translate.lower.expressions import binary, lower_string_into


@lowers(p.AssignOp)
def assign(body: FunctionWriter, expr: p.AssignOp) -> Value:
    """Write ``target op value``; return the value that was stored."""
    target = expr.target
    if isinstance(target, p.ElementRef):
        return _assign_element(body, expr, target)
    if isinstance(target, (p.LocalRef, p.GlobalRef)):
        return _assign_variable(body, expr, target)
    if isinstance(target, (p.MemoryRead, p.ContextValue)):
        return _assign_memory(body, expr, target)
    raise Bug(f"pass 3 cannot assign to {type(target).__name__}")


def _variable(body: FunctionWriter, target: p.LocalRef | p.GlobalRef) -> tuple[str, frozenset[str]]:
    reads = frozenset((state_of(target),))
    if isinstance(target, p.LocalRef):
        return body.local(target.name).text, reads
    return body.unit.global_name(target.var), reads


def _assign_variable(
    body: FunctionWriter, expr: p.AssignOp, target: p.LocalRef | p.GlobalRef
) -> Value:
    text, reads = _variable(body, target)
    if target.type == p.STRING:
        return _assign_string(body, expr, target, text, reads)
    value = lower(body, expr.value)
    if expr.op == "<<<":
        body.out.line(f"stapy_stat_add({text}, {value.text});")
        return value
    if expr.op == "=":
        body.out.line(f"{text} = {value.text};")
    else:
        update(body, expr, text, value)
    return Value(text, reads=reads)


def _assign_string(
    body: FunctionWriter, expr: p.AssignOp, target: p.Expr, text: str, reads: frozenset[str]
) -> Value:
    (state,) = reads
    size = f"sizeof({text})"
    if expr.op == "=":
        room = body.unit.string_room
        if isinstance(target, p.LocalRef):
            room = body.variable_room(target.name)
        lower_string_into(body, expr.value, Destination(text, size, room), state)
    else:
        value = lower(body, expr.value)
        if state in value.reads:
            value = body.keep(value, "text", True)
        body.out.line(f"stapy_concat({text}, {text}, {value.text}, {size});")
    return Value(text, reads=reads)


def update(body: FunctionWriter, expr: p.AssignOp, text: str, value: Value) -> None:
    """Write ``text op= value`` for a C lvalue that is an s64."""
    op = expr.op[:-1]
    if op in FAILING and value.constant in (None, 0, -1):
        place = body.place_of_operator(expr.target.span, expr.value.span, expr.span)
        pointer = text[1:] if text.startswith("*") else f"&{text}"
        call = f"{FAILING[op].function}(c, {text}, {value.text}, {pointer}, {place})"
        body.check(call)
    elif op in SHIFTS:
        count = (
            str(value.constant & 63)
            if isinstance(value.constant, int)
            else f"{value.at(v.UNARY)} & 63"
        )
        body.out.line(f"{text} {expr.op} {count};")
    elif value.constant == 1 and op in ("+", "-"):
        body.out.line(f"{_lvalue(text)}{op}{op};")
    else:
        body.out.line(f"{text} {expr.op} {value.text};")


def _lvalue(text: str) -> str:
    return f"({text})" if text.startswith("*") else text


def combine(body: FunctionWriter, expr: p.AssignOp, old: Value, value: Value) -> Value:
    """Compute the new value of a compound assignment to memory."""
    op = expr.op[:-1]
    return binary(
        body,
        op,
        old,
        value,
        lambda: body.place_of_operator(expr.target.span, expr.value.span, expr.span),
    )


def _assign_element(body: FunctionWriter, expr: p.AssignOp, target: p.ElementRef) -> Value:
    var = target.var
    known = arrays.known_slot(body, target) if var.type == p.LONG else ""
    if known:
        return _assign_known(body, expr, f"*{known}", arrays.state_of_var(var))
    keys, (value,) = arrays.lower_keys(body, var, target.keys, expr.value)
    if var.type == p.STRING:
        (value,) = arrays.keep_from_map(body, keys, value)
        array = arrays.fill(body, keys)
        if expr.op == ".=":
            old = arrays.fetch(body, var, array)
            room = body.room_of(target)  # for what is added as well
            text, _ = body.buffer(room)
            body.out.line(f"stapy_concat({text}, {old.text}, {value.text}, sizeof({text}));")
            value = Value(text, room=room)
        arrays.set_string(body, var, array, value, target)
        return value
    arrays.keep_from_map(body, keys)
    array = arrays.fill(body, keys)
    if expr.op == "<<<":
        place = body.place(target.span)
        name = body.unit.global_name(var)
        body.check(f"stapy_map_add(c, {name}, {array}, {value.text}, {place})")
        return value
    slot = arrays.slot(body, var, array, target)
    if expr.op == "=":
        body.out.line(f"{slot} = {value.text};")
        return value
    update(body, expr, slot, value)
    return Value(slot, v.UNARY, arrays.state_of_var(var))


def _assign_known(
    body: FunctionWriter, expr: p.AssignOp, slot: str, reads: frozenset[str]
) -> Value:
    """Write ``a[x] op value`` for a number that is surely there; return the value stored."""
    value = lower(body, expr.value)
    if expr.op == "=":
        body.out.line(f"{slot} = {value.text};")
        return value
    update(body, expr, slot, value)
    return Value(slot, v.UNARY, reads)


def _assign_memory(
    body: FunctionWriter, expr: p.AssignOp, target: p.MemoryRead | p.ContextValue
) -> Value:
    if isinstance(target, p.ContextValue):
        value = lower(body, expr.value)
        if target.type == p.STRING:
            return memory.set_text(body, target, expr.op, value)
        if expr.op != "=":
            value = combine(body, expr, lower(body, target), value)
        memory.write_context(body, target, value)
        return value
    address, value = lower_many(body, [target.address, expr.value], ["address", "value"])
    address = _steady(body, address)
    if expr.op != "=":
        old = memory.read(body, target, address, hint_for(body, target, "old"))
        value = combine(body, expr, old, value)
    memory.write(body, target, address, value)
    return value


def _steady(body: FunctionWriter, address: Value) -> Value:
    """Keep an address that is used more than once in a temporary."""
    return address if address.level == v.ATOM else body.keep(address, "address", False)


# --- increments ---------------------------------------------------------------


@lowers(p.IncrementOp)
def _increment(body: FunctionWriter, expr: p.IncrementOp) -> Value:
    return increment(body, expr, is_used=True)


def increment(body: FunctionWriter, expr: p.IncrementOp, is_used: bool) -> Value:
    """Write ``++x`` or ``x++``; the value is kept only when something uses it."""
    target = expr.target
    if isinstance(target, (p.MemoryRead, p.ContextValue)):
        return _increment_memory(body, expr, target)
    if isinstance(target, p.ElementRef) and arrays.known_slot(body, target):
        text = f"*{arrays.known_slot(body, target)}"
        reads = arrays.state_of_var(target.var)
    elif isinstance(target, p.ElementRef):
        keys, _ = arrays.lower_keys(body, target.var, target.keys)
        arrays.keep_from_map(body, keys)
        array = arrays.fill(body, keys)
        text = arrays.slot(body, target.var, array, target)
        reads = arrays.state_of_var(target.var)
    else:
        assert isinstance(target, (p.LocalRef, p.GlobalRef))
        text, reads = _variable(body, target)
    changed = f"{_lvalue(text)}{expr.op}"
    if is_used and not expr.is_prefix:
        old = body.temp("s64", "old")
        body.out.line(f"{old} = {changed};")
        return Value(old)
    body.out.line(changed + ";")
    return Value(text, v.UNARY if text.startswith("*") else v.ATOM, reads)


def _increment_memory(
    body: FunctionWriter, expr: p.IncrementOp, target: p.MemoryRead | p.ContextValue
) -> Value:
    if isinstance(target, p.ContextValue):
        old = body.keep(lower(body, target), "old", False)
    else:
        address = _steady(body, lower(body, target.address))
        old = memory.read(body, target, address, hint_for(body, target, "old"))
    one = binary(body, expr.op[0], old, const(1), lambda: "NULL")
    if isinstance(target, p.ContextValue):
        memory.write_context(body, target, one)
    else:
        memory.write(body, target, address, one)
    return one if expr.is_prefix else old


def evaluate(body: FunctionWriter, expr: p.Expr) -> None:
    """Write an expression for its effect only."""
    if isinstance(expr, p.IncrementOp):
        increment(body, expr, is_used=False)
        return
    lower(body, expr)  # what remains is pure, and nobody wants its value
