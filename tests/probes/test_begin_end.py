"""Phases and their order."""

from __future__ import annotations

from typing import Any

import pytest

from stapy.probes.families import FIRST_WORDS, by_name, families
from tests.elaborate.support import run


def rows(text: str, name: str, **options: Any) -> list[dict[str, Any]]:
    """List the rows of one family of a script's program."""
    result = run(text, **options)
    assert result.program is not None, result.shown()
    made: list[dict[str, Any]] = []
    for probe in result.program.probes:
        if probe.family == name:
            made += by_name(name).rows(probe, len(made))
    return made


@pytest.mark.parametrize(
    ("point", "phase", "priority"),
    [
        ("begin", "STAPY_BEGIN", 0),
        ("begin(-3)", "STAPY_BEGIN", -3),
        ("end(9223372036854775807)", "STAPY_END", 2**63 - 1),
        ("error(2)", "STAPY_ERROR", 2),
    ],
)
def test_rows(point: str, phase: str, priority: int) -> None:
    text = f"probe {point} {{ println(1) }}"
    expected = {"point": point, "phase": phase, "priority": priority, "order": priority}
    assert rows(text, "begin_end") == [expected]


def test_the_registry_gives_each_family_by_name() -> None:
    for item in families():
        assert by_name(item.name) is item
    with pytest.raises(KeyError):
        by_name("nothing")


def test_the_registry_tells_the_words_that_points_begin_with() -> None:
    for name, words in FIRST_WORDS.items():
        assert {form.components[0][0] for form in by_name(name).forms} == set(words), name
