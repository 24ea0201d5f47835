"""``timer.UNIT(N)`` with ``.randomize(M)``, ``timer.hz(N)``, ``timer.jiffies(N)``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.probes.family import Form, Match, PointError, Row, forms, number_of, print_point
from stapy.record import Record

if TYPE_CHECKING:
    from stapy.diagnostics import Span
    from stapy.ir.program import DerivedProbe
    from stapy.ir.scope import TargetScope
    from stapy.parse.nodes import ProbePoint
    from stapy.services import Services

# unit -> (nanoseconds, largest count)
UNITS = {
    "s": (1_000_000_000, 86_400),
    "sec": (1_000_000_000, 86_400),
    "ms": (1_000_000, 86_400_000),
    "msec": (1_000_000, 86_400_000),
    "us": (1_000, 86_400_000_000),
    "usec": (1_000, 86_400_000_000),
    "ns": (1, 86_400_000_000_000),
    "nsec": (1, 86_400_000_000_000),
}
SHORTEST = 100_000  # ns; SystemTap's bound: faster ones leave a processor no time for anything else
MAX_HZ = 1_000_000_000 // SHORTEST
MAX_JIFFIES = 1_000_000


class TimerSite(Record):
    """One timer; times are nanoseconds, or jiffies when ``in_jiffies``."""

    interval: int
    randomize: int
    in_jiffies: bool


class TimerFamily:
    """The family of periodic timers."""

    name = "timer"
    unprivileged = True
    forms: list[Form] = forms(
        *(
            form
            for unit in ("jiffies", *UNITS)
            for form in (f"timer.{unit}(number)", f"timer.{unit}(number).randomize(number)")
        ),
        "timer.hz(number)",
    )

    def resolve(self, point: ProbePoint, services: Services) -> list[Match]:
        """Make the one site; `PointError` for an interval out of SystemTap's limits."""
        unit = point.components[1]
        count = number_of(unit) or 0
        randomize = 0
        if unit.name == "hz":
            self._check(count, MAX_HZ, "frequency", unit.span)
            site = TimerSite(1_000_000_000 // count, 0, False)
            return [Match(print_point(point), site)]
        jiffies = unit.name == "jiffies"
        scale, limit = UNITS.get(unit.name, (SHORTEST, MAX_JIFFIES))
        self._check(count, limit, "interval", unit.span, max(SHORTEST // scale, 1))
        if len(point.components) > 2:
            last = point.components[2]
            randomize = number_of(last) or 0
            if not 0 <= randomize <= count:
                raise PointError(
                    "E0212",
                    "invalid randomize for jiffies timer"
                    if jiffies
                    else "randomization value out of range",
                    last.span,
                    notes=[f"the time between two hits is {count} give or take this value"],
                    hint=f"use a number from 0 to {count}",
                )
            if randomize == count:  # two hits at one time would be one
                randomize = count - 1
        scale = 1 if jiffies else scale
        site = TimerSite(count * scale, randomize * scale, jiffies)
        return [Match(print_point(point), site)]

    @staticmethod
    def _check(value: int, limit: int, what: str, span: Span, low: int = 1) -> None:
        if not low <= value <= limit:
            raise PointError(
                "E0212",
                f"{what} value out of range ({low}, {limit})",
                span,
                notes=[f"{value} was written"],
                hint=f"use a number from {low} to {limit}, or another unit",
            )

    def scope(self, site: TimerSite, services: Services) -> TargetScope | None:
        """Return None: there are no context variables."""
        return None

    def rows(self, probe: DerivedProbe, first_site: int) -> list[Row]:
        """List rows of ``struct stapy_timer_row``."""
        return [
            {
                "point": point,
                "interval": site.interval,
                "randomize": site.randomize,
                "in_jiffies": site.in_jiffies,
            }
            for site, point in zip(probe.sites, probe.points, strict=True)
        ]


FAMILY = TimerFamily()
