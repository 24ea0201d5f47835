"""Whatever a script looks like: messages or a program, never a traceback, never long waiting.

``STAPY_FUZZ_SECONDS=600 pytest tests/elaborate/test_fuzz.py`` searches for longer.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from types import FrameType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stapy.diagnostics import Stop
from stapy.ir.dump import dump_program
from tests.elaborate.golden import LIBRARY
from tests.elaborate.grammar import NOISE, SCRIPT
from tests.elaborate.support import run

pytestmark = pytest.mark.slow

SECONDS = float(os.environ.get("STAPY_FUZZ_SECONDS", "24"))
LIMIT = 10.0  # seconds of processor time for one small script
MODES: tuple[dict[str, bool], ...] = ({}, {"guru": True}, {"unoptimized": True})


def elaborate(text: str, mode: dict[str, bool]) -> None:
    begun = time.process_time()
    try:
        result = run(text, LIBRARY, **mode)
    except Stop:
        return
    if result.program is None:
        assert result.diagnostics.errors
    else:
        assert not result.diagnostics.errors
        dump_program(result.program, True)
    sources = result.services.sources
    for item in result.diagnostics.items:
        assert item.message
        sources.position(item.span)
        source = sources.source(item.span)
        assert source is None or 0 <= item.span.start <= item.span.end <= len(source.text)
    assert time.process_time() - begun < LIMIT


def search(strategy: st.SearchStrategy[str], seconds: float) -> None:
    """Try scripts, in rounds, for as long as there is time."""
    ends = time.monotonic() + seconds

    @settings(
        max_examples=100, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(strategy, st.sampled_from(MODES))
    def attempt(text: str, mode: dict[str, bool]) -> None:
        elaborate(text, mode)

    while time.monotonic() < ends:
        attempt()


def test_scripts_by_the_grammar() -> None:
    search(SCRIPT, SECONDS / 2)


def test_words_in_any_order() -> None:
    search(NOISE, SECONDS / 4)


def test_characters_in_any_order() -> None:
    search(st.text(max_size=60).map(lambda text: "probe begin { " + text), SECONDS / 4)


REPEATED = (
    ("probe begin { x = ", "(", "1", ")", " println(x) }"),
    ("probe begin { x = ", "1 + ", "1", "", " println(x) }"),
    ("probe begin { x = ", "- ", "1", "", " println(x) }"),
    ("probe begin { x = ", "1 ? 2 : ", "3", "", " println(x) }"),
    ("probe begin { ", "{", "println(1)", "}", " }"),
    ("probe begin { ", "if (1) ", "println(1)", "", " }"),
    ("probe begin { ", "if (x) { println(1) } else ", "println(1)", "", " }"),
    ("probe begin { ", 'println("a" "b");', "", "", " }"),
    ("probe begin { ", "x++\n", "println(x)", "", " }"),
    ("", "probe begin { println(1) }\n", "", "", ""),
    ("", "global n%d\n", "probe begin { println(1) }", "", ""),
    ("", "function f%d(x) { return x + 1 }\n", "probe begin { println(1) }", "", ""),
    ("probe begin", ", end", "{ println(1) }", "", ""),
    ("probe begin { x = ", "%( 1 == 1 %? ", "1", " %)", " println(x) }"),
    ("", "# comment\n", "probe begin { println(1) }", "", ""),
    ("probe begin { ", "] ", "", "", " }"),
    ('probe begin { println("', "x", "", "", '") }'),
    ("@define m %( 1 %) probe begin { println(", "@m + ", "1", "", ") }"),
    ("probe begin { x = ", "(", "1", ' + "a")', " println(x) }"),
    ("function t() { return 1 } probe begin { x = ", "~", "t()", "", " println(x) }"),
    ("probe begin { ", 'if ("a") { ', "println(1)", " }", " }"),
    ("probe begin { ", "while (x) { ", "x++", " }", " }"),
    ("probe begin { ", "try { ", "x = 1 / y", " } catch { println(1) }", " }"),
    ("global a, b probe begin { ", "if (a) b++ else { ", "a++", " }", " }"),
    (
        "global a, b function t() { return 1 } probe begin { x = t() ",
        *("if (x) { ", "a++", " } else b++", " }"),
    ),
    ("global a probe begin { a[1] = 1 println(", "a[", "1", "]", ") }"),
)


def repeated(row: tuple[str, str, str, str, str], count: int) -> str:
    head, part, middle, back, tail = row
    parts = (part % i if "%d" in part else part for i in range(count))
    return head + "".join(parts) + middle + back * count + tail


def work_of(text: str) -> int:
    """Count calls and returns of Python functions for a text: equal on every machine."""
    events = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal events
        events += 1

    sys.setprofile(count)
    try:
        with contextlib.suppress(Stop):
            run(text)
    finally:
        sys.setprofile(None)
    return events


@pytest.mark.parametrize("row", REPEATED, ids=[row[1].strip() or row[1] for row in REPEATED])
def test_work_grows_with_the_text(row: tuple[str, str, str, str, str]) -> None:
    run(repeated(row, 5))  # what is made once is no part of it
    small, large = work_of(repeated(row, 60)), work_of(repeated(row, 480))
    # Eight times the text: sixty-four times the work would be the square.
    assert large < 10 * small, f"{small} and {large} calls"


@pytest.mark.parametrize("row", REPEATED, ids=[row[1].strip() or row[1] for row in REPEATED])
def test_depth_is_no_traceback(row: tuple[str, str, str, str, str]) -> None:
    elaborate(repeated(row, 1900), {})
    elaborate(repeated(row, 900), {})
