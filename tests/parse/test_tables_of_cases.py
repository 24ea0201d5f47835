"""The language as two tables: what is accepted and what is refused, where and why."""

from __future__ import annotations

import pytest

from stapy.parse.printer import print_script
from stapy.record import same
from tests.parse.accepted import ACCEPTED
from tests.parse.helpers import facts, parse, parse_row
from tests.parse.refused import REFUSED


def test_the_tables_are_large_enough() -> None:
    assert len(ACCEPTED) >= 120
    assert len(REFUSED) >= 120


@pytest.mark.parametrize(("options", "text"), ACCEPTED)
def test_accepted(options: str, text: str) -> None:
    script, diagnostics = parse_row(options, text)
    assert [item.message for item in diagnostics.errors] == []
    assert script is not None
    again, diagnostics = parse(print_script(script), facts(guru=True))
    assert [item.message for item in diagnostics.errors] == []
    assert same(script, again)


@pytest.mark.parametrize(("options", "text", "code", "line", "column"), REFUSED)
def test_refused(options: str, text: str, code: str, line: int, column: int) -> None:
    script, diagnostics = parse_row(options, text)
    assert script is None
    first = diagnostics.errors[0]
    name, found_line, found_column = diagnostics.sources.position(first.span)
    assert first.code == code
    if line:
        assert (name, found_line, found_column) == ("<input>", line, column)
    assert first.message
    assert first.kind == "parse error"
