"""Types, once the unused code is gone: a lowered program to a typed one, or to messages."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from stapy.diagnostics import Diagnostics
from stapy.elaborate.analyse import check, comparisons, unresolved, unused
from stapy.elaborate.analyse.delay import Delay
from stapy.elaborate.analyse.entryvars import NamesOfProbe
from stapy.elaborate.analyse.parentheses import value_hint
from stapy.elaborate.analyse.typed import Typed, TypedProbe
from stapy.elaborate.analyse.types import Inference
from stapy.elaborate.lower.fold import fold
from stapy.elaborate.lower.lowered import Lowered, LoweredProbe
from stapy.ir import program as p
from stapy.ir.effects import CallGraph
from stapy.ir.walk import transform, walk

if TYPE_CHECKING:
    from stapy.services import Services


def settle(lowered: Lowered, services: Services) -> Typed | None:
    """Find all types; None when there are errors."""
    return _Settling(lowered, services).run()


class _Settling:
    """The state of finding the types of one program."""

    def __init__(self, lowered: Lowered, services: Services) -> None:
        self._lowered = lowered
        self._probes = lowered.probes
        self._functions = lowered.functions
        self._services = services
        self._diagnostics = services.diagnostics
        self._inference = Inference(lowered.types, services.diagnostics)
        self._inference.ctype = lowered.values.ctype
        self._inference.value_hint = partial(value_hint, library=services.library)

    def run(self) -> Typed | None:
        """Find and write down all types; return the typed program, None when there are errors."""
        before = len(self._diagnostics.errors)
        self._pending()
        self._infer(quiet=before > 0)
        if self._diagnostics.errors:
            return None
        self._settle()
        lowered = self._lowered
        library = self._library_globals()
        unused.type_errors(lowered.dropped, lowered.types, self._diagnostics, library)
        if self._diagnostics.errors:
            return None
        functions = [item.function for item in self._functions]
        graph = CallGraph(functions, lowered.symbols.by_name())
        for body, _ in self._bodies():
            check.loops(body, graph, self._diagnostics)
            check.slices(body, self._diagnostics)
        comparisons.check(self._probes, functions, lowered.points, self._services)
        self._delay(functions, graph)
        return Typed(
            [self._probe(raw) for raw in self._probes],
            functions,
            graph,
            self._embedded(),
            lowered.symbols,
            lowered.values,
            lowered.points,
        )

    def _bodies(self) -> list[tuple[p.Node, p.Function | None]]:
        found: list[tuple[p.Node, p.Function | None]] = []
        for raw in self._probes:
            found.append((raw.body, None))
            if raw.condition is not None:
                found.append((raw.condition, None))
            if raw.slots is not None:
                found += [(value, None) for value in raw.slots.values]
        for item in self._functions:
            if item.function.body is not None:
                found.append((item.function.body, item.function))
        return found

    def _pending(self) -> None:
        verbose = self._services.options.verbose[1] > 0
        kept = unresolved.leave_out(self._probes, verbose, self._diagnostics)
        self._probes = kept
        if self._services.options.skip_badvars:
            for raw in self._probes:
                raw.body = unresolved.skip(raw.body, self._diagnostics)
                if raw.slots is not None:
                    values = raw.slots.values
                    raw.slots.values = [unresolved.skip(v, self._diagnostics) for v in values]
            for item in self._functions:
                if item.function.body is not None:
                    item.function.body = unresolved.skip(item.function.body, self._diagnostics)
        check.pending([body for body, _ in self._bodies()], self._diagnostics)

    def _infer(self, quiet: bool) -> None:
        bodies = self._bodies()
        for body, function in bodies:
            self._inference.body(body, function)
        for raw in self._probes:
            if raw.condition is not None:
                self._inference.expect(raw.condition, p.LONG)
        self._inference.finish()
        if quiet or self._diagnostics.errors:
            return
        # SystemTap drops much of this later: a type that only dropped code tells is one.
        unused.infer(
            self._lowered.dropped, self._lowered.types, Diagnostics(self._diagnostics.sources)
        )
        library = self._library_globals()
        if self._lowered.ruled_out:
            trial = Inference(self._lowered.types, Diagnostics(self._diagnostics.sources))
            for body, _ in bodies:
                trial.unresolved(body, library)
            if trial.diagnostics.errors:
                self._infer_ruled_out()
        for raw in self._probes:
            names = NamesOfProbe(
                self._lowered.points,
                raw.derived.chain,
                self._near(raw),
                partial(self._target_hint, raw),
            )
            for value in [raw.body, *(raw.slots.values if raw.slots is not None else ())]:
                self._inference.unresolved(value, library, names)
        for body, _ in bodies:
            self._inference.unresolved(body, library)

    def _target_hint(self, raw: LoweredProbe, name: str) -> str:
        sites = [one.site for one in raw.matches]
        return unused.target_hint(raw.derived.family.name, sites, name, self._services)

    def _near(self, raw: LoweredProbe) -> list[p.Variable | p.Global]:
        """List what a wrong name in a probe may mean: its variables, those of aliases, globals."""
        infos = self._lowered.symbols.infos.values()
        return [*raw.locals.values(), *(info.var for info in infos if not info.is_library)]

    def _infer_ruled_out(self) -> None:
        """Let the branches that ``@defined`` rules out have their say; no message comes of it.

        SystemTap finds the types of variables before it drops such a branch.
        """
        with self._services.diagnostics.quiet() as heard:
            inference = Inference(self._lowered.types, heard)
            for tree, function in self._lowered.ruled_out.lowered():
                inference.body(tree, function)
            inference.finish()

    def _library_globals(self) -> set[str]:
        infos = self._lowered.symbols.infos
        return {name for name, info in infos.items() if info.is_library}

    def _settle(self) -> None:
        for body, _ in self._bodies():
            self._inference.settle(body)
        types = self._lowered.types
        for raw in self._probes:
            self._inference.settle_variables(raw.locals.values())
            if raw.slots is not None:
                raw.slots.types = [types.settled(kind, p.LONG) for kind in raw.slots.types]
                self._inference.settle_variables(raw.slots.locals.values())
        for item in self._functions:
            function = item.function
            self._inference.settle_variables(function.params)
            own = {v.name for v in function.params}
            function.locals = [v for v in item.locals.values() if v.name not in own]
            self._inference.settle_variables(function.locals)
            function.type = types.settled(function.type, p.VOID)
        for info in self._lowered.symbols.infos.values():
            var = info.var
            var.type = types.settled(var.type, p.LONG)
            var.keys = [types.settled(kind, p.LONG) for kind in var.keys]
        for raw in self._probes:
            raw.body = transform(raw.body, _fold)
        for item in self._functions:
            if item.function.body is not None:
                item.function.body = transform(item.function.body, _fold)

    def _delay(self, functions: list[p.Function], graph: CallGraph) -> None:
        """Let aliases compute where the script first asks."""
        services = self._services
        if services.options.unoptimized or not services.at_least("4.4"):
            return
        bodies = [body for body, _ in self._bodies()]
        delay = Delay(functions, bodies, graph, services.sources)
        for raw in self._probes:
            raw.body = delay.body(raw.body, raw.derived.own.span)

    # --- the typed records -----------------------------------------------------

    def _probe(self, raw: LoweredProbe) -> TypedProbe:
        derived = raw.derived
        entry, slots, entry_locals = self._entry(raw)
        return TypedProbe(
            derived.family.name,
            [m.site for m in raw.matches],
            [m.point for m in raw.matches],
            derived.written,
            derived.alias,
            derived.chain,
            raw.body,
            list(raw.locals.values()),
            raw.condition,
            entry,
            entry_locals,
            slots,
            derived.span,
        )

    def _entry(self, raw: LoweredProbe) -> tuple[p.Stmt | None, list[p.Type], list[p.Variable]]:
        """Build the entry handler for the slots still read; return it, its types and locals."""
        if raw.slots is None or not raw.slots.values:
            return None, [], []
        used: dict[int, list[p.SavedEntry]] = {}
        trees = [raw.body, *(f.function.body for f in self._functions if f.function.body)]
        for tree in trees:
            for item in walk(tree):
                if isinstance(item, p.SavedEntry):
                    used.setdefault(item.slot, []).append(item)
        if any(isinstance(i, p.SavedEntry) for t in trees[1:] for i in walk(t)):
            kept = list(range(len(raw.slots.values)))  # functions share numbers: keep them all
        else:
            kept = sorted(used)
            for number, slot in enumerate(kept):
                for item in used[slot]:
                    item.slot = number
        if not kept:
            return None, [], []
        stores: list[p.Stmt] = [
            p.SaveEntry(raw.slots.values[slot].span, number, raw.slots.values[slot])
            for number, slot in enumerate(kept)
        ]
        locals_ = list(raw.slots.locals.values())
        return p.Block(raw.derived.span, stores), [raw.slots.types[s] for s in kept], locals_

    def _embedded(self) -> list[str]:
        """List the top-level C: the user's, and that of library files with a function in use."""
        needed = {id(item.source.file) for item in self._functions}
        return [
            decl.code
            for decl, file in self._lowered.symbols.embedded
            if not file.script.is_library or id(file) in needed
        ]


def _fold(node: p.Node) -> p.Node:
    return fold(node) if isinstance(node, p.Expr) else node
