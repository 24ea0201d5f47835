"""Target variables and the ``@`` operators that ask the debug information."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from stapy.debuginfo import ctypes
from stapy.diagnostics import Diagnostic
from stapy.diagnostics.foreign_expressions import scratch_hint
from stapy.diagnostics.suggest import listed, nearest
from stapy.elaborate.lower import casts, texts
from stapy.elaborate.lower.casts import current_scope
from stapy.elaborate.lower.chains import Place, follow, place_of, rvalue
from stapy.elaborate.lower.entries import saved
from stapy.elaborate.lower.globalvars import local_of, near_in_program, of_unit, var_place
from stapy.elaborate.lower.groups import group
from stapy.elaborate.lower.pending import Pending
from stapy.elaborate.lower.values import finish
from stapy.elaborate.names import syntax
from stapy.ir import program as p
from stapy.ir.literals import of_files
from stapy.ir.scope import TargetScope, TargetVariable
from stapy.ir.walk import walk
from stapy.parse import nodes as n
from stapy.parse.print_expr import print_expr
from stapy.probes.families.perf import counter_number
from stapy.probes.family import text_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from stapy.diagnostics import Span
    from stapy.elaborate.lower.context import Context

GROUPS = ("$$vars", "$$parms", "$$locals", "$$return")

__all__ = ["TargetScope", "TargetVariable"]

# What other tracers call the result of a function.
_RESULTS = ("$retval", "$ret", "$rc", "$result", "$retvalue", "$rval")


def target(low: Context, node: n.Target) -> p.Expr:
    """Lower ``$name`` with its chain, and the ``$$`` texts."""
    scope = current_scope(low)
    if scope is None:
        return low.pending(
            "E0240",
            "unresolved target-symbol expression",
            node.span,
            where=f"'{node.name}' has no meaning here",
            notes=["this kind of probe has no target variables"],
            explain=of_alias(low, node),
        )
    if scope.unknown and node.name not in scope.variables:
        return low.pending("E0241", scope.unknown, node.span, explain=of_alias(low, node))
    if node.name in scope.texts:
        return p.Text(node.span, p.STRING, scope.texts[node.name])
    if node.name in GROUPS:
        return group(low, node, scope)
    variable = scope.variables.get(node.name)
    if variable is not None:
        _doubt(low, node, scope)
        return _variable(low, node, variable)
    if scope.entry is not None and scope.entry.find(node.name) is not None:
        _doubt(low, node, scope)
        if not low.body.file.script.is_library:
            kind = "parameter" if node.name in scope.entry.groups.get("$$parms", ()) else "variable"
            low.services.diagnostics.warning(
                "W0641",
                f"confusing usage, consider @entry({node.name}) in .return probe",
                node.span,
                where=f"the value that the {kind} had at function entry is used",
            )
        return saved(low, node, node.span)
    variable = scope.find(node.name)
    if variable is not None:
        return _variable(low, node, variable)
    value = _constant(low, node.name[1:], scope) if not node.chain else None
    if value is not None:
        return p.Const(node.span, p.LONG, value)
    whole = (scope.entry or scope).whole()
    if node.name not in whole.unavailable:
        place = of_unit(whole, node.name[1:])
        if place is not None:
            return finish(low, place, node.chain, node.span, node.address_of)
    return _unknown(low, node, scope, whole)


def _constant(low: Context, name: str, scope: TargetScope) -> int | None:
    """Find the value of an enumerator by its name.

    BTF, which has those of the kernel, does not tell who sees them. Those of a program would be
    any of its libraries', were the function's source not asked.
    """
    if not scope.is_user:
        return casts.enumerator(low, name)
    whole = (scope.entry or scope).whole()
    return whole.constant(name) if whole.constant is not None else None


def _doubt(low: Context, node: n.Target, scope: TargetScope) -> None:
    """Tell that a parameter may be that of another function of the same name."""
    if scope.ambiguity and not low.body.file.script.is_library:
        low.services.diagnostics.warning(
            "W0643",
            f"'{node.name}' may be of another function of the same name",
            node.span,
            notes=[scope.ambiguity],
            hint=scope.hint or (scope.way() if scope.way is not None else ""),
        )


def _variable(low: Context, node: n.Target, variable: TargetVariable) -> p.Expr:
    if variable.is_text:
        return texts.read(low, node, variable)
    return finish(low, place_of(variable), node.chain, node.span, node.address_of)


def _unknown(low: Context, node: n.Target, scope: TargetScope, whole: TargetScope) -> p.Expr:
    """Refuse a variable; ``whole`` is the last source's scope, that of the entry for a return."""
    # What a function returns is not known at its entry.
    unavailable = (scope if node.name == "$return" else whole).unavailable
    if node.name in unavailable:

        def explain(item: Diagnostic) -> None:
            item.notes.insert(0, unavailable[node.name]())

        return low.pending(
            "E0241",
            f"variable '{node.name[1:]}' is not accessible at this address",
            node.span,
            where="it has no place here",
            explain=explain,
        )
    if node.name == "$return" and not scope.is_return:
        return low.pending(
            "E0241",
            "unable to find local 'return'",
            node.span,
            where="nothing has been returned yet",
            hint="$return is known in .return probes",
        )
    every = dict.fromkeys([*scope.variables, *whole.variables])
    names = [name for name in every if not name.startswith("$$")]  # those are for groups
    if node.name.startswith("$$"):
        names = list(GROUPS)
    # Another number is no slip of the pen: how many there are is what helps.
    numbered = re.fullmatch(r"\$arg[0-9]+", node.name) and node.name[:4] + "1" in names
    near = [] if numbered else nearest(node.name, names, 3)
    shown = near or names[:8]
    text = f"unable to find local '{node.name[1:]}'"
    if shown:
        text += f" (alternatives: {' '.join(shown)})"
    hint = f"did you mean '{near[0]}'?" if near else whole.hint
    if node.name in _RESULTS and not near:
        hint = f"the result of a function is $return{'' if scope.is_return else ', at .return'}"
    notes = [note for note in (whole.ambiguity, whole.missing) if note]
    return low.pending(
        "E0241",
        text,
        node.span,
        where="unknown target variable",
        notes=notes,
        hint=hint,
        explain=_way_out(low, node, whole),
    )


def _way_out(low: Context, node: n.Target, scope: TargetScope) -> Callable[[Diagnostic], None]:
    """Make what says how to get variables that a place has not, unless it is another mistake."""
    alias = of_alias(low, node)

    def explain(item: Diagnostic) -> None:
        way = scope.way() if scope.way is not None else ""
        if not item.hint:
            item.hint = way
        elif way and way != item.hint:  # what was meant may be one that only DWARF knows
            item.notes.append(way)
        if scope.is_user and scope.constant is not None:
            near = near_in_program(low, node.name[1:], scope.module)
            inner = [name for name in near if name.endswith(f"::{node.name[1:]}")]
            if inner or (near and not item.hint):
                shown = [f'@var("{name}")' for name in inner or near]
                item.hint = f"did you mean {' or '.join(shown)}?"
        alias(item)

    return explain


def of_alias(low: Context, node: n.Target) -> Callable[[Diagnostic], None]:
    """Make what puts a hint into a message when the name without ``$`` is a variable of an alias.

    No debug information would help then.
    """
    before = list(low.body.before)  # it grows

    def explain(item: Diagnostic) -> None:
        name = node.name[1:]
        if any(name in syntax.written(body) for body in before):
            item.hint = f"'{name}' is a variable that the alias sets: write it without '$'"
            item.notes = []

    return explain


# --- questions ----------------------------------------------------------------


def defined(low: Context, node: n.Defined) -> p.Expr:
    """Lower ``@defined(expr)``: 1 when everything in it resolves, else 0."""
    slots = low.body.entry
    before = len(slots.values) if slots is not None else 0
    known = set(low.body.locals)
    # What goes wrong in a question is its answer, not a message.
    with low.services.diagnostics.quiet() as heard:
        value = low.expr(node.operand)
    bad = bool(heard.errors) or any(isinstance(item, Pending) for item in walk(value))
    if slots is not None and len(slots.values) > before:
        slots.keys = {k: v for k, v in slots.keys.items() if v < before}
        del slots.values[before:], slots.types[before:]
    for name in set(low.body.locals) - known:
        del low.body.locals[name]
    return p.Const(node.span, p.LONG, int(not bad))


def probe_write(low: Context, node: n.ProbeWrite) -> p.Expr:
    """Lower ``@probewrite(variable)``: 1 when the probe that uses the alias writes it, else 0.

    What the alias itself writes does not count, nor do functions.
    """
    own = low.body.own
    if own is None:
        text = "unexpected @probewrite: it is about the body of a probe"
        return low.error("E0254", text, node.span)
    return p.Const(node.span, p.LONG, int(print_expr(node.operand) in syntax.written(own)))


def perf(low: Context, node: n.Perf) -> p.Expr:
    """Lower ``@perf("name")``: this thread's value of a counter of processes, else this CPU's."""
    script = low.body.file.script
    points = [pt for decl in script.decls if isinstance(decl, n.ProbeDecl) for pt in decl.points]
    named = {
        text_of(component): point
        for point in points
        for component in point.components
        if component.name == "counter"
    }
    point = named.get(of_files(node.name))
    if point is None:
        near = nearest(node.name, list(named), 2)
        hint = f'add a probe perf.type(0).config(0).counter("{node.name}")'
        return low.pending(
            "E0261",
            f"perf counter '{node.name}' not defined in the script",
            node.span,
            hint=f"did you mean {listed(near)}?" if near else hint,
        )
    of_thread = any(component.name == "process" for component in point.components)
    name = "task_counter" if of_thread else "cpu_counter"
    return p.ContextValue(node.span, p.LONG, name, counter_number(of_files(node.name)), 8, True)


# --- writing -------------------------------------------------------------------


def _target_place(low: Context, node: n.Expr) -> Place | p.Expr:
    """Find the place behind a target expression, without reading it."""
    start: Place | p.Expr
    if isinstance(node, n.AtVar):
        node = local_of(low, node) or node
    if isinstance(node, n.Target):
        scope = current_scope(low)
        variable = scope.find(node.name) if scope is not None else None
        if variable is None or variable.is_text:
            return target(low, node)
        start = place_of(variable)
    elif isinstance(node, n.Cast):
        start = casts.cast_place(low, node)
    elif isinstance(node, n.AtVar):
        start = var_place(low, node)
    elif isinstance(node, n.AutoCast):
        value = low.expr(node.value)
        type = low.values.ctype(value)
        if type is None:
            return casts.autocast(low, node)
        start = Place(type, value, writable=bool(node.chain))
    else:
        return low.expr(node)
    if not isinstance(start, Place):
        return start
    chain = getattr(node, "chain", [])
    return follow(low, start, chain, node.span)


def _not_writable(low: Context, found: Place | p.Expr, span: Span) -> None:
    """Report a write that would reach a copy at most, or nothing at all."""
    value, type = (
        (found.value, found.type) if isinstance(found, Place) else (found, low.values.ctype(found))
    )
    if isinstance(value, p.SavedEntry):
        why = "here it is a copy that was saved when the function was entered"
    elif isinstance(value, p.ContextValue) and "register" not in value.name:
        why = "an argument that the kernel has handed over: it does not look at it again"
    elif isinstance(found, Place) and found.parts:
        why = "it is put together here, from registers or from what it was made of"
    else:
        why = "it is worked out here: no register and no memory holds it"
    pointer = isinstance(ctypes.strip(type) if type is not None else None, ctypes.Pointer)
    low.error(
        "E0245",
        "this target variable cannot be changed",
        span,
        where=why,
        hint="what it points to can be changed: a member, or an element" if pointer else "",
    )


def _of_other_tracers(low: Context, node: n.Expr) -> str:
    """Tell how what only another tracer can write to is said here; else ""."""
    if not isinstance(node, n.Target):
        return casts.foreign(node)
    if node.name == "$return" or node.name.startswith("$$"):  # these are ours
        return ""
    scope = current_scope(low)
    if scope is None:
        return scratch_hint(node.name)
    whole = scope.whole()
    if scope.unknown or node.name in whole.unavailable or scope.find(node.name) is not None:
        return ""
    return "" if nearest(node.name, whole.variables, 1) else scratch_hint(node.name)


def write_place(low: Context, node: n.Expr, op: str) -> p.Expr | None:
    """Lower a target expression that ``op``, such as ``+=``, changes; None when refused."""
    if isinstance(node, n.Target) and texts.are_all(low):
        return texts.place(low, node, op)
    if not low.services.options.guru and not low.body.file.script.is_library:
        low.error(
            "E0216",
            "write to target variable not permitted; need stap -g",
            node.span,
            hint=_of_other_tracers(low, node) or "add -g when you are sure what the change does",
        )
        return None
    if getattr(node, "address_of", False):
        low.error(
            "E0254",
            "cannot write to the address of a target variable",
            node.span,
            where="an address is a value, not a place",
            hint="leave the '&' out to change what is there",
        )
        return None
    place = _target_place(low, node)
    if isinstance(place, Place):
        if not place.writable:
            _not_writable(low, place, node.span)
            return None
        value = rvalue(low, place, node.span)
    else:
        value = place
    if isinstance(value, (p.MemoryRead, p.ContextValue, Pending)):
        return value
    _not_writable(low, value, node.span)
    return None


def at_var(low: Context, node: n.AtVar) -> p.Expr:
    """Lower ``@var("name")``: one of the probe, or of the kernel where debug information has it."""
    local = local_of(low, node)
    if local is not None:
        return target(low, local)
    if low.body.entry is not None and not low.body.at_entry and not low.services.at_least("4.1"):
        return saved(low, node, node.span)  # up to 4.0 of the language as if in @entry
    place = var_place(low, node)
    if not isinstance(place, Place):
        return place
    return finish(low, place, node.chain, node.span, node.address_of)
