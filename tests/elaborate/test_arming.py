"""Arming conditions: which handlers judge them, and what is held meanwhile."""

from __future__ import annotations

import pytest

from stapy.ir import program as p
from stapy.ir.program import Program
from stapy.ir.walk import walk
from tests.elaborate.golden import LIBRARY
from tests.elaborate.support import run

TIMER = "probe timer.s(2) if"


def program(text: str, **options: object) -> Program:
    result = run(text, LIBRARY, **options)
    assert result.program is not None, result.shown()
    return result.program


def regions(handler: p.Handler) -> list[tuple[list[p.Lock], list[p.Condition]]]:
    """List where a handler holds globals: its locked parts, or all of it."""
    parts = [node for node in walk(handler.body) if isinstance(node, p.Locked)]
    return [(part.locks, part.conditions) for part in parts] or [
        (handler.locks, handler.conditions)
    ]


def shown(text: str, **options: object) -> list[list[tuple[str, list[int]]]]:
    """List locks (``*``: as a writer) and condition numbers of each handler's regions."""
    made = program(text, **options)
    return [
        [
            (
                " ".join(x.var.name + "*" * x.for_writing for x in locks),
                [made.conditions.index(one) for one in judged],
            )
            for locks, judged in regions(handler)
        ]
        for handler in made.handlers
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Its writer judges it; the probe itself needs no lock for it.
        (
            f"global on probe begin {{ on = 1 }} {TIMER} (on) {{ println(1) }}",
            [[("on*", [0])], [("", [])]],
        ),
        # With all that it reads; what nobody writes needs no lock.
        (
            "global a, b, c = 1 probe begin { a = 1 } probe begin { b = 1 }"
            f" {TIMER} (a + b > c) {{ println(1) }}",
            [[("a* b", [0])], [("a b*", [0])], [("", [])]],
        ),
        # A reader judges nothing.
        (
            f"global on probe begin {{ on++ }} {TIMER} (on) {{ println(on) }}",
            [[("on*", [0])], [("on", [])]],
        ),
        # Through a function; and a probe may switch itself off.
        (
            "global on function f() { on = 0 } probe begin { on = 1 }"
            f" {TIMER} (on) {{ f() }}",
            [[("on*", [0])], [("on*", [0])]],
        ),
        # Adding to a statistic is a reader's business, reading it is not.
        (
            f"global s probe begin {{ s <<< 1 }} {TIMER} (@count(s) > 3) {{ println(1) }}",
            [[("s*", [0])], [("", [])]],
        ),
        # Only the region that changes it; two conditions.
        (
            "global a, b, n, q = 1 probe begin { if (q > 1) a = 1; else n++ }"
            f" probe begin {{ b = n }} {TIMER} (a) {{ println(1) }}"
            f" {TIMER} (a && b) {{ println(2) }}",
            [[("a* b", [0, 1]), ("n*", [])], [("a b* n", [1])], [("", [])], [("", [])]],
        ),
    ],
)  # fmt: skip
def test_who_judges(text: str, expected: list[list[tuple[str, list[int]]]]) -> None:
    assert shown(text) == expected


def test_a_whole_handler_is_one_region_in_older_versions() -> None:
    text = f"global on, q = 1 probe begin {{ if (q > 1) on = 1 }} {TIMER} (on) {{ println(1) }}"
    assert shown(text, compatible="4.3") == [[("on*", [0])], [("", [])]]


def test_equal_conditions_are_one() -> None:
    made = program(
        f"global on probe begin {{ on = 1 }} {TIMER} (on > 1) {{ println(1) }}"
        f" probe timer.s(3) if (on  >  1) {{ println(2) }} {TIMER} (on > 2) {{ println(3) }}"
    )
    conditions = [probe.condition for probe in made.probes]
    assert conditions[0] is None and conditions[1] is conditions[2] is made.conditions[0]
    assert conditions[3] is made.conditions[1] and len(made.conditions) == 2


@pytest.mark.parametrize(("written", "lasting"), [("a", False), ("b", True)])
def test_what_nobody_changes_is_judged_once(written: str, lasting: bool) -> None:
    made = program(
        f"global a, b = 2 probe begin {{ {written} = 1; println(b) }} {TIMER} (a) {{ println(1) }}"
    )
    assert [one.judged_once for one in made.conditions] == [lasting]
    assert any(handler.conditions for handler in made.handlers) is not lasting
