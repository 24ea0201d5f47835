"""--metrics: a file of procfs that has all globals, for the consumer to serve to Prometheus.

It is a script of ours beside the user's, as that of --monitor is (`stapy.session.monitor`), and is
worked on in the same parts; `stapy.run.metrics` reads it.  Each global is told with what is known
of it here: its type among those of Prometheus and the names of its labels.
"""

from __future__ import annotations

import json
import re
from copy import copy
from typing import TYPE_CHECKING

from stapy.elaborate.lower.fields import name_of
from stapy.ir import program as p
from stapy.ir.switches import MONITOR, NAMES
from stapy.ir.walk import walk
from stapy.parse import nodes as n
from stapy.record import Record
from stapy.session.monitor import LEAST_STRING, leaves_names, shown_globals

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stapy.services import Services
    from stapy.session import Session

FILE = "monitor_metrics"
MOST = 1000  # elements of each array
_ROOM = 4 << 20  # bytes for the elements of each array
_LABEL = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
_TAKEN = {"le", "quantile", "value"}  # labels that mean something else


def make(session: Session, scripts: list[n.Script], services: Services) -> list[n.Script]:
    """Make the script that tells all globals of others; none for scripts with mistakes."""
    from stapy.elaborate import elaborate
    from stapy.parse import parse_script
    from stapy.translate.tables.limits import Limits

    if not leaves_names(scripts, session.diagnostics, "--metrics"):
        return []
    with session.diagnostics.quiet():
        program = elaborate(scripts, services)
    if program is None:
        return []
    string_bytes = Limits(session.options, 1).string_room
    entries = Limits(session.options, 1).number("MAXMAPENTRIES")
    if string_bytes < LEAST_STRING:
        session.diagnostics.error(
            "semantic error",
            "E0219",
            f"--metrics needs strings of {LEAST_STRING} bytes, and MAXSTRINGLEN is {string_bytes}",
            hint=f"-D MAXSTRINGLEN={LEAST_STRING}",
        )
        return []
    counted = counters(program)
    labels = label_names(scripts)
    rows = [
        _Shown(variable, variable.c_name in counted, _fitting(labels, variable))
        for variable in shown_globals(scripts, program.globals)
    ]
    facts = copy(session.facts)
    facts.guru = True  # it has C of its own
    script = parse_script(
        MONITOR,
        script_text(rows, string_bytes, entries),
        facts,
        session.library,
        session.sources,
        session.diagnostics,
    )
    return [script] if script else []


class _Shown(Record):
    """A global, whether it only ever grows, and names for its keys."""

    variable: p.Global
    is_counter: bool
    labels: list[str]


def counters(program: p.Program) -> set[str]:
    """Find the numbers that handlers and functions only count up, by their names in C."""
    numbers = {
        one.c_name
        for one in program.globals
        if one.type == p.LONG and not (isinstance(one.init, int) and one.init < 0)
    }
    written: set[str] = set()
    bad: set[str] = set()
    trees: list[p.Node] = [handler.body for handler in program.handlers]
    for function in program.functions:
        bad |= set(function.writes)
        if function.body is not None:
            trees.append(function.body)
    for tree in trees:
        for node in walk(tree):
            if not isinstance(node, (p.AssignOp, p.IncrementOp)):
                continue
            if isinstance(node.target, (p.GlobalRef, p.ElementRef)):
                (written if _counts_up(node) else bad).add(node.target.var.c_name)
    return (numbers & written) - bad


def _counts_up(node: p.AssignOp | p.IncrementOp) -> bool:
    if isinstance(node, p.IncrementOp):
        return node.op == "++"
    return node.op == "+=" and isinstance(node.value, p.Const) and node.value.value >= 0


def label_names(scripts: list[n.Script]) -> dict[str, list[str]]:
    """Name the keys of arrays by the expressions with which a script first has them."""
    found: dict[str, list[str]] = {}
    for script in scripts:
        for node in _nodes(script):
            if not isinstance(node, n.Index) or not isinstance(node.base, n.Name):
                continue
            names = [name_of(key).lstrip("$") if key is not None else "" for key in node.keys]
            good = all(_LABEL.match(name) and name not in _TAKEN for name in names)
            if good and len(set(names)) == len(names):
                found.setdefault(node.base.name, names)
    return found


def _fitting(labels: dict[str, list[str]], variable: p.Global) -> list[str]:
    """Return the names of an array's keys; none of those of a namesake with other keys."""
    found = labels.get(variable.name, [])
    return found if len(found) == len(variable.keys) else []


def _nodes(top: object) -> Iterator[Record]:
    """Yield all records of a tree, in the order of the text."""
    stack: list[object] = [top]
    while stack:
        item = stack.pop()
        if isinstance(item, (list, tuple)):
            stack.extend(reversed(item))
        elif isinstance(item, Record):
            yield item
            stack.extend(getattr(item, field) for field in reversed(type(item).fields))


def script_text(rows: list[_Shown], string_bytes: int, entries: int) -> str:
    """Write the script; ``entries`` is MAXMAPENTRIES."""
    functions: list[str] = []
    body: list[str] = []
    room = 4096
    for at, row in enumerate(rows):
        most, bytes_ = _share(row.variable, string_bytes, entries)
        begin = begin_of(row, first=at == 0)
        room += bytes_ + len(begin) + 64
        functions += _function(at, row.variable, begin, most)
        body += [
            f"\t}} else if (__monitor_metrics_at == {at + 1}) {{",
            f"\t\tif (!__monitor_metrics_{at}()) next",
            f"\t\t__monitor_go({at + 2})",
        ]
    return "\n".join(
        [
            *functions,
            f'probe procfs("{FILE}").read.maxsize({room}) {{',
            "\tif (!__monitor_begin()) next",
            "\t__monitor_metrics_at = __monitor_part()",
            "\tif (__monitor_metrics_at == 0) {",
            '\t\t$value = "{" . __monitor_session() . ", \\"globals\\": ["',
            "\t\t__monitor_go(1)",
            *body,
            "\t} else {",
            '\t\t$value .= "]}\\n"',
            "\t\t__monitor_finish()",
            "\t}",
            "}",
            "",
        ]
    )


def _share(variable: p.Global, string_bytes: int, entries: int) -> tuple[int, int]:
    """Compute how many elements of a global are told, and the bytes that they take."""
    one = 8 + sum(_bytes(kind, variable, string_bytes) for kind in variable.keys)
    one += _bytes(variable.type, variable, string_bytes)
    if not variable.keys:
        return 1, one
    most = max(1, min(variable.size or entries, MOST, _ROOM // one))
    return most, most * one


def _bytes(kind: p.Type, variable: p.Global, string_bytes: int) -> int:
    if kind == p.STRING:
        return string_bytes + 4
    if kind != p.STATS:
        return 24
    return 200 + 40 * _buckets(variable.histogram)


def _buckets(shape: p.HistogramShape | None) -> int:
    if shape is None:
        return 0
    if shape.kind == "log":
        return 128
    return int(min(max(shape.high - shape.low, 0) // shape.step + 3, 0xFFFF))


def begin_of(row: _Shown, *, first: bool) -> str:
    """Write what stands before the elements of a global, as JSON."""
    variable = row.variable
    about: dict[str, object] = {"name": variable.name, "type": _type(row)}
    if variable.keys:
        about["labels"] = row.labels or [f"key{at + 1}" for at in range(len(variable.keys))]
    shape = variable.histogram if variable.type == p.STATS else None
    if shape is not None:
        about["shape"] = ["log"]
        if shape.kind != "log":
            about["shape"] = ["linear", shape.low, shape.high, shape.step]
    text = json.dumps(about)
    return f'{"" if first else ", "}{text[:-1]}, "rows": ['


def _type(row: _Shown) -> str:
    variable = row.variable
    if variable.type == p.STRING:
        return "info"
    if variable.type == p.STATS:
        return "histogram" if variable.histogram is not None else "summary"
    return "counter" if row.is_counter else "gauge"


def _function(at: int, variable: p.Global, begin: str, most: int) -> Iterator[str]:
    """Write the C that tells a global; it holds the lock of that."""
    name, text = variable.name, json.dumps(begin)
    yield f"function {NAMES}metrics_{at}:long() %{{ /* pragma:write:{name} */"
    if variable.keys:
        yield f"\tSTAP_RETVALUE = stapy_metrics_array(c, STAP_GLOBAL_MAP_{name}, {text}, {most});"
    else:
        yield f"\tstapy_metrics_add(c, {text});"
        if variable.type == p.STATS:
            yield f"\tstapy_metrics_stat(c, STAP_GLOBAL_STAT_{name});"
        elif variable.type == p.STRING:
            yield f"\tstapy_metrics_text(c, STAP_GLOBAL_GET_{name}());"
        else:
            yield f"\tstapy_metrics_long(c, STAP_GLOBAL_GET_{name}());"
        yield '\tstapy_metrics_add(c, "], \\"left_out\\": 0}");'
        yield "\tSTAP_RETVALUE = 1;"
    yield "%}"
