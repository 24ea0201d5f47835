"""``perf.type(T).config(C)`` with ``.sample(N)`` or ``.hz(N)``, and ``timer.profile``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.probes.family import Form, Match, PointError, Row, forms, number_of, print_point
from stapy.record import Record

if TYPE_CHECKING:
    from stapy.ir.program import DerivedProbe
    from stapy.ir.scope import TargetScope
    from stapy.parse.nodes import PointComponent, ProbePoint
    from stapy.services import Services

PERIOD = 1_000_000  # events for a hit when the point does not say
MAX_HZ = 1_000_000
_MAX = 2**63 - 1
_SOFTWARE, _CPU_CLOCK = 1, 0  # enum perf_type_id, enum perf_sw_ids of linux/perf_event.h


class PerfSite(Record):
    """One kind of event; a ``period`` of 0 means ``hz``, and 0 of that the kernel's tick."""

    type: int
    config: int
    period: int
    hz: int


class Perf:
    """The family of perf events, on all CPUs."""

    name = "perf"
    forms: list[Form] = forms(
        "perf.type(number).config(number)",
        "perf.type(number).config(number).sample(number)",
        "perf.type(number).config(number).hz(number)",
        "timer.profile",
        "timer.profile.tick",
        "timer.profile.freq.hz(number)",
    )

    def resolve(self, point: ProbePoint, services: Services) -> list[Match]:
        """One site; which events a machine counts is known when the session starts."""
        found = {c.name: c for c in point.components}
        hz = self._number(found["hz"], "frequency", 1, MAX_HZ) if "hz" in found else 0
        if "profile" in found:
            site = PerfSite(_SOFTWARE, _CPU_CLOCK, 0, hz)
        else:
            type = self._number(found["type"], "type", 0, 2**32 - 1)
            config = (number_of(found["config"]) or 0) & (2**64 - 1)
            period = 0 if hz else PERIOD
            if "sample" in found:
                period = self._number(found["sample"], "sample", 1, _MAX)
            site = PerfSite(type, config, period, hz)
        return [Match(print_point(point), site)]

    @staticmethod
    def _number(component: PointComponent, what: str, low: int, high: int) -> int:
        value = number_of(component) or 0
        if not low <= value <= high:
            raise PointError(
                "E0212",
                f"{what} value out of range ({low}, {high})",
                component.span,
                notes=[f"{value} was written"],
                hint=f"use a number from {low} to {high}",
            )
        return value

    def scope(self, site: PerfSite, services: Services) -> TargetScope | None:
        """No context variables."""
        return None

    def rows(self, probe: DerivedProbe, first_site: int) -> list[Row]:
        """Rows of ``struct stapy_perf_row``."""
        return [
            {
                "point": point,
                "type": site.type,
                "config": site.config,
                "period": site.period,
                "hz": site.hz,
            }
            for site, point in zip(probe.sites, probe.points, strict=True)
        ]


FAMILY = Perf()
