"""Probe points to places: wildcards, aliases with their bodies, ``?``, ``!`` and ``if``."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING

from stapy.diagnostics import NOWHERE, Span, used_at
from stapy.elaborate.names import interpreted
from stapy.elaborate.names.derived import (
    ConditionPiece,
    Derived,
    ScopedBody,
    Way,
    dotted,
    print_points,
    within,
)
from stapy.elaborate.names.pointtree import Mismatch, PointMatch, PointTree, is_wild
from stapy.elaborate.names.privilege import FORBIDDEN, check_point
from stapy.elaborate.names.select import AliasSource, FileScope, ProbeSource, SymbolTable
from stapy.parse import nodes as n
from stapy.probes import builds
from stapy.probes.family import Family, Match, PointError, known_lines
from stapy.probes.machines import check_machine
from stapy.record import replace

if TYPE_CHECKING:
    from stapy.elaborate.names.mismatches import Lists
    from stapy.services import Services

MAX_DEPTH = 64
_REASONS = 3  # of an alias that matches nothing, which may have many places


# What stands behind functions, and behind the names that stand for these.
_SUFFIXES = ("return", "call", "inline", "exported", "callee", "callees", "label", "maxactive")


class SuffixError(PointError):
    """What the script's point has behind an alias stands nowhere in what the alias stands for.

    Where it ``may_fail`` all of that is optional.
    """

    may_fail = False


class Points:
    """Brings probe points down to families.

    With ``only_names`` nobody will ask for the sites of a match.
    """

    def __init__(self, names: SymbolTable, services: Services, *, only_names: bool = False) -> None:
        self.only_names = only_names
        self.names = names
        self.services = services
        self._tree: PointTree | None = None
        self._tried: PointTree | None = None  # that of what only asks for names
        self._builds = builds.BuildsOfPaths(services)
        self._passed_over: list[str] = []  # what was said of optional places of an alias
        self._advice = ""  # and the first hint

    @property
    def tree(self) -> PointTree:
        """The tree of all spellings, made on first use."""
        if self._tree is None:
            self._tree = PointTree(self.names)
        self._tree.refresh()
        return self._tree

    def _try_names(self) -> Points:
        """Make another that looks at names only; all of them have one tree, which takes longest."""
        tried = Points(self.names, self.services, only_names=True)
        tried._tree = self._tried
        self._tried = tried.tree
        return tried

    def derive(self, source: ProbeSource) -> list[Derived]:
        """Find everything that one probe declaration stands for; report what is wrong."""
        decl = source.decl
        user = not source.file.script.is_library
        written = print_points(decl.points, self.services.sources)
        way = Way(written, decl.span, user)
        middle = ScopedBody(decl.body, source.file)
        return self._list(decl.points, source.file, way, middle, True)

    def _list(
        self,
        points: list[n.ProbePoint],
        file: FileScope,
        way: Way,
        middle: ScopedBody,
        report: bool,
        suffix: list[n.PointComponent] | None = None,
    ) -> list[Derived]:
        """Derive a list of alternatives: ``?`` may fail, ``!`` ends the list when it matched."""
        result: list[Derived] = []
        first: PointError | None = None
        forbidden: PointError | None = None
        misplaced: list[SuffixError] = []
        for point in points:
            if suffix:
                point = replace(point, components=point.components + suffix)
            if report:
                self._passed_over, self._advice = [], ""
            try:
                found = self._point(point, file, way, middle)
            except PointError as error:
                wrong = error if isinstance(error, SuffixError) else None
                may_fail = wrong is not None and wrong.may_fail and not report
                if point.optional or point.sufficient or way.optional or may_fail:
                    self._passed_over += error.notes
                    self._advice = self._advice or error.hint
                    forbidden = error if error.code == FORBIDDEN else forbidden
                    misplaced += [wrong] if wrong is not None else []
                    continue
                if report:
                    self.report(error, point.span)
                elif first is None:
                    first = error
                continue
            if report and not found and not (point.optional or point.sufficient):
                notes = list(dict.fromkeys(self._passed_over))[:_REASONS]
                hint = interpreted.silence(point) or self._advice
                self.report(PointError("E0231", "no match", point.span, notes=notes, hint=hint))
            result += found
            if point.sufficient and found:
                break
        # An alias all of whose alternatives are forbidden is forbidden, not without a match; and
        # what can follow none of them is a mistake of the script, whatever the kernel has.
        if len(misplaced) == len(points):
            misplaced[0].may_fail = True
            first = first or misplaced[0]
        first = first or (None if result else forbidden)
        if first is not None and not report:
            raise first
        return result

    def _point(
        self, point: n.ProbePoint, file: FileScope, way: Way, middle: ScopedBody
    ) -> list[Derived]:
        hits, mismatch = self.tree.match(point.components)
        if mismatch is not None:
            if misplaced := self._misplaced(point, mismatch, way, file, middle):
                raise misplaced
            raise self._mismatch(point, mismatch, partial(self._lists, file=file, middle=middle))
        # `!` is optional too, and what is optional stays so in what an alias stands for.
        optional = way.optional or point.optional or point.sufficient
        use = point.span if way.use == NOWHERE else way.use
        way = replace(way, optional=optional, use=use)
        if point.condition is not None:
            piece = ConditionPiece(point.condition, file)
            way = replace(way, conditions=[*way.conditions, piece])
        wild = len(hits) > 1 or any(is_wild(c.name) for c in point.components)
        if way.is_user and not (wild or way.chain or self.only_names):
            self._tell_never(hits, point)
        result: list[Derived] = []
        failure: PointError | None = None
        for hit in hits:
            try:
                result += self._hit(hit, point, way, middle)
            except PointError as error:
                failure = failure or error
        if failure is not None and not (wild and result):
            raise failure
        return result

    def _hit(
        self, hit: PointMatch, point: n.ProbePoint, way: Way, middle: ScopedBody
    ) -> list[Derived]:
        name = dotted([*hit.components, *hit.suffix])
        if not way.alias:
            way = replace(way, alias=name)
        if hit.components[0].name == builds.WORD and hit.node.family is not None:
            return self._of_builds(hit, point, way, middle)
        result: list[Derived] = []
        if hit.node.family is not None and not hit.suffix:
            concrete = replace(
                point, components=hit.components, optional=point.optional or way.optional
            )
            check_point(self.services, hit.node.family, concrete)
            matches = self._matches(hit.node.family, concrete)
            if not matches:
                raise PointError("E0231", "no match", point.span)
            interpreted.refuse_arguments(matches, middle.body)
            result.append(
                Derived(
                    hit.node.family,
                    matches,
                    [*way.before, middle, *way.after],
                    way.conditions,
                    way.written,
                    way.alias,
                    way.chain,
                    way.span,
                    way.is_user,
                    middle.body,
                    way.use,
                    point.optional or way.optional,
                    point.sufficient,
                )
            )
        if hit.node.interpreted and not hit.suffix:
            result += self._interpreted(hit, point, way, middle)
        failure: PointError | None = None
        for load in hit.node.aliases:
            for alias in load():
                try:
                    result += self._alias(alias, hit, way, middle, name)
                except PointError as error:
                    failure = failure or error
        if failure is not None:
            raise failure
        return result

    def _of_builds(
        self, hit: PointMatch, point: n.ProbePoint, way: Way, middle: ScopedBody
    ) -> list[Derived]:
        """Resolve a point in each build of a path; a build may lack what another one has."""
        result: list[Derived] = []
        failure: PointError | None = None
        for components in self._builds.points(hit.components):
            try:
                result += self._hit(replace(hit, components=components), point, way, middle)
            except PointError as error:
                failure = failure or error
        if failure is not None and not result:
            raise failure
        return result

    def _interpreted(
        self, hit: PointMatch, point: n.ProbePoint, way: Way, middle: ScopedBody
    ) -> list[Derived]:
        """Derive a point in interpreted code: an alias, and what leaves out other functions."""
        interpreted.refuse_variables(middle.body)
        name, others = interpreted.chosen(hit.node.interpreted, hit.components)
        steps = [n.PointComponent(point.span, word) for word in name.split(".")]
        inner = replace(way, before=[ScopedBody(others, middle.file), *way.before])
        return self._point(
            replace(point, components=steps, condition=None), middle.file, inner, middle
        )

    def _matches(self, family: Family, point: n.ProbePoint) -> list[Match]:
        check_machine(family.name, point, self.services)
        known = known_lines(family, point, self.services) if self.only_names else None
        return family.resolve(point, self.services) if known is None else known

    def _alias(
        self, alias: AliasSource, hit: PointMatch, way: Way, middle: ScopedBody, name: str
    ) -> list[Derived]:
        decl = alias.decl
        if id(decl) in way.active or len(way.active) > MAX_DEPTH:
            raise PointError(
                "E0235",
                f"recursive loop in alias expansion of {dotted(decl.name)}",
                decl.span,
                hint="let one of the aliases in the circle stand for something else",
            )
        file = self.names.enter(alias.file)
        before, after = way.before, way.after
        if decl.prologue is not None:
            before = [ScopedBody(decl.prologue, file), *before]
        if decl.epilogue is not None:
            after = [*after, ScopedBody(decl.epilogue, file)]
        inner = replace(
            way,
            before=before,
            after=after,
            chain=[*way.chain, name],
            head=way.head or hit.components,
            active=(*way.active, id(decl)),
        )
        return self._list(decl.points, file, inner, middle, False, hit.suffix)

    # --- messages -------------------------------------------------------

    def _tell_never(self, hits: list[PointMatch], point: n.ProbePoint) -> None:
        """Warn of a point of the library that later kernels do not reach: it waits in silence."""
        for alias in (alias for hit in hits for load in hit.node.aliases for alias in load()):
            stands_for = [dotted(one.components) for one in alias.decl.points]
            if stands_for == ["never"] and alias.file.script.is_library:
                name = dotted(point.components)
                self.services.diagnostics.warning(
                    "W0616",
                    f"{name} is never hit: it stands for the probe point never",
                    point.span,
                    hint=f"stapy --doc {name} says why",
                )

    def _misplaced(
        self,
        point: n.ProbePoint,
        mismatch: Mismatch,
        way: Way,
        file: FileScope,
        middle: ScopedBody,
    ) -> SuffixError | None:
        """Tell of a suffix that the script wrote behind an alias; None for other mismatches.

        It is told by the names that the script has: those inside the alias say nothing to its
        author.
        """
        suffix = [c for c in point.components if within(c.span, way.use)] if way.head else []
        at = next((at for at, c in enumerate(suffix) if c is mismatch.component), None)
        if at is None or mismatch.ends_early:
            return None
        parent = [*way.head, *suffix[:at]]

        def explain(error: PointError) -> None:
            from stapy.elaborate.names import mismatches

            follows, lacking = self._follows(parent, file=file, middle=middle)
            mismatches.explain_suffix(error, mismatch, dotted(parent), follows, lacking)

        text = "invalid suffix for probe"
        return SuffixError("E0236", text, mismatch.component.span, explain=explain)

    def _follows(
        self, parent: list[n.PointComponent], *, file: FileScope, middle: ScopedBody
    ) -> tuple[list[str], list[str]]:
        """List the suffixes that make a point of ``parent``, an alias.

        The second list has those that only lack debug information.
        """
        tried = self._try_names()
        span = parent[-1].span
        result: list[str] = []
        lacking: list[str] = []
        for name in _SUFFIXES:
            number = n.Number(span, 1) if name == "maxactive" else None
            point = n.ProbePoint(span, [*parent, n.PointComponent(span, name, number)])
            with self.services.diagnostics.quiet():
                try:
                    if tried._point(point, file, Way("", span, True), middle):
                        result.append(name)
                except PointError as error:
                    lacking += [name] if error.code == "E0233" else []
        return result, lacking

    def _mismatch(self, point: n.ProbePoint, mismatch: Mismatch, lists: Lists) -> PointError:
        component = mismatch.component
        above = dotted(mismatch.parent)
        if mismatch.is_suffix:
            notes = [f"nothing may follow '{above}'"]
            return PointError("E0236", "invalid suffix for probe", component.span, notes=notes)

        def similar(error: PointError) -> None:
            from stapy.elaborate.names import mismatches

            mismatches.explain(error, mismatch, above, lists)
            if len(point.components) == 1 and component.arg is None:
                error.hint = self._function_hint(component.name) or error.hint

        text = f"no probe point matches '{dotted(point.components)}'"
        return PointError("E0230", text, component.span, explain=similar)

    def _function_hint(self, name: str) -> str:
        """Suggest the point of a kernel's function that stands bare, "" for other names."""
        if not name.isidentifier() or self.services.debuginfo.function(name) is None:
            return ""
        return f'kernel.function("{name}") is the function of the kernel'

    def _lists(
        self,
        parent: list[n.PointComponent],
        names: list[str],
        *,
        file: FileScope,
        middle: ScopedBody,
    ) -> str:
        """Find the pattern by which ``-l`` shows points that go on by ``names``; "" for none."""
        tried = self._try_names()
        for pattern in ("*", "**"):
            components = [*parent, n.PointComponent(parent[-1].span, pattern)]
            hits, _ = self.tree.match(components)
            if not any(hit.components[len(parent)].name in names for hit in hits):
                continue
            with self.services.diagnostics.quiet():
                for hit in hits:  # one by one: the first that there is will do
                    point = n.ProbePoint(parent[-1].span, hit.components)
                    with contextlib.suppress(PointError):
                        if tried._point(point, file, Way("", point.span, True), middle):
                            return dotted(components)
        return ""

    def report(self, error: PointError, use: Span = NOWHERE) -> None:
        """Make a diagnostic of a refused point; ``use`` is the script's, when aliases led to it.

        What is wrong with a program is told once, with all places that name it. SystemTap's
        layout counts the messages that it leaves out, and has one for each point.
        """
        if (
            error.is_of_file
            and self.services.options.message_format != "systemtap"
            and self.services.diagnostics.joins(error.message, error.span, "and here")
        ):
            return
        if error.explain is not None:
            error.explain(error)
        self.services.diagnostics.error(
            "semantic error",
            error.code,
            error.message,
            error.span,
            labels=used_at(error.span, use, "this probe point leads there"),
            notes=error.notes,
            hint=error.hint,
        )
