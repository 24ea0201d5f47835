"""What is told of code and variables that do nothing, once the program is typed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stapy.diagnostics import Diagnostic, Diagnostics
from stapy.elaborate import check
from stapy.elaborate.types import Inference

if TYPE_CHECKING:
    from stapy.elaborate import program as p
    from stapy.elaborate.resolve import Resolver
    from stapy.elaborate.typevars import TypeTable

# A tree that the optimiser dropped, and the function that it was in.
Dropped = list[tuple[Any, "p.Function | None"]]


def type_errors(dropped: Dropped, types: TypeTable, diagnostics: Diagnostics) -> None:
    """Warn of mistakes in what was dropped, seen with the types of what is left.

    SystemTap checks types after it has dropped what has no effect, so these
    must not refuse a script; with -u nothing is dropped.
    """
    found = Diagnostics(diagnostics.sources)
    infer(dropped, types, found)
    warn_of(found.errors, diagnostics)


def infer(dropped: Dropped, types: TypeTable, diagnostics: Diagnostics) -> None:
    """Let what was dropped have its say on types that are still open."""
    inference = Inference(types, diagnostics)
    for node, function in dropped:
        inference.body(node, function)
    inference.finish()


def warn_of(errors: list[Diagnostic], diagnostics: Diagnostics) -> None:
    """Tell of mistakes that do not count, because what they are in is left out."""
    for item in errors:
        diagnostics.warning(
            "W0613",
            item.message,
            item.span,
            where=item.where,
            labels=item.labels,
            notes=["this code has no effect and is left out"],
            hint="with -u nothing is left out, and this is an error",
        )


def never_assigned_locals(resolver: Resolver) -> None:
    """Warn of locals that are read, but never set."""
    bodies = [(raw.body, set(raw.locals)) for raw in resolver.probes]
    bodies += [
        (f.function.body, set(f.locals) - {v.name for v in f.function.params})
        for f in resolver.functions
        if f.function.body is not None
    ]
    for body, names in bodies:
        for ref in check.unassigned(body, names):
            source = resolver.services.sources.source(ref.span)
            if source is None or not source.library:
                resolver.services.diagnostics.warning(
                    "W0607",
                    f"never-assigned local variable '{ref.name}'",
                    ref.span,
                    where="nothing gives it a value",
                    hint=f"add 'global {ref.name}' when another probe sets it",
                )


def never_assigned_globals(
    resolver: Resolver, used: dict[str, p.Global], written: set[str]
) -> None:
    """Warn of the user's globals that are read, but never set."""
    for name, var in used.items():
        info = resolver.names.infos[name]
        if name in written or info.library or var.init is not None or var.settable:
            continue
        resolver.services.diagnostics.warning(
            "W0603",
            f"never-assigned global variable '{var.name}'",
            var.span,
            where="nothing gives it a value",
        )


def globals_in_use(resolver: Resolver, used: dict[str, p.Global]) -> list[p.Global]:
    """Those that something uses or -G sets; of the user's others a warning tells."""
    kept = []
    for name, info in resolver.names.infos.items():
        if name in used or info.var.settable:
            kept.append(info.var)
        elif not info.library and not resolver.services.options.unoptimized:
            text = f"Eliding unused variable '{info.var.name}'"
            resolver.services.diagnostics.warning(
                "W0612", text, info.var.span, where="nothing uses it"
            )
    return kept
