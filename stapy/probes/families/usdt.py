"""``process….mark("NAME")``, ``.provider("NAME").mark("NAME")``: places that programs name.

A mark is an instruction that does nothing, with a note in the file that says where it is
and where its arguments are. Those that have a counter of listeners are told to the kernel
with it, which keeps it above 0 in every process where the mark is armed.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from stapy.debuginfo import ctypes, view
from stapy.debuginfo.user import sdt
from stapy.debuginfo.user.sdt import may_have_marks
from stapy.diagnostics.suggest import listed, nearest
from stapy.ir.literals import quote_name
from stapy.ir.scope import TargetScope, TargetVariable
from stapy.probes import programs
from stapy.probes.family import Form, Match, PointError, Row, forms, text_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from stapy.debuginfo.user.sdt import Mark
    from stapy.diagnostics import Span
    from stapy.ir.program import DerivedProbe
    from stapy.parse.nodes import ProbePoint
    from stapy.probes.programs import Head
    from stapy.services import Services

_SCOPES = ("process", "process(string)", "process(number)")
_MARKS = ("mark(string)", "provider(string).mark(string)")


class MarkSite(programs.ProgramSite):
    """A place of a mark."""

    mark: Mark

    @property
    def place_offset(self) -> int:
        """Where the mark's nop is in the file."""
        return self.mark.offset


class UsdtFamily:
    """The family of marks in user programs."""

    name = "usdt"
    table = "uprobe"  # its rows are armed as those of functions are
    unprivileged = True  # the runtime shows unprivileged users their own processes only
    forms: list[Form] = forms(
        *(f"{scope}.{mark}" for scope in _SCOPES for mark in _MARKS),
        *(f"{scope}.library(string).{mark}" for scope in _SCOPES for mark in _MARKS),
    )

    def resolve(self, point: ProbePoint, services: Services) -> list[Match]:
        """Find every place of every mark that the point means, or raise `PointError`."""
        found = {component.name: component for component in point.components}
        name = text_of(found["mark"])
        provider = text_of(found["provider"]) if "provider" in found else None

        heads = programs.heads(point, services, may_have_marks)
        matches: list[Match] = []
        for head in heads:
            marks = _matching(head, name, provider, services)
            if marks:
                head.warn(point, services)
            for mark in marks:
                optional = point.optional or point.sufficient
                site = MarkSite(head.file, head.program, head.pid, optional, mark)
                shown = f".provider({quote_name(mark.provider)})" if provider is not None else ""
                matches.append(Match(f"{head.shown}{shown}.mark({quote_name(mark.name)})", site))
        if not matches:
            raise _no_match(found["mark"].span, heads, name, provider, services)
        return matches

    def scope(self, site: MarkSite, services: Services) -> TargetScope:
        """Describe ``$arg1`` … with ``$$vars`` and ``$$parms``, ``$$name`` and ``$$provider``."""
        from stapy.debuginfo.user.operands import operands
        from stapy.probes.values.numbers import Unavailable
        from stapy.probes.values.operands import moved, value
        from stapy.probes.values.programs import statics

        mark = site.mark
        machine = site.file.machine
        arguments = operands(mark.arguments, machine)
        asked = {name for operand in arguments for _, name in operand.symbols}
        symbols = services.debuginfo.programs.addresses(site.file, asked) if asked else {}
        word: ctypes.CType = ctypes.Int("long", 8, True, "signed")
        variables: dict[str, TargetVariable] = {}
        unavailable: dict[str, Callable[[], str]] = {}
        names = [f"$arg{number}" for number in range(1, len(arguments) + 1)]
        for name, operand in zip(names, arguments):
            try:
                found = TargetVariable(name, word, value(operand, mark.address, symbols, machine))
            except Unavailable as error:
                unavailable[name] = partial(str, error)
                continue
            variables[name] = found
            # $$parms keeps the dollar, as SystemTap prints it.
            variables["$" + name] = found
        groups = ["$" + name for name in names]
        path = str(site.file.path)
        return TargetScope(
            path,
            variables,
            {"$$parms": groups, "$$vars": groups, "$$locals": []},
            texts={"$$name": mark.name, "$$provider": mark.provider},
            missing=_count(mark, len(arguments)),
            key=f"mark:{path}:{mark.address:#x}",
            unavailable=unavailable,
            everywhere=statics(path, partial(moved, link_address=mark.address), services),
        )

    def rows(self, probe: DerivedProbe, first_site: int) -> list[Row]:
        """List rows of ``struct stapy_uprobe_row``."""
        return [
            site.row(point, site.mark.offset, counter=site.mark.semaphore)
            for site, point in zip(probe.sites, probe.points, strict=True)
        ]


def _matching(head: Head, name: str, provider: str | None, services: Services) -> list[Mark]:
    return sdt.matching(services.debuginfo.programs.marks(head.file), name, provider)


def _count(mark: Mark, count: int) -> str:
    if not count:
        return f"mark '{mark.name}' has no arguments"
    if count == 1:
        return f"mark '{mark.name}' has one argument: $arg1"
    return f"mark '{mark.name}' has {count} arguments: $arg1 to $arg{count}"


def _no_match(
    span: Span, heads: list[Head], name: str, provider: str | None, services: Services
) -> PointError:
    known = [mark for head in heads for mark in services.debuginfo.programs.marks(head.file)]
    shown = view.shown(heads[0].file.path) if len(heads) == 1 else f"{len(heads)} programs"
    if not known:
        return PointError(
            "E0231",
            "no match",
            span,
            notes=[
                f"'{shown}' has no marks" if len(heads) == 1 else f"{shown} have no marks",
                *heads[0].notes(),
            ],
            hint="marks come into a program by <sys/sdt.h>; functions need none",
        )

    def similar(error: PointError) -> None:
        wanted = name.replace("-", "__")
        names = sorted({mark.name for mark in known})
        near = nearest(wanted, names, 3)
        if wanted in names:
            providers = sorted({mark.provider for mark in known if mark.name == wanted})
            error.notes.append(f"'{wanted}' is of provider {listed(providers)}")
        elif near:
            error.message = f"no match (similar marks: {', '.join(near)})"
            error.hint = f"did you mean {listed(near[:2])}?"
        else:
            more = ", …" if len(names) > 8 else ""
            error.notes.append(f"its marks are {', '.join(names[:8])}{more}")

    what = f"mark '{name}'" + (f" of provider '{provider}'" if provider is not None else "")
    notes = [f"'{shown}' has no {what}", *heads[0].notes()]
    return PointError("E0231", "no match", span, notes=notes, explain=similar)


FAMILY = UsdtFamily()
