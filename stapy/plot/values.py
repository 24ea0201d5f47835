"""Values of globals and fields, taken from what ``--format=json`` wrote."""

from __future__ import annotations

from typing import TypeAlias

from stapy.plot.buckets import Bucket
from stapy.record import Record

_MOST = 1 << 64


class Statistic(Record):
    """What an aggregate tells: its ``count``, with values also ``sum``, ``min``, ``max``, ``avg``.

    The buckets are those of its histogram, from the least on; [] when the script draws none.
    """

    numbers: dict[str, int]
    buckets: list[Bucket]


Value: TypeAlias = int | str | Statistic


def buckets_of(value: Value | None) -> list[Bucket]:
    """List the buckets of a statistic, from the least on; [] for what is none."""
    return value.buckets if isinstance(value, Statistic) else []


def checked(value: object) -> Value:
    """Return a value of a recording; `ValueError`, `TypeError` or `KeyError` for what is none."""
    if isinstance(value, dict):
        return _statistic(value)
    return text_of(value) if isinstance(value, str) else whole(value)


def _statistic(value: dict[str, object]) -> Statistic:
    numbers = {"count": whole(value["count"])}
    numbers |= {name: whole(one) for name, one in value.items() if name != "buckets"}
    return Statistic(numbers=numbers, buckets=[_bucket(row) for row in items_of(value, "buckets")])


def _bucket(row: object) -> Bucket:
    numbers = {name: whole(one) for name, one in members(row).items()}
    if numbers["count"] < 0 or not {"low", "high"} & set(numbers):
        raise ValueError
    return Bucket(low=numbers.get("low"), high=numbers.get("high"), count=numbers["count"])


def text_of(value: object) -> str:
    """Return a text as UTF-8 can have it: JSON can say halves of characters."""
    if not isinstance(value, str):
        raise TypeError
    return value.encode("utf-8", "replace").decode("utf-8")


def whole(value: object) -> int:
    """Return a whole number that a recording can have."""
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > _MOST:
        raise ValueError
    return value


def members(value: object) -> dict[str, object]:
    """Return what JSON has as an object."""
    if not isinstance(value, dict):
        raise TypeError
    return value


def items_of(line: dict[str, object], name: str) -> list[object]:
    """Return the list of a name, which may be missing: []."""
    value = line.get(name, [])
    if not isinstance(value, list):
        raise TypeError
    return value
