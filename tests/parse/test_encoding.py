"""Byte order marks, line ends and UTF-16: what is read, and where messages point."""

from __future__ import annotations

import pytest

from stapy.diagnostics import Diagnostics, SourceMap
from stapy.diagnostics.render import render
from stapy.parse import parse_script
from stapy.parse.encoding import plain, wide_encoding
from stapy.parse.facts import PreprocessFacts
from stapy.parse.nodes import Script
from stapy.parse.printer import dump

LINES = "# a comment", 'probe begin { println("a\\', 'b")', "}", ""


def parsed(text: str) -> tuple[Script | None, str]:
    sources = SourceMap()
    diagnostics = Diagnostics(sources)
    facts = PreprocessFacts(kernel_release="6.1.0", arch="x86_64", config="")
    script = parse_script("x.stp", text, facts, None, sources, diagnostics)
    return script, "".join(render(item, sources, False) for item in diagnostics.items)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_scripts_mean_the_same(mark: str, end: str) -> None:
    """A string goes on behind a backslash and the end of a line, whatever that is."""
    script, said = parsed(mark + end.join(LINES))
    expected, _ = parsed("\n".join(LINES))
    assert not said and script is not None and expected is not None
    assert dump([script]) == dump([expected])
    assert "a\\nb" in dump([script])


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_carets(mark: str, end: str) -> None:
    bad = ["probe begin { ) }", 'probe end { print("a', "}"]
    _, said = parsed(mark + end.join(bad))
    assert said == parsed("\n".join(bad))[1]
    assert "1 | probe begin { ) }\n   |               ^" in said
    assert "\ufffd" not in said


@pytest.mark.parametrize("name", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_wide_letters_are_one_error(name: str) -> None:
    data = "probe begin { exit() }\n".encode(name)
    _, said = parsed(data.decode("utf-8", "surrogateescape"))
    assert said.startswith("parse error: Input file 'x.stp' is in UTF-")
    assert said.count("[E0194]") == 1 and said.count("error") == 1
    assert "1 | probe begin { exit() }\n   | ^ this is UTF-" in said


@pytest.mark.parametrize("text", ["", "p", "\0", "probe", "p\0robe", "\udcff", "日本"])
def test_other_texts_are_not_wide(text: str) -> None:
    assert wide_encoding(text) == ""


def test_a_cr_among_lines_that_end_otherwise_is_a_blank() -> None:
    assert plain("a\rb\n") == "a\rb\n"
    assert plain("\ufeffa\rb") == "a\nb"
