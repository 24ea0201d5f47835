"""How C sees a script function: its first line and the names of its parameters."""

from __future__ import annotations

import re

from stapy.ir import program as p
from stapy.ir.effects import PURE
from stapy.ir.walk import walk
from stapy.translate.c.names import Names
from stapy.translate.c.words import may_jump, words_in
from stapy.translate.state import Unit

# Nothing but marks and ``STAP_RETVALUE = …;``.
_ONE_LINE = re.compile(r"(?:\s|/\*[^*]*\*/)*STAP_RETVALUE = ([^;{}#\"'\\\n/]+);\s*")
C_TYPES = {p.LONG: "s64 ", p.STRING: "const char *"}


def signature(unit: Unit, function: p.Function) -> str:
    """Write the first line of a script function."""
    params = ["struct stapy_context *c"]
    if function.type == p.STRING:
        room = unit.result_room(function)
        params.append("char *ret" if room == unit.string_room else f"char ret[static {room}]")
    names = parameter_names(unit, function)
    params += [C_TYPES[param.type] + name for param, name in zip(function.params, names)]
    result = "s64" if function.type == p.LONG else "void"
    inline = "inline " if one_line(unit, function) else ""
    return f"static {inline}{result} {unit.function_name(function)}({', '.join(params)})"


def one_line(unit: Unit, function: p.Function) -> str:
    """Return the C expression that a library function of one assignment gives; "" for others."""
    source = unit.sources.source(function.span)
    found = _ONE_LINE.fullmatch(function.code or "")
    if found is None or source is None or not source.is_library or function.type != p.LONG:
        return ""
    if not PURE & function.markers or function.markers & {p.ASSERTS, "unmangled"}:
        return ""
    value, hidden = found[1], unit.failures.macros
    if unit.may_fail(function) or may_jump(value, hidden) or ("->" in value and "CONTEXT" in value):
        return ""
    for param, name in zip(function.params, parameter_names(unit, function)):
        value = re.sub(rf"\bSTAP_ARG_{re.escape(param.name)}\b", name, value)
    return "" if re.search(r"\b(STAP_|THIS\b|CONTEXT\b)", value) else value


def parameter_names(unit: Unit, function: p.Function) -> list[str]:
    """List the C names of a function's parameters."""
    names = Names(unit.words_of_c)
    if function.code:
        names.take(words_in(function.code))
    made = [names.make(param.name) for param in function.params]
    kept = copied_parameters(function)
    return [
        f"{name}_arg" if param.name in kept else name for param, name in zip(function.params, made)
    ]


def copied_parameters(function: p.Function) -> set[str]:
    """Find the parameters that the body changes in a way the caller must not see."""
    if function.body is None:
        return set()
    changed = _assigned(function.body)
    return {
        param.name
        for param in function.params
        if param.name in changed and (param.type == p.STRING or function.next is not None)
    }


def _assigned(stmt: p.Stmt) -> set[str]:
    names: set[str] = set()
    for node in walk(stmt):
        if isinstance(node, (p.AssignOp, p.IncrementOp)):
            if isinstance(node.target, p.LocalRef):
                names.add(node.target.name)
        elif isinstance(node, p.Delete) and isinstance(node.target, p.LocalRef):
            names.add(node.target.name)
        elif isinstance(node, p.Foreach):
            names |= {key.name for key in node.keys}
            if node.value is not None:
                names.add(node.value.name)
        elif isinstance(node, p.ForeachBucket):
            names.add(node.bucket.name)
            if node.value is not None:
                names.add(node.value.name)
        elif isinstance(node, p.Try) and node.variable is not None:
            names.add(node.variable.name)
        elif isinstance(node, (p.EmbeddedC, p.EmbeddedValue)):  # it may fill them
            names |= {item.name for item in node.arguments if isinstance(item, p.LocalRef)}
    return names
