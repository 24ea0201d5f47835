"""What monitor_status tells, as records, and what changes from one look to the next.

stapy/session/monitor.py writes the script that prints it; docs/monitor.md has the format.
"""

from __future__ import annotations

import json
from typing import NamedTuple

BARS = " ▁▂▃▄▅▆▇█"
KEPT = 30  # rates of each probe that the bars show
SORTS = ("script", "hits", "rate", "avg", "max", "point")


class ProbeStatus(NamedTuple):
    """One probe; ``switch`` is 0 for those that cannot be switched off."""

    point: str
    place: str
    switch: int
    is_on: bool
    hits: int
    min: int
    avg: int
    max: int


class SessionStatus(NamedTuple):
    """One look at a session: ``uptime`` in seconds, ``memory`` in bytes, costs in ``units``."""

    module: str
    uptime: float
    memory: int
    skipped: int
    units: str
    globals: dict[str, object]
    probes: list[ProbeStatus]


def parse(text: str) -> SessionStatus:
    """Parse one document; raises `ValueError` for anything else."""
    try:
        told = json.loads(text)
        probes = [
            ProbeStatus(
                is_on=one["on"],
                **{name: one[name] for name in ProbeStatus._fields if name != "is_on"},
            )
            for one in told["probes"]
        ]
        session = {name: told[name] for name in SessionStatus._fields if name != "probes"}
        return SessionStatus(**session, probes=probes)
    except (KeyError, TypeError) as error:
        raise ValueError(f"no status of a session: {error}") from None


class History:
    """The rates of each probe in the last looks, in hits a second."""

    def __init__(self) -> None:
        self._last: SessionStatus | None = None
        self._rates: dict[int, list[float]] = {}

    def add(self, status: SessionStatus) -> None:
        """Take in one look."""
        last, self._last = self._last, status
        if last is None or len(last.probes) != len(status.probes):
            return
        seconds = status.uptime - last.uptime
        for number, (before, now) in enumerate(zip(last.probes, status.probes, strict=True)):
            # Fewer than before: somebody has reset them.
            hits = now.hits - before.hits if now.hits >= before.hits else now.hits
            rates = self._rates.setdefault(number, [])
            rates.append(hits / seconds if seconds > 0 else 0.0)
            del rates[:-KEPT]

    def rate(self, number: int) -> float:
        """Return the latest rate of a probe."""
        rates = self._rates.get(number)
        return rates[-1] if rates else 0.0

    def bars(self, number: int) -> str:
        """Draw the rates of a probe, its highest one as a full bar."""
        rates = self._rates.get(number, [])
        most = max(rates, default=0.0)
        if not most:
            return " " * len(rates)
        return "".join(BARS[-(-int(rate * 8 * 1000 / most) // 1000)] for rate in rates)


def order(status: SessionStatus, history: History, sort: str, words: str = "") -> list[int]:
    """List the numbers of the probes to show, those with ``words`` in their point only."""
    numbers = [at for at, probe in enumerate(status.probes) if words in probe.point]
    if sort == "script":
        return numbers
    if sort == "point":
        return sorted(numbers, key=lambda at: status.probes[at].point)
    if sort == "rate":
        return sorted(numbers, key=lambda at: -history.rate(at))
    return sorted(numbers, key=lambda at: -getattr(status.probes[at], sort))


def lines_of(name: str, value: object) -> list[tuple[str, str]]:
    """List what a global has as pairs of a name and a text: one for each element of an array."""
    if not isinstance(value, list):
        return [(name, _text(value))]
    return [
        (f"{name}[{', '.join(_text(key) for key in keys)}]", _text(last)) for *keys, last in value
    ]


def _text(value: object) -> str:
    if isinstance(value, dict):
        return " ".join(f"@{name}={number}" for name, number in value.items())
    return f'"{value}"' if isinstance(value, str) else str(value)
