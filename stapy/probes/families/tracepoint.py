"""``kernel.trace("sys:name")``, ``kernel.tracepoint("name")``, ``module("m").tracepoint("name")``.

Names and typed parameters come from BTF; no kernel header is compiled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.ir.literals import quote_name
from stapy.ir.scope import TargetScope
from stapy.probes import abi
from stapy.probes.family import Form, Match, PointError, Row, forms, text_of
from stapy.record import Record, replace

if TYPE_CHECKING:
    from stapy.debuginfo.ctypes import Parameter
    from stapy.ir.program import DerivedProbe
    from stapy.parse.nodes import ProbePoint
    from stapy.services import Services

MAX_WORDS = 12


class TraceSite(Record):
    """One tracepoint; ``numbered`` adds ``$arg1`` … to the names."""

    name: str
    system: str
    module: str | None
    params: list[Parameter]
    numbered: bool


class TracepointFamily:
    """The family of static tracepoints."""

    name = "tracepoint"
    forms: list[Form] = forms(
        "kernel.trace(string)",
        "kernel.tracepoint(string)",
        "module(string).tracepoint(string)",
        "module(string).trace(string)",
    )

    def resolve(self, point: ProbePoint, services: Services) -> list[Match]:
        """Find every tracepoint that the pattern names, or raise `PointError`."""
        last = point.components[-1]
        module = text_of(point.components[0]) or None
        pattern = text_of(last)
        numbered = last.name == "tracepoint"
        matches = []
        for item in services.debuginfo.tracepoints(pattern, module):
            name = item.name
            if item.system and not numbered and services.at_least("2.7"):
                name = f"{item.system}:{name}"
            first = f"module({quote_name(item.module)})" if module and item.module else "kernel"
            site = TraceSite(item.name, item.system, item.module, list(item.params), numbered)
            matches.append(Match(f"{first}.{last.name}({quote_name(name)})", site))
        if not matches:
            raise self._no_match(point, pattern, services)
        return matches

    @staticmethod
    def _no_match(point: ProbePoint, pattern: str, services: Services) -> PointError:
        def similar(error: PointError) -> None:
            from stapy.diagnostics.habits import system_call

            call = system_call(pattern)
            if call:
                error.hint = f"use {call}: the trace events of system calls are no tracepoints"
                return
            near = services.debuginfo.similar_tracepoints(pattern, 5)
            if near:
                error.message = f"no match (similar tracepoints: {', '.join(near)})"
                error.hint = f"did you mean '{near[0]}'?"

        module = text_of(point.components[0])
        where = f"module '{module}'" if module else services.kernel_name
        notes = [f"no tracepoint of {where} matches '{pattern}'"]
        span = point.components[-1].span
        return PointError("E0232", "no match", span, notes=notes, explain=similar)

    def scope(self, site: TraceSite, services: Services) -> TargetScope | None:
        """Describe ``$name`` of every parameter, ``$$name``, ``$$system``, ``$$vars``."""
        found, _ = abi.word_arguments("trace_arg", site.params)
        variables = {v.name: v for v in found}
        names = list(variables)
        if site.numbered:
            for number, variable in enumerate(found, 1):
                variables[f"$arg{number}"] = replace(variable, name=f"$arg{number}")
        return TargetScope(
            site.module or "kernel",
            variables,
            {"$$vars": names, "$$parms": names},
            {"$$name": site.name, "$$system": site.system},
            missing="a tracepoint has only the parameters that it passes",
            key=f"{site.module}:{site.system}:{site.name}",
        )

    def rows(self, probe: DerivedProbe, first_site: int) -> list[Row]:
        """List rows of ``struct stapy_tracepoint_row``."""
        return [
            {
                "point": point,
                "name": site.name,
                "module": site.module,
                "nargs": min(MAX_WORDS, abi.word_arguments("trace_arg", site.params)[1]),
            }
            for site, point in zip(probe.sites, probe.points, strict=True)
        ]


FAMILY = TracepointFamily()
