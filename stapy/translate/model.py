"""Program -> the rows that the templates print.  Everything that decides is here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy import __version__
from stapy.ir import program as p
from stapy.ir.switches import switch_of
from stapy.ir.walk import walk
from stapy.translate.c.text import comment, name_literal, number, string_literal
from stapy.translate.lower import embedded, functions, handlers
from stapy.translate.lower.signatures import signature
from stapy.translate.sharing import SharedBody, share
from stapy.translate.sites import Sites, row_of
from stapy.translate.state import Unit, all_handlers
from stapy.translate.tables import conditions

if TYPE_CHECKING:
    from stapy.translate.templating import Model

KINDS = {p.LONG: "STAPY_LONG", p.STRING: "STAPY_STRING", p.STATS: "STAPY_STAT"}
HISTOGRAMS = {"log": "STAPY_HIST_LOG", "linear": "STAPY_HIST_LINEAR"}


# From here on the compiler's time counts for more than a few instructions of each hit.
MANY_HANDLERS = 48

# Of the stack, for what handlers call: the runtime, and what it calls of the kernel.
HELPER_BYTES = 512


def build(unit: Unit, name: str, script: str, build_ids: dict[str, str] | None = None) -> Model:
    """Build the model of one module; handlers come first, since they fill the unit's tables.

    ``build_ids`` are those of the manifest: modules that come later are compared with them.
    """
    program = unit.program
    sites = Sites(unit)
    handler_rows = _handlers(unit)
    bodies = [
        functions.function_text(unit, function)
        if function.code is None
        else embedded.embedded_function(unit, function)
        for function in program.functions
    ]
    tests = _conditions(unit)
    families = sites.families()
    probes = _probe_rows(unit)
    model: Model = {
        "name": string_literal(name),
        "script": name_literal(script),
        "title": comment(f"{script}, translated by stapy {__version__}"),
        "macros": unit.limits.macros(),
        "others": unit.limits.others(),
        "versions": unit.limits.version_macros(
            [*program.embedded, *(function.code or "" for function in program.functions)]
        ),
        "limits": unit.limits.fields(),
        "stack_bytes": stack_bytes(unit),
        "embedded": [
            embedded.top_level(unit, code) for code in program.embedded if not is_late(code)
        ],
        "suffixes": [embedded.top_level(unit, code) for code in program.embedded if is_late(code)],
        "scalars": _scalars(unit),
        "parameters": _parameters(unit),
        "locks": [unit.lock_name(var) for var in _locked(program)],
        "pointers": _pointers(unit),
        "storage": _storage(unit),
        "slots": _slots(unit),
        "any_tables": _any_tables(unit),
        "places": [
            {"name": row["name"], "text": name_literal(row["text"])} for row in unit.places.rows()
        ],
        "module_symbols": [{"name": string_literal(name)} for name in unit.module_symbols],
        "mapped_files": [
            {"name": string_literal(path), "code": f"{code:#x}"} for path, code in unit.mapped_files
        ],
        "regexes": [automaton.c_text(c_name) for c_name, automaton in unit.regexes.values()],
        "prototypes": [signature(unit, function) + ";" for function in program.functions],
        "functions": bodies,
        "conditions": tests,
        "is_rearmed": _is_rearmed(unit),
        "handlers": handler_rows,
        "has_many_handlers": len(handler_rows) > MANY_HANDLERS,
        "probes": probes,
        "families": families,
        "frame_bytes": frame_bytes(unit),
        "builds": [
            {"module": string_literal(module), "id": string_literal(id)}
            for module, id in sorted((build_ids or {}).items())
            if module != "kernel"  # the consumer has compared that
        ],
    }
    _add_flags(model, unit)
    return model


def _add_flags(model: Model, unit: Unit) -> None:
    """Say what there is of everything: templates ask for ready booleans only."""
    program = unit.program
    model["needs_more_stack"] = stack_bytes(unit) > unit.limits.number("MINSTACKSPACE")
    model["has_given"] = bool(model["macros"] or model["versions"] or model["others"])
    model["has_user_stacks"] = p.USER_STACKS in program.features
    model["has_hooks"] = any("STAP_MODULE_" in code for code in program.embedded)
    for key in (
        *("embedded", "suffixes", "scalars", "parameters", "locks", "pointers", "storage", "slots"),
        *("any_tables", "module_symbols", "mapped_files", "places", "regexes", "prototypes"),
        *("functions", "conditions", "handlers", "probes", "families", "builds", "limits"),
    ):
        model["has_" + key] = bool(model[key])
    # Each probe has a family, but the stacks are one by themselves.
    model["has_families"] |= model["has_user_stacks"] or model["has_mapped_files"]


def is_late(code: str) -> bool:
    """Tell whether a block of embedded C asks to stand behind the globals."""
    return "/* pragma:suffix */" in code


# --- data ---------------------------------------------------------------------


def _scalars(unit: Unit) -> list[dict[str, str]]:
    rows = []
    for var in unit.program.globals:
        if var.keys or var.type == p.STATS:
            continue
        name = unit.global_name(var)
        if var.type == p.STRING:
            text = var.init if isinstance(var.init, str) else ""
            text = text[: unit.string_room - 1]
            value = f" = {string_literal(text)}" if text else ""
            rows.append({"declaration": f"static char {name}[MAXSTRINGLEN]{value};"})
        else:
            value = f" = {number(var.init)}" if isinstance(var.init, int) and var.init else ""
            rows.append({"declaration": f"static s64 {name}{value};"})
    return rows


def _parameters(unit: Unit) -> list[Model]:
    return [
        {
            "name": var.name,
            "variable": unit.global_name(var),
            "is_string": var.type == p.STRING,
        }
        for var in unit.program.globals
        if var.settable and not var.keys and var.type != p.STATS
    ]


def _locked(program: p.Program) -> list[p.Global]:
    used = {lock.var.c_name for handler in all_handlers(program) for lock in handler.locks}
    return [var for var in program.globals if var.c_name in used]


def _pointers(unit: Unit) -> list[dict[str, str]]:
    return [
        {
            "declaration": f"static struct stapy_{'map' if var.keys else 'statvar'} "
            f"*{unit.global_name(var)};"
        }
        for var in unit.storage
    ]


def _storage(unit: Unit) -> list[Model]:
    rows = []
    for var in unit.storage:
        fields = [("name", string_literal(var.name))]
        target = "map" if var.keys else "stat"
        fields.append((target, "&" + unit.global_name(var)))
        fields.append(("value", KINDS[var.type]))
        if var.keys:
            fields.append(("nkeys", str(len(var.keys))))
            fields.append(("keys", "{ " + ", ".join(KINDS[key] for key in var.keys) + " }"))
            fields += _string_fields(unit, var)
        if var.wraps:
            fields.append(("wrap", "1"))
        if var.size_set:
            fields.append(("size_set", "1"))
        if var.size:
            fields.append(("size", str(var.size)))
        if var.type == p.STATS:
            fields += _shape_fields(var)
        rows.append(row_of(fields))
    return rows


def _string_fields(unit: Unit, var: p.Global) -> list[tuple[str, str]]:
    """Say how long the strings of an array can be, where that is less than MAXSTRINGLEN."""
    fields = []
    keys = unit.sizes.keys(var)
    if any(keys):
        fields.append(("key_bytes", "{ " + ", ".join(map(str, keys)) + " }"))
    if unit.sizes.value(var):
        fields.append(("value_bytes", str(unit.sizes.value(var))))
    return fields


def _shape_fields(var: p.Global) -> list[tuple[str, str]]:
    fields = []
    if "variance" in var.stats:
        fields.append(("shape.variance", "1"))
        if var.shift:
            fields.append(("shape.shift", str(var.shift)))
    histogram = var.histogram
    if histogram is not None:
        fields.append(("shape.histogram", HISTOGRAMS[histogram.kind]))
        if histogram.kind == "linear":
            fields += [
                ("shape.low", number(histogram.low)),
                ("shape.high", number(histogram.high)),
                ("shape.step", number(histogram.step)),
            ]
    return fields


def _slots(unit: Unit) -> list[Model]:
    return [
        {
            "name": name,
            "members": [
                f"char s{at}[MAXSTRINGLEN];" if kind == p.STRING else f"s64 s{at};"
                for at, kind in enumerate(types)
            ],
        }
        for types, name in unit.slot_types.items()
    ]


def _any_tables(unit: Unit) -> list[dict[str, str]]:
    return [
        {"name": name, "values": ", ".join("1" if flag else "0" for flag in flags)}
        for flags, name in unit.any_tables.items()
    ]


# --- code ---------------------------------------------------------------------


def _handlers(unit: Unit) -> list[Model]:
    """Write the C of every handler and of the tables of locks that it needs."""
    points: dict[int, list[str]] = {}
    slots: dict[int, str] = {}
    known = all_handlers(unit.program)
    for probe in unit.program.probes:
        for handler in (probe.handler, probe.entry):
            if handler is None:
                continue
            points.setdefault(id(handler), []).extend(probe.points)
            if probe.slots:
                slots[id(handler)] = unit.slots(probe.slots)
    shared = _shared_bodies(unit, known, slots)
    rows = []
    for handler in known:
        where, own_slots = points.get(id(handler), []), slots.get(id(handler), "")
        body = shared.get(id(handler))
        if body is None:
            text = handlers.handler_text(unit, handler, where, own_slots)
        else:
            at = body.members.index(handler)
            if at == 0:
                text = handlers.shared_text(unit, body, own_slots)
                rows.append({"text": text, "tables": unit.new_lock_tables()})
            text = handlers.sharer_text(unit, body, at, where)
        rows.append({"text": text, "tables": unit.new_lock_tables()})
    return rows


def _shared_bodies(
    unit: Unit, known: list[p.Handler], slots: dict[int, str]
) -> dict[int, SharedBody]:
    """Find the handlers that share a body, by their identity; none where there are few.

    What programs are told of a print has its texts and its place, so that none are shared then.
    """
    if len(known) <= MANY_HANDLERS or unit.records is not None:
        return {}
    bodies = share(known, lambda handler: slots.get(id(handler), ""), unit.string_room)
    return {id(handler): body for body in bodies for handler in body.members}


def _conditions(unit: Unit) -> list[Model]:
    """Write each arming condition: its test, and the C of that where it is the first with it."""
    rows: list[Model] = []
    for at, row in enumerate(unit.conditions.rows):
        name = _test_name(row)
        is_first = row.first == at
        text = functions.condition_function(unit, name, row.condition.test) if is_first else ""
        rows.append({"test": name, "text": text, "followers": row.followers})
    return rows


def _test_name(row: conditions.Row) -> str:
    return f"condition_{row.first}"


def _is_rearmed(unit: Unit) -> bool:
    """Tell whether a probe can be disarmed, and armed again, while the script runs."""
    return any(
        probe.family != conditions.PHASES
        and (
            unit.options.on_overload != "exit"
            or (probe.condition is not None and not probe.condition.judged_once)
        )
        for probe in unit.program.probes
    )


def _probe_rows(unit: Unit) -> list[Model]:
    rows = []
    for at, probe in enumerate(unit.program.probes):
        fields = [("handler", unit.handler_name(probe.handler))]
        if probe.entry is not None:
            fields.append(("entry", unit.handler_name(probe.entry)))
        if row := unit.conditions.of(probe):
            fields.append(("condition", "&" + row))
        if number := switch_of(probe.condition):
            fields.append(("switch_number", str(number)))
        fields += [
            ("written", string_literal(probe.written)),
            ("alias", string_literal(probe.alias)),
            ("place", name_literal(unit.places.where(probe.span))),
        ]
        rows.append(row_of(fields) | {"number": str(at)})
    return rows


# --- frames -------------------------------------------------------------------


def frame_bytes(unit: Unit) -> int:
    """Compute the bytes of frames that the deepest chain of a handler and its calls needs."""
    names = (unit.function_name(one) for one in unit.program.functions if one.is_recursive)
    widest = max((unit.frames.get(name, 0) for name in names), default=0)
    return deepest_chain(unit, unit.frames) + widest * unit.limits.nesting


def stack_bytes(unit: Unit) -> int:
    """Compute the bytes of kernel stack a hit needs: its deepest chain, and what that calls.

    Recursion is not counted in: each call of it looks for itself.
    """
    return deepest_chain(unit, unit.stacks) + HELPER_BYTES


def deepest_chain(unit: Unit, bytes_of: dict[str, int]) -> int:
    """Find the largest sum of a handler's bytes and those of the calls nested in it."""
    callees: dict[str, set[str]] = {}
    for function in unit.program.functions:
        called = {function.next} if function.next is not None else set()
        if function.body is not None:
            called |= {n.function for n in walk(function.body) if isinstance(n, p.CallOp)}
        callees[unit.function_name(function)] = {unit.function_name(one) for one in called}
    recursive = {unit.function_name(one) for one in unit.program.functions if one.is_recursive}
    memo: dict[str, int] = {}

    def deepest(name: str, path: frozenset[str]) -> int:
        if name in path:
            return 0
        if name not in memo or path & recursive:
            below = max((deepest(one, path | {name}) for one in callees.get(name, ())), default=0)
            memo[name] = bytes_of.get(name, 0) + below
        return memo[name]

    tests = {id(row.condition): bytes_of.get(_test_name(row), 0) for row in unit.conditions.rows}
    chains = [0, *tests.values()]
    for handler in all_handlers(unit.program):
        own = bytes_of.get(unit.handler_name(handler), 0)
        direct = {n.function for n in walk(handler.body) if isinstance(n, p.CallOp)}
        depths = [deepest(unit.function_name(one), frozenset()) for one in direct]
        depths += [tests[id(one)] for one in handler.conditions]
        chains.append(own + max(depths, default=0))
    return max(chains)
