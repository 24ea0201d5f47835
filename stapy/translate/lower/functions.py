"""Whole C functions: script functions, arming conditions, and what handlers are put together of."""

from __future__ import annotations

from stapy.diagnostics import NOWHERE
from stapy.ir import program as p
from stapy.ir.walk import walk
from stapy.translate.c.text import comment
from stapy.translate.c.values import Value
from stapy.translate.c.writer import CWriter
from stapy.translate.lower import arrays, assignments, calls, memory, prints, statements  # noqa: F401 (rules)
from stapy.translate.lower.body import FunctionWriter, Local
from stapy.translate.lower.dispatch import lower
from stapy.translate.lower.embedded import exhausted
from stapy.translate.lower.expressions import truth
from stapy.translate.lower.known import AvailableValues
from stapy.translate.lower.signatures import copied_parameters, parameter_names, signature
from stapy.translate.state import Unit


def wrapped(text: str) -> list[str]:
    """Wrap a text of a comment into lines that fit."""
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + len(word) > 90:
            lines.append("  " + word)
        else:
            lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return lines


def body_frame(body: FunctionWriter) -> int:
    """Compute the bytes of a function's frame, rounded up generously."""
    return sum((size + 7) // 8 * 8 for _, size in body.frame)


def function_text(unit: Unit, function: p.Function) -> str:
    """Write the C of one script function with a body in the language."""
    assert function.body is not None
    charged = unit.charging and unit.costs.function(function) is None
    body = FunctionWriter(unit, is_charged=charged, owner=function)
    body.returns = function.type
    if function.type == p.STRING:
        body.result_room = unit.result_room(function)
    body.known = AvailableValues(unit, function.body)
    copies = copied_parameters(function)
    names = parameter_names(unit, function)
    for name in names:
        body.names.make(name)
    before: list[str] = []
    for param, name in zip(function.params, names):
        if param.name not in copies:
            body.locals[param.name] = Local(name, param.type, False, True)
    body.declare([param for param in function.params if param.name in copies])
    body.declare(function.locals)
    if any(isinstance(node, p.Next) for node in walk(function.body)):
        body.next_call = _next_call(unit, function, names)
        body.next_returns = function.next is not None and function.next.type == p.LONG
    nested = function.is_recursive or unit.nesting_is_watched
    if nested:
        before += ["if (!stapy_nest(c, stapy_at_call))", f"\t{body.goto('out')}"]
    statements.write_inside(body, function.body)
    for param, name in zip(function.params, names):
        if param.name in copies and body.locals[param.name].is_used:
            text = body.locals[param.name].text
            if param.type == p.STRING:
                before.append(f"stapy_copy({text}, {name}, sizeof({text}));")
            else:
                before.append(f"{text} = {name};")
        if param.name in copies and param.type == p.STRING:
            body.locals[param.name].is_parameter = True
    if function.type == p.STRING:
        before.insert(0, "ret[0] = '\\0';")
    after = ["c->nesting++;"] if nested else []
    if body.frame:
        after.append("c->frame = (char *)l;")
    out = CWriter()
    out.line(comment(f"function {function.name} at {unit.places.where(function.span)}"))
    out.line(signature(unit, function))
    assemble(out, body, before, after, "ret" if function.type == p.LONG else "")
    unit.frames[unit.function_name(function)] = body_frame(body)
    unit.stacks[unit.function_name(function)] = body.stack_bytes()
    return out.text()


def _next_call(unit: Unit, function: p.Function, names: list[str]) -> str:
    following = function.next
    if following is None:
        return exhausted()
    if following.type == p.STRING:
        unit.result_room(following, unit.result_room(function))
    args = ["c", *(["ret"] if following.type == p.STRING else []), *names[: len(following.params)]]
    return f"{unit.function_name(following)}({', '.join(args)});"


def condition_function(unit: Unit, name: str, condition: p.Expr) -> str:
    """Write the C of one arming condition; one that fails is false, and nobody is told."""
    body = FunctionWriter(unit)
    body.in_condition = True
    value: Value = lower(body, condition)
    body.out.line(f"return {truth(value)};")
    out = CWriter()
    text = "always" if condition.span is NOWHERE else f"if ({unit.sources.text(condition.span)})"
    out.line(comment(text))
    out.line(f"static bool {name}(struct stapy_context *c)")
    assemble(out, body, [], [], "false" if body.labels else "")
    unit.frames[name] = body_frame(body)
    unit.stacks[name] = body.stack_bytes()
    return out.text()


def assemble(
    out: CWriter, body: FunctionWriter, before: list[str], after: list[str], result: str
) -> None:
    """Put declarations, the written lines and the way out together."""
    out.open("")
    jumps = body.labels.get("out", 0) - body.out.fall_into("out")
    if not after and not result:
        jumps = body.out.leave_at("out", jumps)
    last = body.out.last
    if result == "ret" and not jumps and not after and last is not None and last.result:
        result = last.result
        body.out.drop_last()
        if body.out.sets_result:
            body.declarations.append(("s64", "ret = 0"))
    _declarations(out, body, result)
    starts = [
        f"{local.text}[0] = '\\0';" if local.type == p.STRING else f"{local.text} = 0;"
        for local in body.locals.values()
        if local.is_used and local.in_frame and not local.is_parameter
    ]
    for line in [*starts, *before]:
        out.line(line)
    if starts or before:
        out.blank()
    out.splice(body.out)
    if jumps:
        out.label("out")
        if not after and not result:
            out.line("return;")
    for line in after:
        out.line(line)
    if result:
        out.line(f"return {result};")
    out.close()


def _declarations(out: CWriter, body: FunctionWriter, result: str) -> None:
    if body.frame:
        out.open("struct")
        for declaration, _ in body.frame:
            out.line(declaration + ";")
        out.close(" *l = stapy_frame(c, sizeof(*l));")
    if body.key_count:
        out.line(f"union stapy_key keys[{body.key_count}];")
    by_kind: dict[str, list[str]] = {}
    for local in body.locals.values():
        if local.is_used and not local.in_frame and not local.is_parameter:
            by_kind.setdefault("s64", []).append(f"{local.text} = 0")
    if result == "ret":
        by_kind.setdefault("s64", []).append("ret = 0")
    for kind, declarator in body.declarations:
        by_kind.setdefault(kind, []).append(declarator)
    for kind in sorted(by_kind, key=lambda kind: (not kind.startswith("struct"), kind)):
        for line in _packed(kind, by_kind[kind]):
            out.line(line)
    if body.frame or body.key_count or by_kind:
        out.blank()


def _packed(kind: str, declarators: list[str]) -> list[str]:
    """Write declarations of one type, as many on a line as fit."""
    lines: list[str] = []
    current = ""
    for declarator in declarators:
        if current and len(kind) + len(current) + len(declarator) > 84:
            lines.append(f"{kind} {current};")
            current = ""
        current = f"{current}, {declarator}" if current else declarator
    if current:
        lines.append(f"{kind} {current};")
    return lines
