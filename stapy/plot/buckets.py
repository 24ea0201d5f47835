"""Buckets of histograms, in order and without gaps."""

from __future__ import annotations

from collections.abc import Iterable

from stapy.record import Record

_MOST = 400  # buckets of an axis; where there are more, empty ones are left out, others joined


class Bucket(Record):
    """How many values lie between two; None where there is no end."""

    low: int | None
    high: int | None
    count: int

    @property
    def label(self) -> str:
        """Name the bucket by its least value."""
        return f"{self.low:,}" if self.low is not None else f"< {(self.high or 0) + 1:,}"


def of_number(value: int) -> Bucket:
    """Give the bucket of powers of 2 that a number lies in."""
    if value <= 0:
        if value == 0:
            return Bucket(low=0, high=0, count=1)
        mirror = of_number(-value)
        return Bucket(low=-(mirror.high or 0), high=-(mirror.low or 0), count=1)
    low = 1 << (value.bit_length() - 1)
    return Bucket(low=low, high=2 * low - 1, count=1)


def ladder(buckets: Iterable[Bucket]) -> list[str]:
    """List the labels of an axis from the least to the greatest, empty buckets between included."""
    found = {(one.low, one.high): one for one in buckets}
    first = [one for one in found.values() if one.low is None]
    last = [one for one in found.values() if one.low is not None and one.high is None]
    middle = {(one.low, one.high) for one in found.values() if None not in (one.low, one.high)}
    closed = sorted((low, high) for low, high in middle if low is not None and high is not None)
    widths = {high - low for low, high in closed}
    step = widths.pop() + 1 if len(widths) == 1 and len(closed) > 1 else 0
    filled = list(closed[:1])
    for low, high in closed[1:]:
        while filled[-1][1] + 1 < low and len(filled) < _MOST:
            start = filled[-1][1] + 1
            filled.append((start, start + step - 1 if step else _end_of_power(start)))
        filled.append((low, high))
    rows = [*first, *(Bucket(low=low, high=high, count=0) for low, high in filled), *last]
    return [row.label for row in rows]


def joined(labels: list[str]) -> dict[str, str]:
    """Put neighbours on one line of an axis that has too many; say on which each one is."""
    size = -(-len(labels) // _MOST)
    return {label: labels[at - at % size] for at, label in enumerate(labels)}


def _end_of_power(start: int) -> int:
    """Give the greatest value of the bucket of powers of 2 that begins here."""
    if start == 0:
        return 0
    return 2 * start - 1 if start > 0 else -((1 - start) // 2)
