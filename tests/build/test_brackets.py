"""Brackets of embedded C that have no partner."""

from __future__ import annotations

import pytest

from stapy.build.brackets import unbalanced

CASES = [
    ("%{ if (x) { y(); } %}", []),
    ("function f() %{ if (x) { y(); %}", ["{ y(); %}"]),
    ("function f() %{ y(); } %}", ["} %}"]),
    ("%{ y(1;\n } %}", ["(1;\n } %}"]),
    ("%{ { y(1; } %}", ["(1; } %}"]),
    ("%{ y[1); %}", ["[1); %}"]),
    ("%{ /* { */ // }\n \"{\" '{' '\\'' \"\\\"{\" %}", []),
    ('# %{ { %}\nprobe begin { println("%{ { %}") } // %{ ( %}', []),
    ("%{ { %} probe begin {} %{ ) %}", ["{ %} probe begin {} %{ ) %}", ") %}"]),
    ("%{\n#ifdef A\nif (x) {\n#else\nif (y) {\n#endif\n} %}", []),
    ("%{ { ", []),  # no block: pass 1 has refused it
]


@pytest.mark.parametrize(("script", "places"), CASES)
def test_what_is_found(script: str, places: list[str]) -> None:
    assert [script[at:] for at, _ in unbalanced(script)] == places


def test_what_is_told() -> None:
    told = [
        text for script in ("%{ ( %}", "%{ ) %}", "%{ ( } %}") for _, text in unbalanced(script)
    ]
    assert told == [
        "this '(' is not closed in the block",
        "this ')' closes nothing in the block",
        "this '(' is not closed before a '}'",
    ]
