"""The monitor's view of a session: documents, texts of globals."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stapy.monitor.status import parse, values_of


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


def test_parse() -> None:
    status = parse(document(hits=(3, 1)))
    assert status[:5] == ("stap_1", 1.0, 1 << 20, 2, "cycles")
    assert status.probes[0] == ("timer.s(1)", "x.stp:1:1", 0, True, 3, 7, 5, 6)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"probes": [{}]}', '{"probes": 1}'])
def test_no_document(text: str) -> None:
    with pytest.raises(ValueError):
        parse(text)


@pytest.mark.parametrize(
    "value, expected",
    [
        (3, [("x", "3", 3)]),
        ("a", [("x", '"a"', None)]),
        ({"count": 2, "sum": 5}, [("x", "@count=2 @sum=5", 2)]),
        ([], []),
        (
            [["a", 1, 7], ["b", 2, {"count": 1}], ["c", 3, "text"]],
            [
                ('x["a", 1]', "7", 7),
                ('x["b", 2]', "@count=1", 1),
                ('x["c", 3]', '"text"', None),
            ],
        ),
    ],
)
def test_globals(value: Any, expected: list[tuple[str, str, int | None]]) -> None:
    assert values_of("x", value) == expected
