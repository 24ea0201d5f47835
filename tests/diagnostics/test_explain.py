"""Every code has a page, every page a code; this package's codes have a refused script each."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import stapy
from stapy.diagnostics.explain import page, pages, unknown
from tests.parse.refused import REFUSED

ROOT = Path(stapy.__file__).parent
CODE = re.compile(r'"([EW]0[1-6]\d\d)"')

# Codes that no single small script can bring about; each has a test of its own.
ELSEWHERE = {"E0147", "E0170", "E0171"}


def used_in(folder: Path) -> set[str]:
    found: set[str] = set()
    for path in folder.glob("**/*.py"):
        if path.parent.name != "pages":
            found |= set(CODE.findall(path.read_text()))
    return found


def test_each_code_has_a_page_and_each_page_a_code() -> None:
    codes = used_in(ROOT)
    assert sorted(codes - set(pages())) == []
    assert sorted(set(pages()) - codes) == []


def test_each_code_of_the_parser_is_in_the_table() -> None:
    codes = {code for code in used_in(ROOT / "parse") if code.startswith("E")}
    assert sorted(codes - {row[2] for row in REFUSED} - ELSEWHERE) == []


@pytest.mark.parametrize("code", sorted(pages()))
def test_pages_are_short_and_say_something(code: str) -> None:
    lines = pages()[code].splitlines()
    assert 2 <= len(lines) <= 8
    assert len(lines[0]) <= 60
    assert all(len(line) <= 100 for line in lines)


def test_a_code_is_found_as_messages_show_it() -> None:
    text = page("[e0101]")
    assert text is not None
    assert text.startswith("E0101: A string has no closing quote\n")
    assert page("E9999") is None
    assert "E0101" in unknown("E0110x") or "E0110" in unknown("E0110x")
