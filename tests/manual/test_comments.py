"""The checker of tapsets' comments: our own are right, and it sees what is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.diagnostics import Diagnostics, SourceMap
from stapy.manual.library import Reference, open_reference
from stapy.parse.facts import PreprocessFacts
from stapy.parse.library import Library
from tests.manual.comments import problems


@pytest.mark.slow
def test_ours_are_right() -> None:
    assert list(problems(open_reference())) == []


TABLE = "%type int | @ = $ | %d | @ | a number\n"


def of(folder: Path, files: dict[str, str]) -> list[str]:
    for name, text in files.items():
        (folder / name).write_text(text)
    sources = SourceMap()
    diagnostics = Diagnostics(sources)
    facts = PreprocessFacts(kernel_release="6.12.0")
    library = Library([str(folder)], facts, None, sources, diagnostics)
    found = list(problems(Reference(library)))
    assert not diagnostics.errors
    return found


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("function f() { }", "f: no comment before it that begins 'f - what it is'"),
        ("/** g - it */\nfunction f() { }", "f: no comment before it"),
        ("/* f does it */\nfunction f() { }", "f: no comment before it"),
        ("/** f - it */\n\nfunction f() { }", "f: no comment before it"),
        ("/** f - it. */\nfunction f() { }", "f: the first line says what it is"),
        (
            "/**\n * f - it\n * Example: f(1)\n */\nfunction f(a) { return a }",
            "f: '@a: what it means' is missing",
        ),
        ("/**\n * f - it\n * @b: one\n */\nfunction f() { }", "f: '@b' is not a parameter"),
        ("probe a.b = begin { }", "a.b: no comment before it"),
        ("/** a.b - it */\nprobe a.b = begin { x = 1 }", "a.b: '@x: what it means' is missing"),
        ("/**\n * a.b - it\n * @y: no\n */\nprobe a.b = begin { }", "a.b: '@y' is not a variable"),
        ("/**\n * f - it\n * Since:\n */\nfunction f() { }", "f: 'Since:' says nothing"),
        ("/** f_ns - it */\nfunction f_ns:long() { return 1 }", "f_ns: the unit is missing in its"),
        ("/** f_size - 4 bits */\nfunction f_size:long() { return 1 }", "f_size: the unit is"),
        ("/** f_pages - in seconds */\nfunction f_pages:long() { return 1 }", "f_pages: the unit"),
        (
            "/**\n * f - it\n * @len: how long\n */\nfunction f(len:long) { return len }",
            "f: the unit is missing in '@len: how long'",
        ),
        (
            "/**\n * a.b - it\n * @run_time: one\n */\nprobe a.b = begin { run_time = 1 }",
            "a.b: the unit is missing in '@run_time: one'",
        ),
        ("/** f - it */\nfunction f() { }", "f: 'Example:' is missing in its comment"),
        ("/**\n * f - it\n * Example: g()\n */\nfunction f() { }", "f: its example does not use"),
        ("/**\n * f - it\n * Example: f(1)\n */\nfunction f() { }", "f: its example does not use"),
    ],
)
def test_what_is_seen(tmp_path: Path, text: str, what: str) -> None:
    found = of(tmp_path, {"x.stp": text})
    assert len(found) == 1 and what in found[0], found


def test_a_macro_needs_an_example(tmp_path: Path) -> None:
    head = "/**\n * @m - it\n"
    assert of(tmp_path, {"x.stpm": f"{head} */\n@define m %( 1 %)\n"}) == [
        "x.stpm: m: 'Example:' is missing in its comment"
    ]
    assert (
        of(tmp_path, {"x.stpm": f"{head} * Example: println(@m)\n */\n@define m %( 1 %)\n"}) == []
    )


@pytest.mark.parametrize(
    "text",
    [
        "/**\n * f - it\n * @a: one\n * Example: f(1)\n */\nfunction f(a) { return a }",
        "function __f(a) { return a }\nprivate function g() { }\nprobe __a.b = begin { x = 1 }",
        "/* SPDX */\n/*\n * About.\n *\n * @x: it\n */\n"
        "/** a.b - it */\nprobe a.b = begin { x = 1 }",
        "/**\n * a.b - it\n * @x: it\n */\nprobe a.b = begin { x = 1 }\n"
        "/** a.c - the same */\nprobe a.c = a.b { __y = 1 }",
    ],
)
def test_what_is_right(tmp_path: Path, text: str) -> None:
    assert of(tmp_path, {"x.stp": text}) == []


def test_variables_that_all_know(tmp_path: Path) -> None:
    alias = "/** a.b - it */\nprobe a.b = begin { x = 1 }"
    files = {"x.stp": alias, "variables.txt": "# all\nx: it\n"}
    assert of(tmp_path, files) == []
    files["variables.txt"] += "y: nobody's\n"
    assert of(tmp_path, files) == ["variables.txt: y: no alias sets such a variable"]


def test_the_table(tmp_path: Path) -> None:
    row = "read | 0 | | fd:int | | 1 | extra_one = 1\n"
    found = of(tmp_path, {"calls.table": TABLE + row})
    assert found == ["calls.table: read: '%means extra_one | what it is' is missing"]
    assert of(tmp_path, {"calls.table": TABLE + "%means extra_one | it\n" + row}) == []


def test_units_of_the_table(tmp_path: Path) -> None:
    row = "read | 0 | | fd:int buf_len:int | | 1\n"
    found = of(tmp_path, {"calls.table": TABLE + row})
    assert found == ["calls.table: read: the unit is missing in 'buf_len | a number'"]
    assert of(tmp_path, {"calls.table": TABLE + "%unit in bytes | fd_len buf_len\n" + row}) == []
