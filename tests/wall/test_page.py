"""The page of the wall: a column for each kernel that was tried, a line for what is in the way."""

from __future__ import annotations

import json

from tests.wall.__main__ import _is_of
from tests.wall.page import write
from tests.wall.rows import OK, UNITS, Row, _refusal, families, texts

NAMES = [name for name, _ in families()]


def test_each_family_has_a_script_that_prints() -> None:
    assert len(NAMES) == len(set(NAMES)) >= 20
    assert all(case.expect for _, case in families())
    assert all("probe " in text for text in texts().values())


def test_what_is_written() -> None:
    good = Row("6.12-x", "gcc-12", "this machine", "2026-01-02", "abc1234")
    good.cells = {name: [OK, ""] for name in [UNITS, *NAMES]}
    bad = Row("6.9-x", "gcc-11", "image", "2026-01-01", "abc1234")
    bad.architecture = "arm64"
    bad.cells = {**good.cells, "timer": ["E0405", "a | b"], "perf": ["E0405", "a | b"]}
    page = write([good, bad, Row("7.0-x", "gcc-99", date="2026-01-03", why="no compiler")])
    lines = page.splitlines()
    number = len(good.cells)
    assert (
        "| 2 | 6.12-x | x86_64 | gcc-12 | this machine | 2026-01-02 | abc1234 "
        f"| {number} of {number} |" in lines
    )
    assert (
        f"| 1 | 6.9-x | arm64 | gcc-11 | image | 2026-01-01 | abc1234 | {number - 2} of {number} |"
        in lines
    )
    assert "| | 7.0-x | x86_64 | gcc-99 | not tried: no compiler | 2026-01-03 | | |" in lines
    assert "| timer | E0405 | ok |" in lines
    assert "- 1, 6.9-x: timer, perf: E0405: a ' b" in lines


def test_what_a_refusal_says() -> None:
    note, error = {"severity": "note"}, {"severity": "error", "code": "E1", "message": "a\nb"}
    said = f"{json.dumps(note)}\n{json.dumps(error)}"
    assert _refusal(said) == ["E1", "a"]
    assert _refusal("first\nlast") == ["error", "last"]
    assert _refusal("") == ["error", "nothing was said"]


def test_lines_and_flavours() -> None:
    releases = ["6.1.0-56-amd64", "6.1.0-56-cloud-amd64", "6.1.0-56-rt-amd64", "6.12.9-rt-amd64"]
    found = {line: [r for r in releases if _is_of(r, line)] for line in ("6.1-rt", "6.1-amd64")}
    assert found == {"6.1-rt": ["6.1.0-56-rt-amd64"], "6.1-amd64": ["6.1.0-56-amd64"]}
