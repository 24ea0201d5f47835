"""-G NAME=VALUE against the globals of a script."""

from __future__ import annotations

import pytest

from stapy.diagnostics import Diagnostics, SourceMap
from stapy.elaborate.analyse.check import settings
from stapy.ir import program as p

GLOBALS = [
    p.Global("count", "g_count", p.LONG),
    p.Global("name", "g_name", p.STRING),
    p.Global("by", "g_by", p.LONG, keys=[p.STRING]),
    p.Global("sizes", "g_sizes", p.STATS),
]


@pytest.mark.parametrize(
    "given", [{"count": "5"}, {"count": "-0x1f"}, {"count": "017"}, {"name": "a=b c"}, {}]
)
def test_taken(given: dict[str, str]) -> None:
    diagnostics = Diagnostics(SourceMap())
    settings(given, GLOBALS, diagnostics)
    assert not diagnostics.items


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"count": "five"}, "-G count=five: the value is not a number"),
        ({"count": "089"}, "-G count=089: the value is not a number"),
        ({"count": ""}, "-G count=: the value is not a number"),
        ({"by": "5"}, "-G cannot set 'by'"),
        ({"sizes": "5"}, "-G cannot set 'sizes'"),
    ],
)
def test_refused(given: dict[str, str], text: str) -> None:
    diagnostics = Diagnostics(SourceMap())
    settings(given, GLOBALS, diagnostics)
    assert [(item.code, item.message) for item in diagnostics.errors] == [("E0292", text)]


def test_of_nothing() -> None:
    diagnostics = Diagnostics(SourceMap())
    settings({"coumt": "5"}, GLOBALS, diagnostics)
    (item,) = diagnostics.items
    assert (item.code, item.message) == ("W0614", "no global variable 'coumt' to set with -G")
    assert "'count'" in item.hint
