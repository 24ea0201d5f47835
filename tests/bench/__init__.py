"""Figures to compare versions of stapy by; never a test, since machines differ.

``python -m tests.bench`` prints them all, ``python -m tests.bench pass4`` some.
A module in here has ``rows() -> Iterator[Row]`` and a line in `__main__`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

Value = TypeVar("Value")


class Row(NamedTuple):
    """One figure.  ``budget`` is what it should stay below, None without a limit."""

    name: str
    value: float
    unit: str
    budget: float | None = None


Rows = Iterator[Row]


def cpu(work: Callable[[], Value], times: int = 1) -> tuple[float, Value]:
    """CPU seconds of a call, tools that it ran included: the least of some runs.

    The least, because a busy machine can only add to it.
    """
    best = float("inf")
    for _ in range(max(times, 1)):
        before = os.times()
        value = work()
        after = os.times()
        best = min(best, sum(after[:4]) - sum(before[:4]))
    return best, value


def table(rows: Rows) -> Iterator[str]:
    """Lines of text, each as soon as its figure is known."""
    yield f"{'what':<44} {'figure':>10} {'':<5} {'budget':>8}"
    for row in rows:
        digits = 3 if row.unit == "s" else 1
        budget = "" if row.budget is None else f"{row.budget:g}"
        mark = "  over" if row.budget is not None and row.value > row.budget else ""
        yield f"{row.name:<44} {row.value:>10.{digits}f} {row.unit:<5} {budget:>8}{mark}"
