"""What changes from one look at a session to the next: rates of its probes and globals."""

from __future__ import annotations

from collections import deque

from stapy.monitor.status import SHOWN, SessionStatus, ShownValue, values_of

KEPT = 30  # rates of each probe and value that are drawn
SORTS = ("script", "hits", "rate", "avg", "max", "point")

Rates = deque[float | None]  # one for each look, a second each; None: not known


class History:
    """The rates of probes and globals in the last looks, by the session's own clock."""

    def __init__(self) -> None:
        self._last: SessionStatus | None = None
        self._rates: dict[int, Rates] = {}
        self._changes: dict[str, Rates] = {}

    def add(self, status: SessionStatus) -> None:
        """Take in one look; there are no rates of one that is as old as the one before."""
        last, self._last = self._last, status
        if last is None or len(last.probes) != len(status.probes):
            return
        seconds = status.uptime - last.uptime
        if seconds <= 0:
            return
        pairs = list(zip(last.probes, status.probes, strict=True))
        for number, (before, now) in enumerate(pairs):
            # Fewer than before: somebody has reset them.
            hits = now.hits - before.hits if now.hits >= before.hits else now.hits
            rates = self._rates.setdefault(number, deque(maxlen=KEPT))
            rates.append(hits / seconds)
        # What globals were since a reset, until now, nobody knows.
        was_reset = any(now.hits < before.hits for before, now in pairs)
        self._add_changes({} if was_reset else _differences(last, status), seconds)

    def _add_changes(self, found: dict[str, int], seconds: float) -> None:
        """Note what values changed by; forget those that no look of those kept knew."""
        for name in found:
            self._changes.setdefault(name, deque(maxlen=KEPT))
        for name, rates in self._changes.items():
            rates.append(found[name] / seconds if name in found else None)
        unknown = [name for name, rates in self._changes.items() if set(rates) == {None}]
        for name in unknown:
            del self._changes[name]

    def rate(self, number: int) -> float:
        """Return the latest rate of a probe, in hits a second; 0 before there is one."""
        rates = self._rates.get(number)
        return (rates[-1] if rates else None) or 0.0

    def rates(self, number: int) -> Rates:
        """Return the rates of a probe, the latest one last."""
        return self._rates.get(number, deque())

    def changes(self, name: str) -> Rates:
        """Return what a value changed by each second, by the name that it is shown under."""
        return self._changes.get(name, deque())


def _differences(last: SessionStatus, status: SessionStatus) -> dict[str, int]:
    """Tell what each global, or element, has changed by from one look to the next."""
    found = {}
    for name, value in status.globals.items():
        before = {one.name: one.quantity for one in _values(last, name)}
        # An array that was told in full had no elements but those: new ones began at nothing.
        is_full = len(before) < SHOWN and isinstance(value, list)
        for one in values_of(name, value):
            start = before.get(one.name, 0 if is_full else None)
            if one.quantity is not None and start is not None:
                found[one.name] = one.quantity - start
    return found


def _values(status: SessionStatus, name: str) -> list[ShownValue]:
    return values_of(name, status.globals[name]) if name in status.globals else []


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
