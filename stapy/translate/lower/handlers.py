"""Handlers: each by itself, or one body for those that differ only in their texts."""

from __future__ import annotations

from stapy.ir import program as p
from stapy.ir.walk import walk
from stapy.translate.c.text import comment
from stapy.translate.c.writer import CWriter
from stapy.translate.lower import statements
from stapy.translate.lower.body import CALL_BYTES, FunctionWriter
from stapy.translate.lower.functions import assemble, body_frame, wrapped
from stapy.translate.lower.known import AvailableValues
from stapy.translate.sharing import OWN, SharedBody
from stapy.translate.state import Unit


def handler_text(unit: Unit, handler: p.Handler, points: list[str], slots: str) -> str:
    """Write the C of one handler."""
    name = unit.handler_name(handler)
    out = CWriter()
    for line in _handler_comment(unit, handler, points):
        out.line(line)
    out.line(f"static void {name}(struct stapy_context *c)")
    _write_handler(unit, out, FunctionWriter(unit, name=name, owner=handler), handler, slots)
    return out.text()


def shared_text(unit: Unit, shared: SharedBody, slots: str) -> str:
    """Write the C of a body that handlers share, and of the record of what each has of its own."""
    name = unit.shared_name(shared)
    inside = CWriter()
    body = FunctionWriter(unit, name=unit.handler_name(shared.handler), shared=shared)
    _write_handler(unit, inside, body, shared.handler, slots)
    out = CWriter()
    count = len(shared.members)
    out.line(comment(f"what {count} handlers do alike: lines and numbers are of the first"))
    if shared.columns:
        out.open(f"struct {name}")
        for member in shared.columns:
            out.line(f"const char *{member};")
        out.close(";")
        out.blank()
    out.line(f"static noinline void {name}({', '.join(_parameters(shared, name))})")
    out.splice(inside)
    return out.text()


def _parameters(shared: SharedBody, name: str) -> list[str]:
    own = [f"const struct {name} *{OWN}"] if shared.columns else []
    return ["struct stapy_context *c", *own]


def sharer_text(unit: Unit, shared: SharedBody, at: int, points: list[str]) -> str:
    """Write the C of handler number ``at`` of those that share a body."""
    handler = shared.members[at]
    name, body = unit.handler_name(handler), unit.shared_name(shared)
    out = CWriter()
    for line in _handler_comment(unit, handler, points):
        out.line(line)
    out.line(f"static void {name}(struct stapy_context *c)")
    out.open("")
    if shared.columns:
        out.open(f"static const struct {body} {OWN} =")
        for member, values in shared.columns.items():
            out.line(f".{member} = {values[at]},")
        out.close(";")
        out.blank()
    out.line(f"{body}(c{f', &{OWN}' if shared.columns else ''});")
    out.close()
    unit.frames[name] = unit.frames[body]
    unit.stacks[name] = unit.stacks[body] + CALL_BYTES
    return out.text()


def _write_handler(
    unit: Unit, out: CWriter, body: FunctionWriter, handler: p.Handler, slots: str
) -> None:
    """Write what stands between a handler's braces."""
    cost = unit.costs.statement(handler.body)
    over = cost is None or cost > unit.limits.action_limit
    # Snapshots have a bound of their own.
    body.is_charged = unit.charging and over and not _is_snapshot(handler)
    name = body.name
    body.slots = slots
    body.known = AvailableValues(unit, handler.body)
    body.declare(handler.locals)
    matches = unit.captures and unit.uses_regex(handler.body)
    before: list[str] = []
    if matches:
        size = "sizeof(struct stapy_match) + MAXSTRINGLEN"
        match = body.member(f"char {{}}[{size}] __aligned(8)", 72 + unit.string_room, "match")
        before.append(f"stapy_remember_match(c, (struct stapy_match *){match});")
    statements.write_inside(body, handler.body)
    after: list[str] = []
    if handler.locks and not any(isinstance(node, p.Locked) for node in walk(handler.body)):
        table = unit.lock_table(handler.locks, name)
        before += [f"if (!stapy_lock(c, {table}, ARRAY_SIZE({table})))", "\treturn;"]
        unlock = f"stapy_unlock(c, {table}, ARRAY_SIZE({table}));"
        if handler.rechecks_condition:  # others may have made it false while we waited
            before += ["if (stapy_is_off(c->site->probe)) {", f"\t{unlock}", "\treturn;", "}"]
        after = [*unit.judge(handler.conditions), unlock]
    assemble(out, body, before, after, "")
    function = name if body.shared is None else unit.shared_name(body.shared)
    unit.frames[function] = body_frame(body)
    unit.stacks[function] = body.stack_bytes()


def _is_snapshot(handler: p.Handler) -> bool:
    return any(isinstance(node, p.PrintOp) and node.is_snapshot for node in walk(handler.body))


def _handler_comment(unit: Unit, handler: p.Handler, points: list[str]) -> list[str]:
    shown = points[:3]
    lines = [f"probe at {unit.places.where(handler.span)}:"] if handler.span.source >= 0 else []
    lines += [f"  {comment(point)[3:-3]}" for point in shown]
    if len(points) > len(shown):
        lines.append(f"  and {len(points) - len(shown)} more")
    rows = unit.lock_rows(handler.locks)
    if rows:
        kinds = ", ".join(f"{row['label']} ({row['mode']})" for row in rows)
        lines += wrapped(f"locks: {kinds}")
    if len(lines) == 1:
        return [comment(lines[0])]
    return ["/*", *(" * " + line for line in lines), " */"]
