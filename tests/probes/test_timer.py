"""Timers: units, limits, randomize."""

from __future__ import annotations

import pytest

from tests.elaborate.support import run
from tests.probes.test_begin_end import rows


@pytest.mark.parametrize(
    ("point", "interval", "randomize", "in_jiffies"),
    [
        ("timer.s(2)", 2_000_000_000, 0, False),
        ("timer.sec(1)", 1_000_000_000, 0, False),
        ("timer.ms(5)", 5_000_000, 0, False),
        ("timer.msec(5).randomize(2)", 5_000_000, 2_000_000, False),
        ("timer.us(700)", 700_000, 0, False),
        ("timer.ns(100000)", 100_000, 0, False),
        ("timer.hz(100)", 10_000_000, 0, False),
        ("timer.hz(3)", 333_333_333, 0, False),
        ("timer.jiffies(4)", 4, 0, True),
        ("timer.jiffies(4).randomize(4)", 4, 3, True),
    ],
)
def test_rows(point: str, interval: int, randomize: int, in_jiffies: bool) -> None:
    assert rows(f"probe {point} {{ println(1) }}", "timer") == [
        {
            "point": point,
            "interval": interval,
            "randomize": randomize,
            "in_jiffies": in_jiffies,
        }
    ]


@pytest.mark.parametrize(
    "point",
    [
        "timer.s(0)",
        "timer.s(-1)",
        "timer.s(86401)",
        "timer.us(99)",
        "timer.ns(99999)",
        "timer.hz(0)",
        "timer.hz(10001)",
        "timer.jiffies(0)",
        "timer.ms(1).randomize(-1)",
        "timer.ms(5).randomize(6)",
        "timer.jiffies(3).randomize(4)",
    ],
)
def test_out_of_range(point: str) -> None:
    assert run(f"probe {point} {{ println(1) }}").codes == ["E0212"]
