"""Places of run-time errors, in SystemTap's words."""

from __future__ import annotations

import pytest

from stapy.translate.tables.places import token_text
from tests.translate.support import c_of

TOKENS = [
    ("foo(1)", "identifier 'foo'"),
    ("$file->x", "identifier '$file'"),
    ("@cast(1)", "operator '@cast'"),
    ("foreach (x", "keyword"),
    ("12 + 3", "number '12'"),
    ('"text" . x', 'string "text"'),
    ("/ 0", "operator '/'"),
    ("<<< 1", "operator '<<<'"),
    ("%{ x %}", "embedded code"),
    ("", "end of file"),
]


@pytest.mark.parametrize(("text", "expected"), TOKENS)
def test_tokens(text: str, expected: str) -> None:
    assert token_text(text, 0) == expected


def test_division_names_the_operator() -> None:
    text = c_of("global zero probe begin {\n\tprintln((1 + 2) /* here */ / zero) }")
    assert "\"operator '/' at test.stp:2:29\"" in text


def test_library_places_name_their_file() -> None:
    text = c_of('probe begin { error("x") }')
    assert "at_library_6_10[] = \"identifier 'error' at library.stp:6:10\"" in text
    assert "stapy_called_from(c, at_1_15);" in text
