"""What monitor_status tells, as records, and the globals as rows of a table.

stapy/session/monitor.py writes the script that prints it; docs/monitor.md has the format.
"""

from __future__ import annotations

import json
from typing import NamedTuple

SHOWN = 20  # elements of an array that a session tells at most


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


class ShownValue(NamedTuple):
    """A global, or an element of one, as it is shown.

    ``quantity`` is what its rate is reckoned from: a number, or the count of a statistic;
    None for a text.
    """

    name: str
    text: str
    quantity: int | None


def values_of(name: str, value: object) -> list[ShownValue]:
    """List what a global has: itself, or each element of an array that the session told."""
    if not isinstance(value, list):
        return [ShownValue(name, _text(value), _quantity(value))]
    return [
        ShownValue(f"{name}[{', '.join(_text(key) for key in keys)}]", _text(last), _quantity(last))
        for *keys, last in value
    ]


def _quantity(value: object) -> int | None:
    if isinstance(value, dict):
        value = value.get("count")
    return value if isinstance(value, int) else None


def _text(value: object) -> str:
    if isinstance(value, dict):
        return " ".join(f"@{name}={number}" for name, number in value.items())
    return f'"{value}"' if isinstance(value, str) else str(value)
