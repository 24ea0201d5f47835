"""What a monitor reckons from look to look: rates of probes and globals, the order of probes."""

from __future__ import annotations

from typing import Any

import pytest

from stapy.monitor.history import KEPT, History, order
from stapy.monitor.status import SHOWN, SessionStatus, parse
from tests.monitor.test_status import document


def looks(*pairs: tuple[float, tuple[int, ...]]) -> tuple[SessionStatus, History]:
    history = History()
    for uptime, hits in pairs:
        status = parse(document(uptime, hits))
        history.add(status)
    return status, history


def values(*looks: dict[str, Any]) -> History:
    """Take in looks two seconds apart, with these globals."""
    history = History()
    for number, told in enumerate(looks):
        history.add(parse(document(number * 2.0, (number, 0), globals=told)))
    return history


def test_rates() -> None:
    """By the session's own clock; after a reset from nothing on."""
    _, history = looks((1.0, (0, 5)), (3.0, (100, 5)), (4.0, (10, 5)))
    assert [history.rate(0), history.rate(1), history.rate(7)] == [10.0, 0.0, 0.0]
    assert list(history.rates(0)) == [50.0, 10.0]
    assert list(history.rates(1)) == [0.0, 0.0]


def test_the_same_moment_again_has_no_rate() -> None:
    _, history = looks((1.0, (0, 0)), (2.0, (9, 0)), (2.0, (9, 0)))
    assert list(history.rates(0)) == [9.0]


def test_rates_are_of_the_last_looks() -> None:
    _, history = looks(*((float(at), (at, 0)) for at in range(KEPT * 2)))
    assert list(history.rates(0)) == [1.0] * KEPT


@pytest.mark.parametrize(
    "looks, expected",
    [
        ([{"n": 1}], {"n": []}),
        ([{"n": 1}, {"n": 9}, {"n": 3}], {"n": [4.0, -3.0]}),
        ([{"s": {"count": 1, "sum": 900}}, {"s": {"count": 5, "sum": 7}}], {"s": [2.0]}),
        ([{"t": "a"}, {"t": "b"}], {"t": []}),
        # An element that was not there had no value; in the first look nothing is known.
        ([{"by": [[1, 4]]}, {"by": [[1, 6], [2, 8]]}], {"by[1]": [1.0], "by[2]": [4.0]}),
        # One that is gone may come back.
        ([{"by": [[1, 4]]}, {"by": [[1, 6]]}, {"by": []}], {"by[1]": [1.0, None]}),
        (
            [{"by": [[1, 4]]}, {"by": [[1, 6]]}, {"by": []}, {"by": [[1, 2]]}],
            {"by[1]": [1.0, None, 1.0]},
        ),
    ],
)
def test_changes(looks: list[dict[str, Any]], expected: dict[str, list[float | None]]) -> None:
    history = values(*looks)
    assert {name: list(history.changes(name)) for name in expected} == expected


def test_what_was_below_those_that_are_shown_is_not_known() -> None:
    full = [[at, 100 - at] for at in range(SHOWN)]
    history = values({"by": full}, {"by": [*full[:-1], [77, 99]]})
    assert list(history.changes("by[77]")) == []
    assert list(history.changes("by[0]")) == [0.0]


def test_elements_that_are_gone_are_forgotten() -> None:
    """An array whose keys are always new ones fills no memory."""
    history = values({"by": []}, *({"by": [[at, 1]]} for at in range(KEPT * 3)))
    kept = [at for at in range(KEPT * 3) if history.changes(f"by[{at}]")]
    assert kept == list(range(KEPT * 2, KEPT * 3))


def test_a_reset_is_no_change() -> None:
    history = History()
    for uptime, hits, n in ((1.0, 5, 10), (2.0, 6, 20), (3.0, 1, 0), (4.0, 2, 7)):
        history.add(parse(document(uptime, (hits, 0), globals={"n": n})))
    assert list(history.changes("n")) == [10.0, None, 7.0]


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
