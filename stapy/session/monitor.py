"""--monitor: two files of procfs that show a session and change it while it runs.

They are a script of ours beside the user's: `monitor_status` is read as one JSON object,
`monitor_control` takes a command for each write.  Both are worked on in parts, one hit after
the other, none of which takes long (runtime/monitor.h): interrupts are off in them.  A probe is
switched off by an arming condition on a global of that script, so that what is off is disarmed
like any other condition that is false.  What the globals of the script are like is known after
pass 2, so this is done twice.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

from stapy.diagnostics import Span
from stapy.ir import program as p
from stapy.ir.switches import MONITOR, NAMES, OFF
from stapy.parse import nodes as n

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from stapy.diagnostics import Diagnostics
    from stapy.services import Services
    from stapy.session import Session

# Points that are hit once, or never: there is nothing to switch.
_ONCE = {"begin", "end", "error", "never"}
LEAST_STRING = 256  # MAXSTRINGLEN: numbers with their names are put together in one
_TOLD = 1 << 30  # set in the number of a part: a probe was shown before
_RESET = 1 << 31  # what __monitor_command() has for "reset"
SHOWN_ELEMENTS = 20  # of each array, the largest values first: STAPY_SHOWN


def add(session: Session, scripts: list[n.Script], services: Services) -> list[n.Script]:
    """Add the script of the monitor, which shows all globals; nothing to scripts with mistakes."""
    from stapy.elaborate import elaborate
    from stapy.parse import parse_script
    from stapy.translate.tables.limits import Limits

    if not leaves_names(scripts, session.diagnostics, "--monitor"):
        return scripts
    with session.diagnostics.quiet():
        program = elaborate(scripts, services)
    if program is None:
        return scripts
    string_bytes = Limits(session.options, 1).string_room
    if string_bytes < LEAST_STRING:
        session.diagnostics.error(
            "semantic error",
            "E0219",
            f"--monitor needs strings of {LEAST_STRING} bytes, and MAXSTRINGLEN is {string_bytes}",
            hint=f"-D MAXSTRINGLEN={LEAST_STRING}",
        )
        return scripts
    shown = shown_globals(scripts, program.globals)
    probes = [[row.written, row.alias] for row in program.probes]
    text = script_text(shown, switch_points(scripts), string_bytes, probes)
    facts = copy(session.facts)
    facts.guru = True  # it has C of its own
    script = parse_script(
        MONITOR,
        text,
        facts,
        session.library,
        session.sources,
        session.diagnostics,
    )
    return [*scripts, script] if script else scripts


def leaves_names(scripts: list[n.Script], diagnostics: Diagnostics, option: str) -> bool:
    """Refuse declarations of names that are the monitor's; ``option`` asked for it."""
    found = [
        decl
        for script in scripts
        for decl in script.decls
        if isinstance(decl, (n.GlobalDecl, n.FunctionDecl)) and decl.name.startswith(NAMES)
    ]
    for decl in found:
        diagnostics.error(
            "semantic error",
            "E0204",
            f"with {option}, names that begin with '{NAMES}' are the monitor's",
            decl.span,
            where=f"'{decl.name}' is declared here",
            hint="give it another name",
        )
    return not found


def shown_globals(scripts: list[n.Script], variables: list[p.Global]) -> list[p.Global]:
    """List the scripts' globals; of namesakes, private ones that is, the one that a name means."""
    decls = [decl for script in scripts for decl in script.decls if isinstance(decl, n.GlobalDecl)]
    meant: dict[str, Span] = {}
    for decl in sorted(decls, key=lambda decl: decl.is_private):
        meant.setdefault(decl.name, decl.span)
    return [variable for variable in variables if meant.get(variable.name) == variable.span]


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


def script_text(
    variables: list[p.Global], switches: int, string_bytes: int, probes: list[list[str]]
) -> str:
    """Write the script that shows ``variables`` and works so many switches.

    ``string_bytes`` is MAXSTRINGLEN and ``probes`` the texts of each probe that there is, many for
    a point with a wildcard: the file has room for all that there can be.
    """
    value = string_bytes + 256  # a statistic has five numbers
    room = 4096 + sum(
        len(variable.name)
        + value * (SHOWN_ELEMENTS * (len(variable.keys) + 1) if variable.keys else 1)
        for variable in variables
    )
    for texts in probes:
        # Each byte may need an escape, conditions get longer, and the place is a path.
        room += 1024 + string_bytes + sum(min(6 * len(text) + 128, string_bytes) for text in texts)
    switched = f"global {OFF}[{max(switches, 1)}]"
    parts = [
        *_first_values(variables),
        *_array_functions(variables),
        *_status(variables, room),
        *_control(variables, switches),
    ]
    return "\n".join([switched, *parts, ""])


def _is_set(variable: p.Global) -> bool:
    """Tell whether -G or who loads the module gives the first value."""
    return variable.settable and not variable.keys and variable.type != p.STATS


def _first_values(variables: list[p.Global]) -> Iterator[str]:
    """Keep what only the module knows, before any probe of the script."""
    kept = [variable.name for variable in variables if _is_set(variable)]
    if kept:
        yield "global " + ", ".join(NAMES + "first_" + name for name in kept)
        yield "probe begin(-9223372036854775808) {"
        for name in kept:
            yield f"\t{NAMES}first_{name} = {name}"
        yield "}"


def _array_functions(variables: list[p.Global]) -> Iterator[str]:
    """Write the C that shows and empties arrays, which holds their locks."""
    for at, variable in enumerate(variables):
        if not variable.keys:
            continue
        name = variable.name
        prefix = f'"{_separator(at)}{_name(name)}: ["'
        yield f"function __monitor_array_{at}:long() %{{ /* pragma:write:{name} */"
        yield f"\tSTAP_RETVALUE = stapy_monitor_array(c, STAP_GLOBAL_MAP_{name}, {prefix});"
        yield "%}"
        yield f"function __monitor_clear_{at}:long() %{{ /* pragma:write:{name} */"
        yield f"\tSTAP_RETVALUE = stapy_monitor_clear(c, STAP_GLOBAL_MAP_{name});"
        yield "%}"


def _separator(at: int) -> str:
    return ", " if at else ""


def _name(name: str) -> str:
    """Quote a name for JSON inside of a string."""
    return f'\\"{name}\\"'


def _status(variables: list[p.Global], room: int) -> Iterator[str]:
    yield f'probe procfs("monitor_status").read.maxsize({room}) {{'
    yield "\tif (!__monitor_begin()) next"
    yield "\t__monitor_at = __monitor_part()"
    yield "\tif (__monitor_at == 0) {"
    yield '\t\t$value = "{" . __monitor_session() . ", \\"globals\\": {"'
    yield "\t\t__monitor_go(1)"
    for at, variable in enumerate(variables):
        yield from _next_part(at)
        if variable.keys:
            yield f"\t\tif (!__monitor_array_{at}()) next"
        else:
            yield f'\t\t$value .= "{_separator(at)}{_name(variable.name)}: "'
            yield from _value(variable.name, variable.type)
        yield f"\t\t__monitor_go({at + 2})"
    yield "\t} else {"
    yield from _probes(len(variables) + 1)
    yield '\t$value .= "]}\\n"'
    yield "\t__monitor_finish()"
    yield "\t}"
    yield "}"


def _next_part(at: int) -> Iterator[str]:
    """Begin the part of a variable: another branch, so that it takes no other locks."""
    yield f"\t}} else if (__monitor_at == {at + 1}) {{"


def _probes(first: int) -> Iterator[str]:
    """Show as many probes as the time of a part allows; the first has the number of that part."""
    yield f"\tif (__monitor_at == {first}) {{"
    yield '\t\t$value .= "}, \\"probes\\": ["'
    yield '\t\t__monitor_separator = ""'
    yield f'\t}} else if (__monitor_at & {_TOLD}) __monitor_separator = ", "'
    yield f"\tfor (__monitor_number = (__monitor_at & {_TOLD - 1}) - {first};"
    yield "\t\t\t__monitor_number < __monitor_probes(); __monitor_number++) {"
    yield "\t\t__monitor_place = __monitor_text(__monitor_number, 1)"
    # What prints globals at the end is of no file.
    yield f'\t\tif (__monitor_place =~ "^({MONITOR})?:") continue'
    yield '\t\t$value .= __monitor_separator . "{\\"point\\": "'
    yield "\t\t$value .= __json_text(__monitor_text(__monitor_number, 0))"
    yield '\t\t$value .= ", \\"alias\\": "'
    yield "\t\t$value .= __json_text(__monitor_text(__monitor_number, 2))"
    yield '\t\t$value .= ", \\"place\\": "'
    yield "\t\t$value .= __json_text(__monitor_place)"
    yield '\t\t$value .= sprintf(", \\"switch\\": %d, \\"on\\": %s, ",'
    yield "\t\t\t__monitor_switch(__monitor_number),"
    yield '\t\t\t__monitor_is_on(__monitor_number) ? "true" : "false")'
    yield '\t\t$value .= __monitor_hits(__monitor_number) . "}"'
    yield '\t\t__monitor_separator = ", "'
    yield "\t\tif (__monitor_late()) {"
    yield f"\t\t\t__monitor_go(__monitor_number + {first + 1} | {_TOLD})"
    yield "\t\t\tnext"
    yield "\t\t}"
    yield "\t}"


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


def _control(variables: list[p.Global], switches: int) -> Iterator[str]:
    yield 'probe procfs("monitor_control").write {'
    yield "\tif (!__monitor_begin()) next"
    yield "\t__monitor_at = __monitor_part()"
    yield "\tif (__monitor_at == 0) {"
    yield f"\t\t__monitor_number = __monitor_command({switches})"
    yield f"\t\tif (__monitor_number == {_RESET}) {{"
    yield "\t\t\t__monitor_go(1)"
    yield "\t\t\tnext"
    yield f"\t\t}} else if (__monitor_number > 0) delete {OFF}[__monitor_number]"
    yield f"\t\telse if (__monitor_number < 0) {OFF}[-__monitor_number] = 1"
    yield "\t\t__monitor_finish()"
    for at, variable in enumerate(variables):
        yield from _next_part(at)
        if variable.keys:
            yield f"\t\tif (!__monitor_clear_{at}()) next"
        else:
            yield f"\t\t{_reset(variable)}"
        yield f"\t\t__monitor_go({at + 2})"
    first = len(variables) + 1
    yield "\t} else {"
    yield f"\tfor (__monitor_number = __monitor_at - {first};"
    yield "\t\t\t__monitor_number < __monitor_probes(); __monitor_number++) {"
    yield "\t\t__monitor_forget_hits(__monitor_number)"
    yield "\t\tif (__monitor_late()) {"
    yield f"\t\t\t__monitor_go(__monitor_number + {first + 1})"
    yield "\t\t\tnext"
    yield "\t\t}"
    yield "\t}"
    yield "\t__monitor_finish()"
    yield "\t}"
    yield "}"


def _reset(variable: p.Global) -> str:
    if variable.type == p.STATS:
        return f"delete {variable.name}"
    if _is_set(variable):
        return f"{variable.name} = {NAMES}first_{variable.name}"
    if isinstance(variable.init, str):
        return f"{variable.name} = {_quoted(variable.init)}"
    if variable.init is None:
        return f"{variable.name} = " + ('""' if variable.type == p.STRING else "0")
    return f"{variable.name} = {variable.init}"


def _quoted(text: str) -> str:
    return '"' + "".join(f"\\{ord(one):03o}" for one in text) + '"'
