"""Tracepoints: names, rows, parameters."""

from __future__ import annotations

import pytest

from tests.elaborate.support import run
from tests.probes.test_begin_end import rows


@pytest.mark.parametrize(
    ("point", "names"),
    [
        ('kernel.trace("sched_switch")', ["sched_switch"]),
        ('kernel.trace("sched:sched_switch")', ["sched_switch"]),
        ('kernel.trace("sched:*")', ["sched_switch", "sched_wakeup"]),
        ('kernel.trace("*wak*")', ["sched_wakeup"]),
        ('kernel.tracepoint("sched_wakeup")', ["sched_wakeup"]),
        ('module("ext").tracepoint("ext_event")', ["ext_event"]),
        ('module("*").trace("*")', ["ext_event"]),
    ],
)
def test_names(point: str, names: list[str]) -> None:
    assert [r["name"] for r in rows(f"probe {point} {{ println(1) }}", "tracepoint")] == names


def test_row() -> None:
    assert rows('probe kernel.trace("sched_switch") { println(1) }', "tracepoint") == [
        {
            "point": 'kernel.trace("sched:sched_switch")',
            "name": "sched_switch",
            "module": None,
            "nargs": 3,
        }
    ]


@pytest.mark.parametrize(
    ("point", "name"),
    [("kernel.trace", "$prev"), ("kernel.tracepoint", "$prev"), ("kernel.tracepoint", "$arg3")],
)
def test_parameters(point: str, name: str) -> None:
    result = run(f'probe {point}("sched_switch") {{ println({name}) }}')
    assert result.program is not None, result.shown()


@pytest.mark.parametrize("name", ["$arg3", "$other"])
def test_unknown_parameters(name: str) -> None:
    assert run(f'probe kernel.trace("sched_switch") {{ println({name}) }}').codes == ["E0241"]


def test_no_match() -> None:
    result = run('probe kernel.trace("sched:sched_swich") { println(1) }')
    assert result.codes == ["E0232"]
    assert "sched_switch" in result.diagnostics.items[0].message


def test_no_match_in_a_module() -> None:
    result = run('probe module("other").trace("ext_event") { println(1) }')
    assert result.codes == ["E0232"]
    assert "module 'other'" in result.diagnostics.items[0].notes[0]
