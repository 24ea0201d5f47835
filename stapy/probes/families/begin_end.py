"""``begin``, ``end`` and ``error`` with a sequence number, and ``never``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.ir.literals import CText
from stapy.probes.family import Form, Match, Row, forms, number_of, print_point
from stapy.record import Record

if TYPE_CHECKING:
    from stapy.ir.program import DerivedProbe
    from stapy.ir.scope import TargetScope
    from stapy.parse.nodes import ProbePoint
    from stapy.services import Services

PHASES = ("begin", "end", "error")


class PhaseSite(Record):
    """One begin, end or error probe; ``phase`` "never" is translated, but not registered."""

    phase: str
    priority: int


class BeginEndFamily:
    """The family of the session's own phases."""

    name = "begin_end"
    unprivileged = True
    forms: list[Form] = forms(
        "begin", "begin(number)", "end", "end(number)", "error", "error(number)", "never"
    )

    def resolve(self, point: ProbePoint, services: Services) -> list[Match]:
        """Make the one site; the sequence number is 0 unless written."""
        component = point.components[0]
        site = PhaseSite(component.name, number_of(component) or 0)
        return [Match(print_point(point), site)]

    def scope(self, site: PhaseSite, services: Services) -> TargetScope | None:
        """Return None: there are no context variables."""
        return None

    def rows(self, probe: DerivedProbe, first_site: int) -> list[Row]:
        """List rows of ``struct stapy_begin_end_row``, with the priority to sort by."""
        return [
            {
                "point": point,
                "phase": CText("STAPY_" + site.phase.upper()),
                "priority": site.priority,
                "order": site.priority,
            }
            for site, point in zip(probe.sites, probe.points, strict=True)
            if site.phase in PHASES
        ]


FAMILY = BeginEndFamily()
