"""The last step of pass 2: a typed program's locks, handlers and conditions, and its record."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from stapy.diagnostics import NOWHERE, Span
from stapy.elaborate.analyse import check, counters, kept_stacks, meant, unused
from stapy.elaborate.analyse.typed import Typed, TypedProbe
from stapy.elaborate.assemble import snapshots
from stapy.elaborate.assemble.arming import Conditions
from stapy.elaborate.assemble.autoprint import handler_body, record_body, show
from stapy.elaborate.assemble.pushdown import Pushdown
from stapy.ir import program as p
from stapy.ir.effects import (
    Access,
    access,
    calls,
    function_effects,
    locks_of,
    pragma_access,
    values_read,
)
from stapy.ir.switches import MONITOR
from stapy.ir.walk import fingerprint, walk
from stapy.probes.families import begin_end, by_name, timer
from stapy.probes.family import review

if TYPE_CHECKING:
    from collections.abc import Hashable

    from stapy.services import Services

FEATURE_PRAGMAS = "pragma:"


def assemble(typed: Typed, services: Services) -> p.Program | None:
    """Put a program together; None when there is none."""
    diagnostics = services.diagnostics
    infos = typed.symbols.infos.values()
    settable = [info.var for info in sorted(infos, key=lambda info: not info.is_library)]
    check.settings(services.options.globals, settable, diagnostics)
    if diagnostics.errors:
        return None
    if not typed.probes:
        diagnostics.error(
            "semantic error",
            "E0238",
            "no probes found",
            hint="a script needs at least one probe that does something;"
            " -u keeps those that do nothing",
        )
        return None
    counters.check(typed.probes, diagnostics)
    meant.check(typed.probes, diagnostics)
    kept_stacks.check(typed.probes, typed.functions, diagnostics)
    if diagnostics.errors:
        return None
    for name in dict.fromkeys(probe.family for probe in typed.probes):
        mine = [probe for probe in typed.probes if probe.family == name]
        review(by_name(name), mine, services)
    return _Assembly(typed, services).program()


class _Assembly:
    """The program while its parts are put together."""

    def __init__(self, typed: Typed, services: Services) -> None:
        self._typed = typed
        self._services = services
        self._graph = typed.graph
        self._probes = [*typed.probes, *self._autoprint()]
        self._used: dict[str, p.Global] = {}
        self._written: set[str] = set()
        # By the id of a body or a condition: what it does to globals, callees included.
        self._does: dict[int, Access] = {}
        self._look()
        self._constant = {name for name in self._used if name not in self._written}
        self._conditions = Conditions(
            (x.condition for x in self._probes if x.condition is not None), self._constant
        )
        self._pushdown: Pushdown | None = None
        if services.at_least("4.4"):
            impure = function_effects(typed.functions)
            self._pushdown = Pushdown(self._graph, self._conditions, self._constant, impure)
        self._handlers: dict[Hashable, p.Handler] = {}

    def _look(self) -> None:
        """Note the globals that the probes use and change."""
        trees: list[p.Node] = [x.body for x in self._probes]
        trees += [x.condition for x in self._probes if x.condition is not None]
        trees += [x.entry for x in self._probes if x.entry is not None]
        for tree in trees:
            found = self._does[id(tree)] = self._graph.whole(tree)
            self._used.update({**found.reads, **found.writes, **found.inserts})
            self._written |= set(found.writes) | set(found.inserts)

    def program(self) -> p.Program:
        """Assemble the whole program: handlers, derived probes, and the globals still in use."""
        typed, services = self._typed, self._services
        self._functions()
        derived: list[p.DerivedProbe] = []
        for item in self._probes:
            handler = self._handler(item, item.body, item.locals, "")
            entry = None
            if item.entry is not None:
                entry = self._handler(item, item.entry, item.entry_locals, "_entry")
            self._join(derived, item, handler, entry)
        diagnostics = services.diagnostics
        unused.never_assigned_globals(typed.symbols, self._used, self._written, diagnostics)
        unused.never_assigned_locals(typed, services)
        roots = {name for x in self._probes for name in calls(x.body)}
        program = p.Program(
            unused.globals_in_use(typed.symbols, self._used, services),
            typed.functions,
            list(self._handlers.values()),
            derived,
            typed.embedded,
            set(),
            self._graph.depth(roots),
            self._conditions.all(),
        )
        program.features = _features(program)
        return program

    def _functions(self) -> None:
        """Note what each function does to globals, callees included."""
        recursive = self._graph.recursive()
        for function in self._typed.functions:
            found = self._graph.access[function.c_name]
            function.reads = set(found.reads)
            function.writes = set(found.writes) | set(found.inserts)
            function.is_recursive = function.c_name in recursive

    def _handler(
        self, probe: TypedProbe, body: p.Stmt, locals_: list[p.Variable], tail: str
    ) -> p.Handler:
        """Return the handler of a body, that of an equal body where there is one already.

        Not that of a text that only reads alike: messages of errors tell where they come from.
        """
        whole = self._does[id(body)]
        again = not tail and self._conditions.shares_globals(probe.condition, whole)
        key = (body.span, fingerprint(body), fingerprint(locals_), again)
        found = self._handlers.get(key)
        if found is None:
            name = self._typed.symbols.unique("h_", _hint(probe) + tail)
            judged = self._conditions.changed_by(whole)
            locks = locks_of(self._conditions.widened(whole, judged), self._constant)
            if locks and self._pushdown is not None and not again:
                body = self._pushdown.narrow(body)
            found = p.Handler(name, locals_, body, locks, probe.span, judged, again)
            self._handlers[key] = found
        return found

    def _join(
        self,
        derived: list[p.DerivedProbe],
        item: TypedProbe,
        handler: p.Handler,
        entry: p.Handler | None,
    ) -> None:
        """Add the probe, or its sites to the one before that is the same."""
        condition = self._conditions.of(item.condition)
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

    def _autoprint(self) -> list[TypedProbe]:
        if not self._services.options.autoprint:
            return []
        probes, functions = self._typed.probes, self._typed.functions
        read: set[str] = set()
        written: set[str] = set()
        sources = self._services.sources
        # What a monitor shows is printed at the end all the same.
        trees: list[p.Node] = [x.body for x in probes if sources.position(x.span)[0] != MONITOR]
        trees += [x.condition for x in probes if x.condition is not None]
        trees += [x.entry for x in probes if x.entry is not None]
        trees += [f.body for f in functions if f.body is not None]
        for tree in trees:
            read |= values_read(tree)
            own = access(tree)
            written |= set(own.writes) | set(own.inserts)
        by_name = self._typed.symbols.by_name()
        for function in functions:
            read |= set(pragma_access(function, by_name).reads)
        result = []
        told = bool(self._services.options.format)
        for info in self._typed.symbols.infos.values():
            var = info.var
            if info.is_library or var.c_name not in written:
                continue
            if var.c_name not in read:
                body, locals_ = handler_body(var, self._typed.values.holds_pointers(var))
                if told:
                    show(body, var)
                result.append(_end_probe(body, locals_))
            if told:
                result.append(_end_probe(*record_body(var)))
            if self._services.options.snapshots:
                result.append(self._snapshot(var))
        return result

    def _snapshot(self, var: p.Global) -> TypedProbe:
        """Make the probe of --snapshots that tells one global; messages name it so."""
        body, locals_ = snapshots.body_of(var, self._services)
        every = self._services.options.snapshots
        site = timer.TimerSite(every * timer.UNITS["ms"][0], 0, False)
        point = snapshots.point(var)
        return _probe_of(timer.FAMILY.name, site, point, body, locals_, var.span)


def _end_probe(body: p.Stmt, locals_: list[p.Variable]) -> TypedProbe:
    site = begin_end.PhaseSite("end", 0)
    return _probe_of(begin_end.FAMILY.name, site, "end", body, locals_)


def _probe_of(
    family: str,
    site: object,
    point: str,
    body: p.Stmt,
    locals_: list[p.Variable],
    span: Span = NOWHERE,
) -> TypedProbe:
    """Make a probe that no script has."""
    return TypedProbe(
        family,
        [site],
        [point],
        point,
        point,
        [],
        body,
        locals_,
        None,
        None,
        [],
        [],
        span,
    )


def _hint(probe: TypedProbe) -> str:
    """Make a short word, at most 40 characters, for a handler's C name."""
    text = probe.alias or probe.points[0]
    quoted = re.search(r'\("([^"]+)"\)', text)
    if quoted and "*" not in quoted[1]:
        text = quoted[1] + ("_return" if ".return" in text else "")
    text = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")
    return text[:40] or "probe"


def _features(program: p.Program) -> set[str]:
    """Find the pieces of the runtime that the program uses."""
    found: set[str] = set()
    for function in program.functions:
        for mark in function.markers:
            if mark.startswith(FEATURE_PRAGMAS) and mark.count(":") == 1:
                found.add(mark[len(FEATURE_PRAGMAS) :])
    if any(var.type == p.STATS for var in program.globals):
        found.add("stats")
    if any(var.keys for var in program.globals):
        found.add("maps")
    trees: list[p.Node] = [h.body for h in program.handlers]
    trees += [f.body for f in program.functions if f.body is not None]
    matches = [i for t in trees for i in walk(t) if isinstance(i, p.RegexMatch)]
    if matches:
        found.add("regex")
    if any(f.name in ("matched", "ngroups") for f in program.functions):
        for item in matches:
            item.keeps_groups = True
    return found
