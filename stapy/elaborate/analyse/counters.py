"""Counters that ``@perf`` reads: one for each name, and nothing that would be run at its hits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.diagnostics import Label
from stapy.ir import program as p
from stapy.ir.literals import quote_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stapy.diagnostics import Diagnostics, Span
    from stapy.elaborate.analyse.typed import TypedProbe

_FAMILIES = ("perf", "taskevent")


def check(probes: Sequence[TypedProbe], diagnostics: Diagnostics) -> None:
    """Refuse two counters of one name for one thread; warn of handlers, which nothing hits."""
    seen: dict[str, list[tuple[str | None, Span]]] = {}
    for probe in probes:
        for site in probe.sites if probe.family in _FAMILIES else ():
            if not site.counter:
                continue
            whose = site.user_file if probe.family == "taskevent" else None
            others = seen.setdefault(site.counter, [])
            same = [span for other, span in others if None in (whose, other) or whose == other]
            others.append((whose, probe.span))
            if same:
                diagnostics.error(
                    "semantic error",
                    "E0262",
                    f"there are two counters '{site.counter}'",
                    probe.span,
                    labels=[Label(same[0], "the first one")],
                    hint=f"@perf({quote_name(site.counter)}) could mean either: give each a name",
                )
                break
            _warn_of_handler(probe, diagnostics)


def _warn_of_handler(probe: TypedProbe, diagnostics: Diagnostics) -> None:
    if isinstance(probe.body, p.Block) and not probe.body.body:
        return
    diagnostics.warning(
        "W0696",
        "the handler of a counter never runs",
        probe.span,
        where="this is counted, not hit",
        hint="write {} behind it; without .counter it is hit every so many events",
    )
