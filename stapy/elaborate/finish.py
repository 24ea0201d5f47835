"""The second half of pass 2: types, checks, locks, handlers, and the `Program` record."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from stapy.diagnostics import NOWHERE, Diagnostics
from stapy.elaborate import check, entryvars, pending, unused
from stapy.elaborate.arming import Conditions
from stapy.elaborate.autoprint import handler_body
from stapy.elaborate.fold import fold
from stapy.elaborate.pushdown import Pushdown
from stapy.elaborate.types import Inference
from stapy.ir import program as p
from stapy.ir.effects import (
    CallGraph,
    access,
    function_effects,
    has_next,
    locks_of,
    may_fail,
    pragma_access,
    values_read,
)
from stapy.ir.walk import fingerprint, transform, walk
from stapy.record import Record

if TYPE_CHECKING:
    from stapy.elaborate.resolve import LoweredProbe, Resolver
    from stapy.elaborate.unused import Dropped

FEATURE_PRAGMAS = "pragma:"


class TypedProbe(Record):
    """A probe on its way into the program."""

    family: str
    sites: list[Any]
    points: list[str]
    written: str
    alias: str
    chain: list[str]
    body: p.Stmt
    locals: list[p.Variable]
    condition: p.Expr | None
    entry: p.Stmt | None
    entry_locals: list[p.Variable]
    slots: list[str]
    span: Any


class Finisher:
    """Makes a `Program` of what the resolver and the optimiser left."""

    def __init__(self, resolver: Resolver, dropped: list[Dropped]) -> None:
        self.resolver = resolver
        self.dropped = dropped
        self.services = resolver.services
        self.diagnostics = resolver.services.diagnostics
        self.conditions = Conditions([], set())
        self.pushdown: Pushdown | None = None
        self.inference = Inference(resolver.types, resolver.services.diagnostics)
        self.inference.ctype = resolver.ctype

    def run(self) -> p.Program | None:
        """The program; None when there are errors."""
        before = len(self.diagnostics.errors)
        self._pending()
        self._infer(quiet=before > 0)
        if self.diagnostics.errors:
            return None
        self._settle()
        library = self._library_globals()
        unused.type_errors(self.dropped, self.resolver.types, self.diagnostics, library)
        if self.diagnostics.errors:
            return None
        functions = [f.function for f in self.resolver.functions]
        globals_ = self._globals_by_name()
        graph = CallGraph(functions, globals_)
        self._check(graph)
        infos = self.resolver.names.infos.values()
        settable = [i.var for i in sorted(infos, key=lambda i: not i.library)]
        check.settings(self.services.options.globals, settable, self.diagnostics)
        if self.diagnostics.errors:
            return None
        probes = [self._probe(raw) for raw in self.resolver.probes]
        if not probes:
            self.diagnostics.error(
                "semantic error",
                "E0238",
                "no probes found",
                hint="a script needs at least one probe that does something",
            )
            return None
        self._review(probes)
        probes += self._autoprint(probes, functions)
        return self._program(probes, functions, graph)

    def _review(self, probes: list[TypedProbe]) -> None:
        """Each family sees its probes together."""
        from stapy.probes import by_name
        from stapy.probes.family import review

        for name in dict.fromkeys(probe.family for probe in probes):
            mine = [probe for probe in probes if probe.family == name]
            review(by_name(name), mine, self.services)

    # --- types and checks ------------------------------------------------------

    def _bodies(self) -> list[tuple[Any, p.Function | None]]:
        found: list[tuple[Any, p.Function | None]] = []
        for raw in self.resolver.probes:
            found.append((raw.body, None))
            if raw.condition is not None:
                found.append((raw.condition, None))
            if raw.slots is not None:
                found += [(value, None) for value in raw.slots.values]
        for item in self.resolver.functions:
            if item.function.body is not None:
                found.append((item.function.body, item.function))
        return found

    def _pending(self) -> None:
        verbose = self.services.options.verbose[1] > 0
        kept = pending.leave_out(self.resolver.probes, verbose, self.diagnostics)
        self.resolver.probes = kept
        if self.services.options.skip_badvars:
            for raw in self.resolver.probes:
                raw.body = pending.skip(raw.body, self.diagnostics)
                if raw.slots is not None:
                    values = raw.slots.values
                    raw.slots.values = [pending.skip(v, self.diagnostics) for v in values]
            for item in self.resolver.functions:
                if item.function.body is not None:
                    item.function.body = pending.skip(item.function.body, self.diagnostics)
        check.pending([body for body, _ in self._bodies()], self.diagnostics)

    def _infer(self, quiet: bool) -> None:
        bodies = self._bodies()
        for body, function in bodies:
            self.inference.body(body, function)
        for raw in self.resolver.probes:
            if raw.condition is not None:
                self.inference.expect(raw.condition, p.LONG)
        self.inference.finish()
        if quiet or self.diagnostics.errors:
            return
        # SystemTap drops much of this later: a type that only dropped code tells is one.
        unused.infer(self.dropped, self.resolver.types, Diagnostics(self.diagnostics.sources))
        library = self._library_globals()
        if self.resolver.ruled_out:
            trial = Inference(self.resolver.types, Diagnostics(self.diagnostics.sources))
            for body, _ in bodies:
                trial.unresolved(body, library)
            if trial.diagnostics.errors:
                from stapy.elaborate import ruledout

                ruledout.infer(self.resolver)
        for raw in self.resolver.probes:
            known = functools.partial(entryvars.find, self.resolver, raw)
            for value in [raw.body, *(raw.slots.values if raw.slots is not None else ())]:
                self.inference.unresolved(value, library, known)
        for body, _ in bodies:
            self.inference.unresolved(body, library)

    def _library_globals(self) -> set[str]:
        infos = self.resolver.names.infos
        return {name for name, info in infos.items() if info.library}

    def _settle(self) -> None:
        for body, _ in self._bodies():
            self.inference.settle(body)
        find = self.resolver.types.find
        for raw in self.resolver.probes:
            self.inference.settle_variables(raw.locals.values())
            if raw.slots is not None:
                raw.slots.types = [find(kind) for kind in raw.slots.types]
                self.inference.settle_variables(raw.slots.locals.values())
        for item in self.resolver.functions:
            function = item.function
            self.inference.settle_variables(function.params)
            own = {v.name for v in function.params}
            function.locals = [v for v in item.locals.values() if v.name not in own]
            self.inference.settle_variables(function.locals)
            kind = find(function.type)
            function.type = p.VOID if kind.startswith("?") else kind
        for info in self.resolver.names.infos.values():
            var = info.var
            kind = find(var.type)
            var.type = p.LONG if kind.startswith("?") else kind
            var.keys = [p.LONG if find(k).startswith("?") else find(k) for k in var.keys]
        for raw in self.resolver.probes:
            raw.body = transform(raw.body, _fold)
        for item in self.resolver.functions:
            if item.function.body is not None:
                item.function.body = transform(item.function.body, _fold)

    def _check(self, graph: CallGraph) -> None:
        for body, _ in self._bodies():
            check.loops(body, graph, self.diagnostics)
            check.slices(body, self.diagnostics)

    def _globals_by_name(self) -> dict[str, p.Global]:
        return {info.var.name: info.var for info in self.resolver.names.infos.values()}

    # --- probes -------------------------------------------------------------------

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

    def _entry(self, raw: LoweredProbe) -> tuple[p.Stmt | None, list[str], list[p.Variable]]:
        """The entry handler that fills the slots which the body still reads."""
        if raw.slots is None or not raw.slots.values:
            return None, [], []
        used: dict[int, list[p.SavedEntry]] = {}
        trees = [raw.body, *(f.function.body for f in self.resolver.functions if f.function.body)]
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

    def _autoprint(self, probes: list[TypedProbe], functions: list[p.Function]) -> list[TypedProbe]:
        if not self.services.options.autoprint:
            return []
        read: set[str] = set()
        written: set[str] = set()
        trees: list[Any] = [x.body for x in probes]
        trees += [x.condition for x in probes if x.condition is not None]
        trees += [x.entry for x in probes if x.entry is not None]
        trees += [f.body for f in functions if f.body is not None]
        for tree in trees:
            read |= values_read(tree)
            own = access(tree)
            written |= set(own.writes) | set(own.inserts)
        by_name = self._globals_by_name()
        for function in functions:
            read |= set(pragma_access(function, by_name).reads)
        result = []
        for info in self.resolver.names.infos.values():
            var = info.var
            if info.library or var.c_name in read or var.c_name not in written:
                continue
            body, locals_ = handler_body(var, self.resolver.holds_pointers(var))
            result.append(self._end_probe(body, locals_))
        return result

    @staticmethod
    def _end_probe(body: p.Stmt, locals_: list[p.Variable]) -> TypedProbe:
        from stapy.probes.begin_end import FAMILY, PhaseSite

        return TypedProbe(
            FAMILY.name,
            [PhaseSite("end", 0)],
            ["end"],
            "end",
            "end",
            [],
            body,
            locals_,
            None,
            None,
            [],
            [],
            NOWHERE,
        )

    # --- the program ---------------------------------------------------------------

    def _program(
        self, probes: list[TypedProbe], functions: list[p.Function], graph: CallGraph
    ) -> p.Program:
        whole = [graph.whole(x.body) for x in probes]
        used: dict[str, p.Global] = {}
        written: set[str] = set()
        trees: list[Any] = [x.condition for x in probes if x.condition is not None]
        trees += [x.entry for x in probes if x.entry is not None]
        for found in [*whole, *(graph.whole(tree) for tree in trees)]:
            used.update({**found.reads, **found.writes, **found.inserts})
            written |= set(found.writes) | set(found.inserts)
        self._functions(functions, graph)
        constant = {name for name in used if name not in written}
        self.conditions = Conditions(
            (x.condition for x in probes if x.condition is not None), constant
        )
        if self._pushes():
            self.pushdown = Pushdown(graph, self.conditions, constant, function_effects(functions))
        handlers: dict[Any, p.Handler] = {}
        derived: list[p.DerivedProbe] = []
        for item in probes:
            handler = self._handler(item, item.body, item.locals, handlers, graph, constant, "")
            entry = None
            if item.entry is not None:
                entry = self._handler(
                    item, item.entry, item.entry_locals, handlers, graph, constant, "_entry"
                )
            self._join(derived, item, handler, entry)
        unused.never_assigned_globals(self.resolver, used, written)
        unused.never_assigned_locals(self.resolver)
        globals_ = unused.globals_in_use(self.resolver, used)
        roots = {name for x in probes for name in _called(x.body)}
        program = p.Program(
            globals_,
            functions,
            list(handlers.values()),
            derived,
            self._embedded(),
            set(),
            graph.depth(roots),
            self.conditions.all(),
        )
        program.features = _features(program)
        return program

    def _pushes(self) -> bool:
        return self.services.at_least("4.4")

    def _embedded(self) -> list[str]:
        """Top-level C: the user's, and that of library files of which a function is left."""
        needed = {id(item.source.file) for item in self.resolver.functions}
        return [
            decl.code
            for decl, file in self.resolver.names.embedded
            if not file.script.library or id(file) in needed
        ]

    def _functions(self, functions: list[p.Function], graph: CallGraph) -> None:
        recursive = graph.recursive()
        failing = (
            {f.c_name for f in functions if f.code is not None and "pure" not in f.markers}
            | {f.c_name for f in functions if f.code is not None}
            | recursive
        )
        changed = True
        while changed:
            changed = False
            for function in functions:
                if function.c_name in failing or function.body is None:
                    continue
                last = function.next is None and has_next(function.body)
                if last or may_fail(function.body, failing):
                    failing.add(function.c_name)
                    changed = True
        for function in functions:
            found = graph.access[function.c_name]
            function.reads = set(found.reads)
            function.writes = set(found.writes) | set(found.inserts)
            function.recursive = function.c_name in recursive
            function.may_fail = function.c_name in failing

    def _handler(
        self,
        probe: TypedProbe,
        body: p.Stmt,
        locals_: list[p.Variable],
        handlers: dict[Any, p.Handler],
        graph: CallGraph,
        constant: set[str],
        tail: str,
    ) -> p.Handler:
        """The handler of a body; an equal one that is there already is used again."""
        whole = graph.whole(body)
        again = not tail and self.conditions.share(probe.condition, whole)
        key = (fingerprint(body), fingerprint(locals_), again)
        found = handlers.get(key)
        if found is None:
            name = self.resolver.names.unique("h_", _hint(probe) + tail)
            judged = self.conditions.changed_by(whole)
            locks = locks_of(self.conditions.widened(whole, judged), constant)
            if locks and self.pushdown is not None and not again:
                body = self.pushdown.narrow(body)
            found = p.Handler(name, locals_, body, locks, probe.span, judged, again)
            handlers[key] = found
        return found

    def _join(
        self,
        derived: list[p.DerivedProbe],
        item: TypedProbe,
        handler: p.Handler,
        entry: p.Handler | None,
    ) -> None:
        """Add the probe, or its sites to the one before that is the same."""
        condition = self.conditions.of(item.condition)
        if derived:
            last = derived[-1]
            if (
                last.handler is handler
                and last.entry is entry
                and last.family == item.family
                and last.written == item.written
                and last.alias == item.alias
                and last.span == item.span
                and last.span != NOWHERE
                and last.condition is condition
            ):
                last.sites += item.sites
                last.points += item.points
                return
        derived.append(
            p.DerivedProbe(
                item.family,
                item.sites,
                item.points,
                item.written,
                item.alias,
                item.chain,
                handler,
                condition,
                entry,
                item.slots,
                item.span,
            )
        )


def _fold(node: Any) -> Any:
    return fold(node) if isinstance(node, p.Expr) else node


def _called(node: Any) -> set[str]:
    from stapy.ir.effects import calls

    return set(calls(node))


def _hint(probe: TypedProbe) -> str:
    """A short word for a handler's C name."""
    import re

    text = probe.alias or probe.points[0]
    quoted = re.search(r'\("([^"]+)"\)', text)
    if quoted and "*" not in quoted[1]:
        text = quoted[1] + ("_return" if ".return" in text else "")
    text = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")
    return text[:40] or "probe"


def _features(program: p.Program) -> set[str]:
    """Pieces of the runtime that the program uses."""
    found: set[str] = set()
    for function in program.functions:
        for mark in function.markers:
            if mark.startswith(FEATURE_PRAGMAS) and mark.count(":") == 1:
                found.add(mark[len(FEATURE_PRAGMAS) :])
    if any(var.type == p.STATS for var in program.globals):
        found.add("stats")
    if any(var.keys for var in program.globals):
        found.add("maps")
    trees: list[Any] = [h.body for h in program.handlers]
    trees += [f.body for f in program.functions if f.body is not None]
    matches = [i for t in trees for i in walk(t) if isinstance(i, p.RegexMatch)]
    if matches:
        found.add("regex")
    if any(f.name in ("matched", "ngroups") for f in program.functions):
        for item in matches:
            item.groups = True
    return found
