"""Nesting: what is permitted parses, what is not is refused with a message."""

from __future__ import annotations

import pytest

from stapy.parse.depth import CONDITIONALS, DEPTH
from tests.parse.helpers import parse

SHAPES = (
    ("probe begin { x = ", "1 + ", "1", "", " }"),
    ("probe begin { x = ", "- ", "1", "", " }"),
    ("probe begin { x = ", "a[", "1", "]", " }"),
    ("probe begin { ", "{ ", "x = 1", " }", " }"),
    ("probe begin { ", "if (x) y else ", "z", "", " }"),
    ("probe begin { ", "while (x) ", "z", "", " }"),
)


@pytest.mark.parametrize(("head", "part", "middle", "back", "tail"), SHAPES)
def test_levels(head: str, part: str, middle: str, back: str, tail: str) -> None:
    def script(levels: int) -> str:
        return head + part * levels + middle + back * levels + tail

    tree, diagnostics = parse(script(DEPTH - 10))
    assert tree is not None, diagnostics.errors
    tree, diagnostics = parse(script(DEPTH + 10))
    assert tree is None
    assert [item.code for item in diagnostics.errors] == ["E0147"]


def test_parentheses_are_no_level() -> None:
    tree, _ = parse("probe begin { x = " + "(" * 3000 + "1" + ")" * 3000 + " }")
    assert tree is not None


def test_conditionals() -> None:
    def script(levels: int) -> str:
        return "probe begin { x = " + "%( 1 == 1 %? " * levels + "1" + " %)" * levels + " }"

    tree, _ = parse(script(CONDITIONALS - 1))
    assert tree is not None
    tree, diagnostics = parse(script(CONDITIONALS + 1))
    assert tree is None
    assert diagnostics.errors[0].code == "E0147"
