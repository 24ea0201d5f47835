"""Functions whose body is C: arguments, result and globals by SystemTap's names."""

from __future__ import annotations

import re

from stapy.diagnostics import Span
from stapy.ir import program as p
from stapy.paths import data_dir
from stapy.translate.c.text import comment, verbatim
from stapy.translate.c.words import hides, may_jump, words_in
from stapy.translate.c.writer import CWriter
from stapy.translate.lower.signatures import C_TYPES, one_line, parameter_names, signature
from stapy.translate.state import Unit

# Members of SystemTap's context, and what they are here.
_MEMBERS = {
    "last_error": "error",
    "kregs": "regs",
    "uregs": "user_regs",
    "sregs": "user_regs",
    "probe_point": "site->point",
    "probe_name": "probe->alias",
    "actionremaining": "actions",
}
_MEMBER = re.compile(r"\b(CONTEXT|c)\s*->\s*(" + "|".join(_MEMBERS) + r")\b")
_RETURN = re.compile(r"\breturn\s*;")
_USER_MODE = re.compile(r"\bCONTEXT\s*->\s*user_mode_p\b")
_ERROR_BUFFER = re.compile(r"\bCONTEXT\s*->\s*error_buffer\b")


def embedded_function(unit: Unit, function: p.Function) -> str:
    """Write the C of one function with an embedded body."""
    code = modern(function.code or "")
    out = CWriter()
    hidden = unit.failures.macros
    jumps = may_jump(code, hidden)
    out.line(comment(f"function {function.name} at {unit.places.where(function.span)}"))
    value = one_line(unit, function)
    if value:
        unit.frames[unit.function_name(function)] = 0
        out.brief(signature(unit, function), f"return {value};")
        return out.text()
    out.line(signature(unit, function))
    out.open("")
    copies = _copied_arguments(unit, function)
    room = "error_buffer" if _ERROR_BUFFER.search(code) else ""
    if jumps:
        out.line("__label__ out, deref_fault;")
    _frame(unit, out, function, copies, room)
    code = _ERROR_BUFFER.sub("(l->error_buffer)", code)
    if function.type == p.LONG and _result(unit, function, code)[0][1] == "ret":
        out.line("s64 ret = 0;")
    _old_names(unit, out, function, code, copies)
    out.blank()
    if function.type == p.STRING:
        out.line("ret[0] = '\\0';")
    macros = _arguments(unit, out, function, copies)
    macros += _result(unit, function, code)
    macros += _globals(unit, function)
    words = set(words_in(code))
    if "STAP_NEXT" in words or hides(code, hidden):
        macros += _next(unit, function)
    if not hides(code, hidden):
        macros = [(name, value) for name, value in macros if name.split("(")[0] in words]
    if p.ASSERTS in function.markers:
        place = unit.places.of(function.span)
        leave = ["c->frame = (char *)l;"] if copies else []
        leave.append("return 0;" if function.type == p.LONG else "return;")
        out.guard(f"!stapy_assert_myproc(c, {place})", *leave)
    for name, value in macros:
        out.raw(f"#define {name} {value}".rstrip())
    out.open("")
    text = unit.verbatim(code, function.span)
    # The last statement may do without a semicolon, as where it is a macro.
    ended = "" if text.rstrip()[-1:] in ("", ";", "}", "/") else "\n;"
    out.raw(unit.placed(function.span, code, f"{text}{ended}"))
    out.raw(unit.here)
    out.close()
    for name, _ in macros:
        out.raw(f"#undef {name.split('(')[0]}")
    if jumps:
        out.unused_label("deref_fault")
        out.unused_label("out")
    _leave(unit, out, function, bool(copies or room), code)
    out.close()
    size = (len(copies) + bool(room)) * ((unit.string_room + 7) // 8 * 8)
    unit.frames[unit.function_name(function)] = size
    return out.text()


def _copied_arguments(unit: Unit, function: p.Function) -> list[str]:
    """List the string arguments that the code may change: copies, unless it promises not to.

    SystemTap's are arrays of MAXSTRINGLEN bytes, which it may fill; those of a caller's here are as
    long as their texts. Our own tapsets leave them alone, those of ``-I`` are anybody's.
    """
    source = unit.sources.source(function.span)
    ours = f"{data_dir('tapsets')}/"
    is_ours = source is not None and source.is_library and source.name.startswith(ours)
    if is_ours or "unmodified-fnargs" in function.markers:
        return []
    return [param.name for param in function.params if param.type == p.STRING]


def _names(unit: Unit, function: p.Function) -> dict[str, str]:
    names = parameter_names(unit, function)
    return {param.name: name for param, name in zip(function.params, names)}


def modern(code: str) -> str:
    """Convert embedded C to ours: SystemTap's returns carry no value, its context has members.

    A plain return must still go by the end of the function, which gives back its frame.
    """
    code = _RETURN.sub("goto out;", code)
    if "->" not in code:
        return code
    code = _USER_MODE.sub("(!CONTEXT->regs && CONTEXT->user_regs)", code)
    return _MEMBER.sub(lambda found: f"{found[1]}->{_MEMBERS[found[2]]}", code)


def _frame(unit: Unit, out: CWriter, function: p.Function, copies: list[str], room: str) -> None:
    if not copies and not room:
        return
    names = _names(unit, function)
    out.open("struct")
    for name in copies:
        out.line(f"char {names[name]}[MAXSTRINGLEN];")
    if room:  # for the text of an error, which is copied before the frame is given back
        out.line(f"char {room}[MAXSTRINGLEN];")
    out.close(" *l = stapy_frame(c, sizeof(*l));")


def _old_names(
    unit: Unit, out: CWriter, function: p.Function, code: str, copies: list[str]
) -> None:
    """Write ``THIS->x``, as scripts for SystemTap before 1.8 have it."""
    if "THIS" not in code:
        return
    names = _names(unit, function)
    names.update((name, f"l->{names[name]}") for name in copies)
    out.open("struct")
    if "unmangled" in function.markers:
        for param in function.params:
            kind = "char *" if param.name in copies else C_TYPES[param.type]
            out.line(f"{kind}{param.name};")
    if function.type != p.VOID:
        out.line("char *__retvalue;" if function.type == p.STRING else "s64 __retvalue;")
    fields = []
    if "unmangled" in function.markers:
        fields += [f".{param.name} = {names[param.name]}" for param in function.params]
    if function.type == p.STRING:
        fields.append(".__retvalue = ret")
    out.close(f" this_one = {{ {', '.join(fields)} }};")
    out.line("typeof(this_one) *THIS __maybe_unused = &this_one;")


def _arguments(
    unit: Unit, out: CWriter, function: p.Function, copies: list[str]
) -> list[tuple[str, str]]:
    names = _names(unit, function)
    macros = []
    for param in function.params:
        name = names[param.name]
        if param.name in copies:
            out.line(f"stapy_copy(l->{name}, {name}, sizeof(l->{name}));")
            name = f"(l->{name})"
        macros.append((f"STAP_ARG_{param.name}", name))
    return macros


def _result(unit: Unit, function: p.Function, code: str) -> list[tuple[str, str]]:
    if function.type == p.STRING:
        size = unit.bytes_text(unit.result_room(function))
        # An array, so that sizeof() says what the code expects.
        return [
            ("STAP_RETVALUE", f"(*(char (*)[{size}])ret)"),
            ("STAP_RETURN(v)", f"do {{ stapy_copy(ret, (v), {size}); goto out; }} while (0)"),
        ]
    if function.type == p.LONG:
        target = "(THIS->__retvalue)" if "THIS" in code and "__retvalue" in code else "ret"
        return [
            ("STAP_RETVALUE", target),
            ("STAP_RETURN(v)", f"do {{ {target} = (s64)(v); goto out; }} while (0)"),
        ]
    return [("STAP_RETURN(...)", "goto out")]


def exhausted() -> str:
    """Return the C of a ``next`` in a function's last overload: an error of the call."""
    return 'stapy_error(c, stapy_at_call, "all functions exhausted");'


def _next(unit: Unit, function: p.Function) -> list[tuple[str, str]]:
    following = function.next
    if following is None and "STAP_NEXT" not in (function.code or ""):
        return [("STAP_NEXT", "goto out")]  # no string for the message of a failure that cannot be
    if following is None:
        return [("STAP_NEXT", f"do {{ {exhausted()} goto out; }} while (0)")]
    if following.type == p.STRING:
        unit.result_room(following, unit.result_room(function))
    names = list(_names(unit, function).values())[: len(following.params)]
    args = ["c", *(["ret"] if following.type == p.STRING else []), *names]
    call = f"{unit.function_name(following)}({', '.join(args)})"
    if following.type == p.LONG:
        call = f"ret = {call}"
    return [("STAP_NEXT", f"do {{ {call}; goto out; }} while (0)")]


def _globals(unit: Unit, function: p.Function) -> list[tuple[str, str]]:
    found = [unit.find_global(name) for name in sorted(function.reads | function.writes)]
    variables = [var for var in found if var is not None]
    return [
        *global_macros(unit, variables, function.writes),
        # An array as the runtime has it: for the C of --monitor.
        *(
            (f"STAP_GLOBAL_MAP_{var.name}", unit.global_name(var))
            for var in variables
            if var.keys and f"STAP_GLOBAL_MAP_{var.name}" in (function.code or "")
        ),
        # And a statistic, for that of --metrics.
        *(
            (f"STAP_GLOBAL_STAT_{var.name}", f"{unit.global_name(var)}, &{unit.shape(var)}")
            for var in variables
            if f"STAP_GLOBAL_STAT_{var.name}" in (function.code or "")
        ),
    ]


def global_macros(unit: Unit, variables: list[p.Global], writes: set[str]) -> list[tuple[str, str]]:
    """List STAP_GLOBAL_GET_x and STAP_GLOBAL_SET_x of the globals in pragmas, (macro, value)."""
    macros: list[tuple[str, str]] = []
    for var in variables:
        if var.type == p.STATS:
            continue
        if var.keys:
            macros += _array_macros(unit, var, var.c_name in writes)
            continue
        name = unit.global_name(var)
        macros.append((f"STAP_GLOBAL_GET_{var.name}()", f"({name})"))
        if var.c_name in writes:
            store = (
                f"stapy_copy({name}, (v), MAXSTRINGLEN)"
                if var.type == p.STRING
                else f"({name} = (v))"
            )
            macros.append((f"STAP_GLOBAL_SET_{var.name}(v)", store))
    return macros


def _array_macros(unit: Unit, var: p.Global, writes: bool) -> list[tuple[str, str]]:
    name = unit.global_name(var)
    words = [f"k{number}" for number in range(len(var.keys))]
    fields = ", ".join(
        f"{{ .{'s' if kind == p.STRING else 'n'} = ({word}) }}"
        for word, kind in zip(words, var.keys)
    )
    keys = f"(union stapy_key []){{ {fields} }}"
    macros = [
        (
            f"STAP_GLOBAL_GET_{var.name}({', '.join(words)})",
            f"stapy_map_get_{var.type}({name}, {keys})",
        )
    ]
    if writes:
        place = "NULL"
        if var.type == p.STRING:
            body = f"if (!stapy_map_set_string(c, {name}, {keys}, (v), {place})) goto out;"
        else:
            body = (
                f"s64 *slot_ = stapy_map_slot(c, {name}, {keys}, {place}); "
                "if (!slot_) goto out; *slot_ = (v);"
            )
        macros.append(
            (
                f"STAP_GLOBAL_SET_{var.name}({', '.join([*words, 'v'])})",
                f"do {{ {body} }} while (0)",
            )
        )
    return macros


def _leave(unit: Unit, out: CWriter, function: p.Function, has_frame: bool, code: str) -> None:
    if unit.may_fail(function):
        place = unit.places.of(function.span)
        out.guard("unlikely(c->error)", f"stapy_error_at(c, {place});")
    if has_frame:
        out.line("c->frame = (char *)l;")
    if function.type == p.LONG:
        this = "THIS" in code and "__retvalue" in code
        out.line("return THIS->__retvalue;" if this else "return ret;")


def top_level(unit: Unit, code: str) -> str:
    """Write one embedded block of the top level, with the place it came from."""
    for number, source in enumerate(unit.sources.sources):
        start = source.text.find(code) if code.strip() else -1
        if start >= 0:
            text = verbatim(code, source.is_library)
            placed = unit.placed(Span(number, start, start + 1), code, text)
            return f"{placed}\n{unit.here}\n"
    return code + "\n"
