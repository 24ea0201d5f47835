"""Places of run-time errors, in SystemTap's words."""

from __future__ import annotations

import pytest

from stapy.translate.places import token_text
from tests.translate.support import c_of

TOKENS = [
    ("foo(1)", "near identifier 'foo'"),
    ("$file->x", "near identifier '$file'"),
    ("@cast(1)", "near operator '@cast'"),
    ("foreach (x", "near keyword 'foreach'"),
    ("12 + 3", "near number '12'"),
    ('"text" . x', 'near string "text"'),
    ("/ 0", "near operator '/'"),
    ("<<< 1", "near operator '<<<'"),
    ("%{ x %}", "near embedded code"),
    ("", "near end of file"),
]


@pytest.mark.parametrize(("text", "expected"), TOKENS)
def test_tokens(text: str, expected: str) -> None:
    assert token_text(text, 0) == expected


def test_division_names_the_operator() -> None:
    text = c_of("global zero probe begin {\n\tprintln((1 + 2) /* here */ / zero) }")
    assert "\"near operator '/' at test.stp:2:29\"" in text


def test_library_places_name_their_file() -> None:
    text = c_of('probe begin { error("x") }')
    assert "at_library_6_10[] = \"near identifier 'error' at library.stp:6:10\"" in text
