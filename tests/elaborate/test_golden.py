"""Every case of the text files: messages and program are as written there."""

from __future__ import annotations

import pytest

from tests.elaborate.golden import load, shown

FILES = ("language.txt", "points.txt", "targets.txt")
CASES = [pytest.param(s, e, id=f"{f}:{i}") for f in FILES for i, (s, e) in enumerate(load(f))]


@pytest.mark.parametrize(("script", "expected"), CASES)
def test_case(script: str, expected: str) -> None:
    assert shown(script) == expected


def test_there_are_many_cases() -> None:
    assert len(CASES) > 200
