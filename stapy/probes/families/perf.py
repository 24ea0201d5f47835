"""``perf.type(T).config(C)``, also with ``.sample(N)``, ``.hz(N)``, ``.counter("NAME")``.

``timer.profile`` is one of these.

Events of processes are in ``taskevent.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from zlib import crc32

from stapy.probes.family import Form, Match, PointError, Row, forms, number_of, print_point, text_of
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
    """One kind of event; a ``period`` of 0 means ``hz``, and 0 of that the kernel's tick.

    With a ``counter`` there are no hits: ``@perf`` with this name tells how many there were.
    """

    type: int
    config: int
    period: int
    hz: int
    counter: str = ""


class PerfFamily:
    """The family of perf events, on all CPUs."""

    name = "perf"
    forms: list[Form] = forms(
        "perf.type(number).config(number)",
        "perf.type(number).config(number).sample(number)",
        "perf.type(number).config(number).hz(number)",
        "perf.type(number).config(number).counter(string)",
        "timer.profile",
        "timer.profile.tick",
        "timer.profile.freq.hz(number)",
    )

    def resolve(self, point: ProbePoint, services: Services) -> list[Match]:
        """Make the one site; which events a machine counts is known when the session starts."""
        found = {c.name: c for c in point.components}
        return [Match(print_point(point), site_of(found))]

    def scope(self, site: PerfSite, services: Services) -> TargetScope | None:
        """Return None: there are no context variables."""
        return None

    def rows(self, probe: DerivedProbe, first_site: int) -> list[Row]:
        """List rows of ``struct stapy_perf_row``."""
        return [
            {"point": point, **fields(site)}
            for site, point in zip(probe.sites, probe.points, strict=True)
        ]


def site_of(found: dict[str, PointComponent]) -> PerfSite:
    """Read what is counted from the components of a point; `PointError` out of range."""
    hz = _number(found["hz"], "frequency", 1, MAX_HZ) if "hz" in found else 0
    if "profile" in found:
        return PerfSite(_SOFTWARE, _CPU_CLOCK, 0, hz)
    type = _number(found["type"], "type", 0, 2**32 - 1)
    config = (number_of(found["config"]) or 0) & (2**64 - 1)
    if "counter" in found:
        name = text_of(found["counter"])
        if not name:
            raise PointError("E0212", "a counter needs a name", found["counter"].span)
        return PerfSite(type, config, 0, 0, name)
    period = 0 if hz else PERIOD
    if "sample" in found:
        period = _number(found["sample"], "sample", 1, _MAX)
    return PerfSite(type, config, period, hz)


def fields(site: PerfSite) -> Row:
    """Fill in the members of a row that say what is counted."""
    row: Row = {"type": site.type, "config": site.config, "period": site.period, "hz": site.hz}
    return row | ({"counter": counter_number(site.counter)} if site.counter else {})


def counter_number(name: str) -> int:
    """Compute the number by which the runtime knows a counter; never 0."""
    return crc32(name.encode("utf-8", "surrogateescape")) or 1


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


FAMILY = PerfFamily()
