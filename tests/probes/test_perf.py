"""perf events and timer.profile: rows, and what is refused."""

from __future__ import annotations

import pytest

from tests.elaborate.support import run
from tests.probes.test_begin_end import rows


@pytest.mark.parametrize(
    ("point", "type", "config", "period", "hz"),
    [
        ("perf.type(0).config(3)", 0, 3, 1_000_000, 0),
        ("perf.type(1).config(0).sample(5000)", 1, 0, 5000, 0),
        ("perf.type(1).config(0).hz(99)", 1, 0, 0, 99),
        ("perf.type(3).config(0x010001)", 3, 0x10001, 1_000_000, 0),
        ("perf.type(4).config(0xffffffffffffffff)", 4, 2**64 - 1, 1_000_000, 0),
        ("timer.profile", 1, 0, 0, 0),
        ("timer.profile.tick", 1, 0, 0, 0),
        ("timer.profile.freq.hz(50)", 1, 0, 0, 50),
    ],
)
def test_row(point: str, type: int, config: int, period: int, hz: int) -> None:
    assert rows(f"probe {point} {{ println(1) }}", "perf") == [
        {"point": point, "type": type, "config": config, "period": period, "hz": hz}
    ]


@pytest.mark.parametrize(
    ("point", "code"),
    [
        ("perf.type(1).config(0).sample(0)", "E0212"),
        ("perf.type(1).config(0).sample(-5)", "E0212"),
        ("perf.type(1).config(0).hz(0)", "E0212"),
        ("perf.type(1).config(0).hz(1000001)", "E0212"),
        ("perf.type(-1).config(0)", "E0212"),
        ("timer.profile.freq.hz(0)", "E0212"),
        ("perf.type(1)", "E0230"),
        ('perf.type("x").config(0)', "E0230"),
        ("timer.profile.freq", "E0230"),
    ],
)
def test_refused(point: str, code: str) -> None:
    assert run(f"probe {point} {{ println(1) }}").codes == [code]
