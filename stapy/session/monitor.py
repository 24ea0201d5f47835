"""--monitor: two files of procfs that show a session and change it while it runs.

They are a script of ours beside the user's: `monitor_status` is read as one JSON object,
`monitor_control` takes a command for each write.  A probe is switched off by an arming condition
on a global of that script, so that what is off is disarmed like any other condition that is false.
What the globals of the script are like is known after pass 2, so this is done twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.diagnostics import Span
from stapy.ir import program as p
from stapy.ir.switches import MONITOR, OFF
from stapy.parse import nodes as n

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from stapy.services import Services
    from stapy.session import Session

# Points that are hit once, or never: there is nothing to switch.
_ONCE = {"begin", "end", "error", "never"}
SHOWN_ELEMENTS = 20  # of each array, the largest values first


def add(session: Session, scripts: list[n.Script], services: Services) -> list[n.Script]:
    """Add the script of the monitor, which shows all globals; nothing to scripts with mistakes."""
    from stapy.elaborate import elaborate
    from stapy.parse import parse_script
    from stapy.translate.tables.limits import Limits

    with session.diagnostics.quiet():
        program = elaborate(scripts, services)
    if program is None:
        return scripts
    mine = {decl.name for script in scripts for decl in _globals(script)}
    shown = [variable for variable in program.globals if variable.name in mine]
    text = script_text(shown, switch_points(scripts), Limits(session.options, 1).string_room)
    script = parse_script(
        MONITOR,
        text,
        session.facts,
        session.library,
        session.sources,
        session.diagnostics,
    )
    return [*scripts, script] if script else scripts


def _globals(script: n.Script) -> list[n.GlobalDecl]:
    return [decl for decl in script.decls if isinstance(decl, n.GlobalDecl)]


def switch_points(scripts: Iterable[n.Script]) -> int:
    """Give each probe point of the scripts a switch, in its condition; return their number."""
    number = 0
    for script in scripts:
        for decl in script.decls:
            if not isinstance(decl, n.ProbeDecl):
                continue
            for point in decl.points:
                if point.components[0].name not in _ONCE:
                    number += 1
                    _add_switch(point, number)
    return number


def _add_switch(point: n.ProbePoint, number: int) -> None:
    span = Span(point.span.source, point.span.start, point.span.start)  # nothing to be shown
    switch: n.Expr = n.Index(span, n.Name(span, OFF), [n.Number(span, number)])
    switch = n.Unary(span, "!", switch)
    if point.condition is not None:
        switch = n.Logical(point.condition.span, "&&", switch, point.condition)
    point.condition = switch


def script_text(variables: list[p.Global], switches: int, string_bytes: int) -> str:
    """Write the script that shows ``variables`` and works so many switches.

    ``string_bytes`` is MAXSTRINGLEN: the file has room for all that there can be.
    """
    room = 4096 + 4 * string_bytes * (len(variables) + switches + 16)
    room += sum(
        SHOWN_ELEMENTS * (len(variable.keys) + 1) * (string_bytes + 128)
        for variable in variables
        if variable.keys
    )
    switched = f"global {OFF}[{max(switches, 1)}]"
    return "\n".join([switched, *_status(variables, room), *_control(variables, switches), ""])


def _status(variables: list[p.Global], room: int) -> Iterator[str]:
    yield f'probe procfs("monitor_status").read.maxsize({room}) {{'
    yield "\tif (!__monitor_alone()) next"
    yield '\t$value = "{" . __monitor_session() . ", \\"globals\\": {"'
    for at, variable in enumerate(variables):
        separator = ", " if at else ""
        yield f'\t$value .= "{separator}\\"{variable.name}\\": "'
        yield from (_array(variable) if variable.keys else _value(variable.name, variable.type))
    yield '\t$value .= "}, \\"probes\\": ["'
    yield '\t__separator = ""'
    yield "\tfor (__number = 0; __number < __monitor_probes(); __number++) {"
    yield "\t\t__place = __monitor_text(__number, 1)"
    # What prints globals at the end is of no file.
    yield f'\t\tif (__place =~ "^({MONITOR})?:") continue'
    yield '\t\t$value .= __separator . "{\\"point\\": "'
    yield "\t\t$value .= __json_text(__monitor_text(__number, 0))"
    yield '\t\t$value .= ", \\"alias\\": "'
    yield "\t\t$value .= __json_text(__monitor_text(__number, 2))"
    yield '\t\t$value .= ", \\"place\\": "'
    yield "\t\t$value .= __json_text(__place)"
    yield '\t\t$value .= sprintf(", \\"switch\\": %d, \\"on\\": %s, ", __monitor_switch(__number),'
    yield '\t\t\t__monitor_is_on(__number) ? "true" : "false")'
    yield '\t\t$value .= __monitor_hits(__number) . "}"'
    yield '\t\t__separator = ", "'
    yield "\t}"
    yield '\t$value .= "]}\\n"'
    yield "}"


def _value(text: str, type: p.Type) -> Iterator[str]:
    """Append the value of an expression as JSON."""
    if type == p.STRING:
        yield f"\t$value .= __json_text({text})"
    elif type == p.STATS:
        yield f'\t$value .= sprintf("{{\\"count\\": %d", @count({text}))'
        yield f"\tif (@count({text}))"
        members = ", ".join(f'\\"{one}\\": %d' for one in ("sum", "min", "avg", "max"))
        yield f'\t\t$value .= sprintf(", {members}",'
        yield f"\t\t\t@sum({text}), @min({text}), @avg({text}), @max({text}))"
        yield '\t$value .= "}"'
    else:
        yield f'\t$value .= sprintf("%d", {text})'


def _array(variable: p.Global) -> Iterator[str]:
    keys = [f"__{variable.name}_{at}" for at in range(len(variable.keys))]
    order = " @count-" if variable.type == p.STATS else "-"
    yield '\t$value .= "["'
    yield '\t__separator = ""'
    listed = ", ".join(keys)
    yield f"\tforeach ([{listed}] in {variable.name}{order} limit {SHOWN_ELEMENTS}) {{"
    yield '\t$value .= __separator . "["'
    for key, type in zip(keys, variable.keys, strict=True):
        yield from _value(key, type)
        yield '\t$value .= ", "'
    yield from _value(f"{variable.name}[{listed}]", variable.type)
    yield '\t$value .= "]"'
    yield '\t__separator = ", "'
    yield "\t}"
    yield '\t$value .= "]"'


def _control(variables: list[p.Global], switches: int) -> Iterator[str]:
    yield 'probe procfs("monitor_control").write {'
    yield "\tif (!__monitor_alone()) next"
    yield '\t__word = tokenize($value, " \\n")'
    yield '\t__rest = tokenize("", " \\n")'
    yield "\t__number = strlen(__rest) ? strtol(__rest, 10) : 0"
    yield '\tif (__word == "reset" && __rest == "") {'
    yield "\t\t__monitor_forget_hits()"
    for variable in variables:
        yield f"\t\t{_reset(variable)}"
    yield f"\t}} else if (__number < 1 || __number > {switches}) warn(__monitor_usage())"
    yield f'\telse if (__word == "on") delete {OFF}[__number]'
    yield f'\telse if (__word == "off") {OFF}[__number] = 1'
    yield "\telse warn(__monitor_usage())"
    yield "}"
    yield "function __monitor_usage:string() {"
    yield '\treturn "monitor_control takes reset, on NUMBER, off NUMBER"'
    yield "}"


def _reset(variable: p.Global) -> str:
    if variable.keys or variable.type == p.STATS:
        return f"delete {variable.name}"
    if isinstance(variable.init, str):
        return f"{variable.name} = {_quoted(variable.init)}"
    if variable.init is None:
        return f"{variable.name} = " + ('""' if variable.type == p.STRING else "0")
    return f"{variable.name} = {variable.init}"


def _quoted(text: str) -> str:
    return '"' + "".join(f"\\{ord(one):03o}" for one in text) + '"'
