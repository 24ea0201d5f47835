"""Calls of script functions and embedded C inside bodies."""

from __future__ import annotations

from stapy.ir import program as p
from stapy.translate.c import values as v
from stapy.translate.c.values import Value
from stapy.translate.c.words import may_jump
from stapy.translate.lower.body import FunctionWriter
from stapy.translate.lower.dispatch import Destination, lower_many, lowers, lowers_into
from stapy.translate.lower.embedded import global_macros
from stapy.translate.lower.known import SharedValue


def _arguments(body: FunctionWriter, expr: p.CallOp) -> list[Value]:
    function = expr.function
    names = [param.name for param in function.params]
    values = lower_many(body, expr.args, names)
    written = {"g." + name for name in function.writes}
    for at, (value, param) in enumerate(zip(values, function.params)):
        if param.type == p.STRING and value.reads & written:
            values[at] = body.keep(value, param.name, True)
    return values


def _text(body: FunctionWriter, expr: p.CallOp, values: list[Value], dest: str = "") -> str:
    parts = ["c", *([dest] if dest else []), *(value.text for value in values)]
    return f"{body.unit.function_name(expr.function)}({', '.join(parts)})"


def call_into(body: FunctionWriter, expr: p.CallOp, dest: str, room: int) -> None:
    """Call a string function with ``dest`` of so many bytes as its result."""
    body.unit.result_room(expr.function, room)
    values = _arguments(body, expr)
    body.out.line(_text(body, expr, values, dest) + ";")
    if body.unit.may_fail(expr.function):
        body.check_error(expr.span)


@lowers_into(p.CallOp)
def _call_into_variable(body: FunctionWriter, expr: p.CallOp, target: Destination) -> bool:
    if body.known is not None and (body.known.text(expr) or body.known.finds(expr)):
        return False
    if target.room < body.unit.result_room(expr.function):
        return False
    call_into(body, expr, target.text, target.room)
    return True


@lowers(p.CallOp)
def _call(body: FunctionWriter, expr: p.CallOp) -> Value:
    function = expr.function
    known = body.known.text(expr) if body.known is not None else ""
    if known:
        return Value(known)
    found = body.known.finds(expr) if body.known is not None else None
    if found is not None:
        return _find_out(body, expr, found)
    if function.type == p.STRING:
        dest, size = body.buffer(body.unit.result_room(function))
        call_into(body, expr, dest, size)
        return Value(dest)
    values = _arguments(body, expr)
    text = _text(body, expr, values)
    may_fail = body.unit.may_fail(function)
    if function.type == p.LONG and not may_fail and function.markers & {"pure", "stable"}:
        reads = v.merged(*values) | {"g." + name for name in function.reads}
        return Value(text, reads=reads, is_fleeting="stable" not in function.markers)
    if function.type == p.VOID:
        body.out.line(text + ";")
        if may_fail:
            body.check_error(expr.span)
        return Value("0", constant=0)
    result = body.temp("s64", function.name.strip("_"))
    body.out.line(f"{result} = {text};")
    if may_fail:
        body.check_error(expr.span)
    return Value(result)


def _find_out(body: FunctionWriter, expr: p.CallOp, found: SharedValue) -> Value:
    """Call a stable function whose result others use as well."""
    function = expr.function
    hint = function.name.strip("_")
    if function.type == p.STRING:
        size = body.unit.result_room(function)
        found.text = body.member(f"char {{}}[{body.unit.bytes_text(size)}]", size, hint)
        call_into(body, expr, found.text, size)
    else:
        found.text = body.function_temp("s64", hint)
        body.out.line(f"{found.text} = {_text(body, expr, _arguments(body, expr))};")
    return Value(found.text)


@lowers(p.ModuleAddress)
def _module_address(body: FunctionWriter, expr: p.ModuleAddress) -> Value:
    name = body.unit.module_symbol(f"{expr.module}:{expr.symbol}")
    if expr.symbol == p.PER_CPU:
        return Value(f"((s64)stapy_module_per_cpu(&{name}, {expr.offset}))", is_fleeting=True)
    return Value(f"((s64)READ_ONCE({name}.address) + {expr.offset}L)", is_fleeting=True)


@lowers(p.EmbeddedValue)
def _embedded_value(body: FunctionWriter, expr: p.EmbeddedValue) -> Value:
    string = expr.type == p.STRING
    words = ("\n", "goto", "STAP_", "kread", "uread", "write(", "deref", "/*", "//")
    simple = not any(word in expr.code for word in words)
    if p.ASSERTS in expr.markers:
        body.check(f"stapy_assert_myproc(c, {body.place(expr.span)})")
        simple = False
    # What the compiler may refuse gets a line of its own, which tells the place.
    simple = simple and "const" not in expr.markers
    if simple and not string and "pure" in expr.markers:
        return Value(f"((s64)({expr.code.strip()}))", is_fleeting=True)
    result = body.temp("const char *" if string else "s64", "embedded")
    closing = "\n);" if "//" in expr.code else ");"
    embedded_block(body, expr, f"{result} = (", expr.code.strip(), closing)
    return Value(result)


def embedded_block(
    body: FunctionWriter, node: p.Expr | p.Stmt, before: str, code: str, after: str
) -> None:
    """Write verbatim C in a block of its own; its errors leave the way that script errors do."""
    out = body.out
    jumps = may_jump(code, body.unit.failures.macros)
    macros = _macros(body, node)
    out.open("")
    if jumps:
        out.line("__label__ out, deref_fault;")
        out.blank()
    for name, value in macros:
        out.raw(f"#define {name} {value}")
    if before:
        out.raw(before)
    out.raw(body.unit.placed(node.span, code, body.unit.verbatim(code, node.span) + after))
    out.raw(body.unit.here)
    for name, _ in macros:
        out.raw(f"#undef {name.split('(')[0]}")
    if jumps:
        out.unused_label("deref_fault")
        out.unused_label("out")
    out.close()
    if jumps:
        body.check_error(node.span, "stapy_error_at")


def _macros(body: FunctionWriter, node: p.Expr | p.Stmt) -> list[tuple[str, str]]:
    """List SystemTap's names for globals and for the function's parameters, (macro, value)."""
    if not isinstance(node, (p.EmbeddedValue, p.EmbeddedC)):
        return []
    arguments = [
        (f"STAP_ARG_{argument.name}", f"({body.local(argument.name).text})")
        for argument in node.arguments
        if isinstance(argument, p.LocalRef)
    ]
    writes = {var.c_name for var in node.writes}
    rows = {var.c_name: var for var in (*node.reads, *node.writes)}
    return arguments + global_macros(body.unit, [rows[name] for name in sorted(rows)], writes)
