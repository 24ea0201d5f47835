"""The monitor's view of a session: documents, rates, orders, texts of globals."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stapy.monitor.status import KEPT, History, SessionStatus, lines_of, order, parse


def document(uptime: float = 1.0, hits: tuple[int, ...] = (0, 0), **more: Any) -> str:
    """Write what a session of two probes tells."""
    rows = [
        {
            "point": point, "alias": point, "place": "x.stp:1:1", "switch": number, "on": True,
            "hits": count, "min": 10 - count, "avg": 5, "max": count * 2,
        }
        for number, (point, count) in enumerate(zip(("timer.s(1)", "begin"), hits, strict=True))
    ]  # fmt: skip
    told = {
        "module": "stap_1", "uptime": uptime, "memory": 1 << 20, "skipped": 2, "units": "cycles",
        "globals": {}, "probes": rows,
    }  # fmt: skip
    return json.dumps(told | more)


def looks(*pairs: tuple[float, tuple[int, ...]]) -> tuple[SessionStatus, History]:
    history = History()
    for uptime, hits in pairs:
        status = parse(document(uptime, hits))
        history.add(status)
    return status, history


def test_parse() -> None:
    status = parse(document(hits=(3, 1)))
    assert status[:5] == ("stap_1", 1.0, 1 << 20, 2, "cycles")
    assert status.probes[0] == ("timer.s(1)", "x.stp:1:1", 0, True, 3, 7, 5, 6)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"probes": [{}]}', '{"probes": 1}'])
def test_no_document(text: str) -> None:
    with pytest.raises(ValueError):
        parse(text)


def test_rates() -> None:
    """By the session's own clock; after a reset from nothing on."""
    _, history = looks((1.0, (0, 5)), (3.0, (100, 5)), (4.0, (10, 5)))
    assert [history.rate(0), history.rate(1), history.rate(7)] == [10.0, 0.0, 0.0]
    assert history.bars(0) == "█▂"
    assert history.bars(1) == "  "


def test_rates_are_of_the_last_looks() -> None:
    _, history = looks(*((float(at), (at, 0)) for at in range(KEPT * 2)))
    assert history.bars(0) == "█" * KEPT


@pytest.mark.parametrize(
    "sort, words, expected",
    [
        ("script", "", [0, 1]),
        ("point", "", [1, 0]),
        ("hits", "", [1, 0]),
        ("rate", "", [0, 1]),
        ("max", "", [1, 0]),
        ("script", "timer", [0]),
        ("script", "nothing", []),
    ],
)
def test_order(sort: str, words: str, expected: list[int]) -> None:
    status, history = looks((1.0, (0, 9)), (2.0, (5, 9)))
    assert order(status, history, sort, words) == expected


@pytest.mark.parametrize(
    "value, expected",
    [
        (3, [("x", "3")]),
        ("a", [("x", '"a"')]),
        ({"count": 2, "sum": 5}, [("x", "@count=2 @sum=5")]),
        ([], []),
        ([["a", 1, 7], ["b", 2, {"count": 1}]], [('x["a", 1]', "7"), ('x["b", 2]', "@count=1")]),
    ],
)
def test_globals(value: Any, expected: list[tuple[str, str]]) -> None:
    assert lines_of("x", value) == expected
