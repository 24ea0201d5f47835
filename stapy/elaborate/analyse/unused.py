"""What is told of code and variables that do nothing, once the program is typed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stapy.diagnostics import Diagnostics
from stapy.diagnostics.habits import argument_hint
from stapy.elaborate.analyse import check, entryvars
from stapy.elaborate.analyse.parentheses import value_hint
from stapy.elaborate.analyse.types import Inference
from stapy.elaborate.lower.pending import warn_of
from stapy.ir import program as p
from stapy.probes.families import by_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stapy.elaborate.analyse.typed import Typed, TypedProbe
    from stapy.elaborate.lower.lowered import Dropped
    from stapy.elaborate.names.select import SymbolTable
    from stapy.elaborate.typevars import TypeTable
    from stapy.services import Services


def type_errors(
    dropped: list[Dropped], types: TypeTable, diagnostics: Diagnostics, library: set[str]
) -> None:
    """Tell of mistakes in what was dropped, seen with the types of what is left.

    SystemTap checks types after it has dropped what has no effect, so mistakes in that
    must not refuse a script (with -u nothing is dropped); code that never runs is
    checked like all other code, but for the handler of nothing that is tried.
    ``library`` are the library's globals.
    """
    found = Diagnostics(diagnostics.sources)
    strict = [item for item in dropped if item.strict]
    infer([item for item in dropped if not item.strict], types, found)
    warn_of(found.errors, diagnostics)
    inference = Inference(types, diagnostics)
    for item in strict:
        inference.body(item.node, item.function)
    inference.finish()
    for item in dropped:
        if item.would_act:
            inference.unresolved(item.node, library)


def infer(dropped: list[Dropped], types: TypeTable, diagnostics: Diagnostics) -> None:
    """Let what was dropped have its say on types that are still open."""
    inference = Inference(types, diagnostics)
    for item in dropped:
        inference.body(item.node, item.function)
    inference.finish()


def never_assigned_locals(typed: Typed, services: Services) -> None:
    """Warn of locals that are read, but never set."""
    bodies: list[tuple[p.Stmt, set[str], set[str], TypedProbe | None]]
    bodies = [(item.body, {v.name for v in item.locals}, set(), item) for item in typed.probes]
    bodies += [
        (function.body, {v.name for v in function.locals}, {v.name for v in function.params}, None)
        for function in typed.functions
        if function.body is not None
    ]
    for body, names, given, probe in bodies:
        unassigned = check.unassigned(body, names)
        assigned = given | names - {ref.name for ref in unassigned}
        for ref in unassigned:
            source = services.sources.source(ref.span)
            if source is None or not source.is_library:
                chain = probe.chain if probe is not None else []
                kept = entryvars.find(typed.points, chain, ref.name)
                services.diagnostics.warning(
                    "W0607",
                    f"never-assigned local variable '{ref.name}'",
                    ref.span,
                    where=kept.where if kept else "nothing gives it a value",
                    hint=(kept.hint if kept else "")
                    or argument_hint(source)
                    or (probe and target_hint(probe.family, probe.sites, ref.name, services))
                    or value_hint(ref.name, services.library)
                    or _similar_hint(typed, chain, ref.name, assigned)
                    or _alias_hint(typed, chain, ref.name)
                    or _text_hint(typed, ref)
                    or f"add 'global {ref.name}' when another probe sets it",
                )


def _alias_hint(typed: Typed, chain: list[str], name: str) -> str:
    """Say what the probe's aliases set, and how a value comes from another probe; "" for none."""
    told = entryvars.NamesOfProbe(typed.points, chain, []).told()
    return f"{told}; add 'global {name}' when another probe sets it" if told else ""


def _text_hint(typed: Typed, ref: p.LocalRef) -> str:
    """Suggest quotes for a word where a string is wanted."""
    if typed.symbols.types.find(ref.type) != p.STRING:
        return ""
    return f"\"{ref.name}\" is the text; add 'global {ref.name}' when another probe sets it"


def target_hint(family: str, sites: Sequence[Any], name: str, services: Services) -> str:
    """Suggest ``$name`` where the probed code has a variable of that name, else return ""."""
    scopes = (by_name(family).scope(site, services) for site in sites[:1])
    if any(scope is not None and scope.find(f"${name}") is not None for scope in scopes):
        return f"'${name}' is the variable of what is probed"
    return ""


def _similar_hint(typed: Typed, chain: list[str], name: str, assigned: set[str]) -> str:
    """Suggest what the body, its aliases or another probe set by a name like this, "" for none."""
    infos = typed.symbols.infos.values()
    shared = {info.var.name for info in infos if not info.is_library}
    return entryvars.NamesOfProbe(typed.points, chain, []).similar(name, assigned | shared)


def never_assigned_globals(
    symbols: SymbolTable, used: dict[str, p.Global], written: set[str], diagnostics: Diagnostics
) -> None:
    """Warn of the user's globals that are read, but never set."""
    for name, var in used.items():
        info = symbols.infos[name]
        if name in written or info.is_library or var.init is not None or var.settable:
            continue
        diagnostics.warning(
            "W0603",
            f"never-assigned global variable '{var.name}'",
            var.span,
            where="nothing gives it a value",
        )


def globals_in_use(
    symbols: SymbolTable, used: dict[str, p.Global], services: Services
) -> list[p.Global]:
    """List the globals that something uses or -G sets; warn of the user's others."""
    kept = []
    for name, info in symbols.infos.items():
        if name in used or info.var.settable:
            kept.append(info.var)
        elif not info.is_library and not services.options.unoptimized:
            text = f"Eliding unused variable '{info.var.name}'"
            services.diagnostics.warning("W0612", text, info.var.span, where="nothing uses it")
    return kept
