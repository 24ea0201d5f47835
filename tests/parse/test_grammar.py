"""The grammar as a whole: no conflict, tables that are never stale, recovery."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from stapy.parse import tables
from stapy.parse.tokens import KEYWORDS
from tests.parse.helpers import good, parse


class _Log:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return lambda text, *args, **rest: self.lines.append(text % args if args else text)


KNOWN = """
    probe global private function if else for foreach in limit return delete while break continue
    next string long try catch
"""
WORDS = KNOWN.split()


def test_the_grammar_has_no_conflicts_and_no_unused_rules() -> None:
    log = _Log()
    tables.generate(log)
    assert log.lines == []


def test_tables_are_kept_under_a_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "cache_dir", lambda: tmp_path)
    tables.make_parser(lambda token: None)
    (kept,) = (tmp_path / "parse").iterdir()
    assert tables.digest() in kept.name
    kept.write_bytes(b"damaged")
    assert tables.make_parser(lambda token: None).action


def test_the_digest_follows_the_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    before = tables.digest()
    monkeypatch.setattr(tables.statements.p_end, "__doc__", "end : SEMI")
    assert tables.digest() != before


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("probe begin { x = = 1; y = ; z = 2 }\nprobe end { a ] }", [(1, 19), (1, 28), (2, 15)]),
        ("probe begin { if (1 { x } }\nprobe end { y = ] }", [(1, 21), (2, 17)]),
        ("function { }\nprobe begin { x = }\nglobal 3", [(1, 10), (2, 19), (3, 8)]),
        ("probe begin { x = 1\nprobe end { y = ] }", [(2, 1), (2, 17)]),
        ("probe begin { { { x = ] } } }\nprobe a..b { }", [(1, 23), (2, 9)]),
        ("foo bar baz { }\nprobe begin { ( }", [(1, 1), (2, 17)]),
        ("probe begin { for (int i=0;i<(3);i++) f(i) }\nprobe end { ] }", [(1, 24), (2, 13)]),
        ("probe begin { for (int i=0;i<3;i++) { f(i) } x = = 1 }", [(1, 24), (1, 50)]),
        ("probe begin { for (int i=0; f(); x = = 1 }", [(1, 24), (1, 38)]),
    ],
)
def test_independent_errors_are_all_reported(text: str, places: list[tuple[int, int]]) -> None:
    _, diagnostics = parse(text)
    found = [diagnostics.sources.position(item.span)[1:] for item in diagnostics.errors]
    assert found == places


@pytest.mark.parametrize("body", ["@[execname()] = count()", "@ = count();", "println(@)"])
def test_a_map_of_bpftrace_has_no_name(body: str) -> None:
    _, diagnostics = parse(f"probe begin {{ {body} }}")
    assert diagnostics.errors[0].hint.startswith("variables have no '@', and arrays have names")


@pytest.mark.parametrize(
    ("head", "hint"),
    [
        ("int i = 0; i < 3; i++", "variables have no type declaration: 'i', not 'int i'"),
        ("long i = 0; i < 3; i++", "variables have no type declaration: leave out 'long'"),
        ("x i = 0; i < 3; i++", "did you mean 'in'?"),
    ],
)
def test_a_variable_with_a_type_is_one_mistake(head: str, hint: str) -> None:
    _, diagnostics = parse(f"probe begin {{ for ({head}) println(i) exit() }}")
    (error,) = diagnostics.errors
    assert (error.message, error.hint) == ("expected ';'", hint)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("function f { return 1 }", "expected '('",
         "a function has a list of parameters, also an empty one: f()"),
        ("global x[10 probe begin { }", "expected ']'",
         "a ']' is missing before this declaration"),
        ("probe begin { for (i = 0; i < 10) print(i) }", "expected ';'", ""),
        ("probe begin { println(“hi”) }", "expected ')'",
         "strings stand in straight double quotes, not in “"),
        ("probe kernel.function(vfs_read) { }", "expected literal string or number",
         'text stands in double quotes: "vfs_read"'),
        ("probe begin, { exit() }", "expected a probe point behind ','",
         "leave the ',' out, or name another point"),
        ("probe begin, , end { exit() }", "expected a probe point behind ','",
         "leave one ',' out, or name another point between them"),
        ("probe begin, end,, error { exit() }", "expected a probe point behind ','",
         "leave one ',' out, or name another point between them"),
    ],
)  # fmt: skip
def test_what_is_missing_is_named(text: str, message: str, hint: str) -> None:
    _, diagnostics = parse(text)
    assert (diagnostics.errors[0].message, diagnostics.errors[0].hint) == (message, hint)


@pytest.mark.parametrize(
    "text",
    [
        "probe begin { x = ( { [ }",
        "}}}}{{{{",
        "probe probe probe",
        "probe begin { " * 50,
        "probe a { if (1) else } } } probe",
        "@define @define %( %( %)",
        "function f( { } ) [ probe { ] (",
        "%{ %} %{ %( %) \x00 \x01 é \ud800",
    ],
)
def test_nonsense_is_refused_without_a_crash(text: str) -> None:
    script, diagnostics = parse(text)
    assert script is None
    assert diagnostics.errors


def test_deep_nesting_is_parsed() -> None:
    depth = 300
    good("probe begin { x = " + "(" * depth + "1" + ")" * depth + " }")
    good("probe begin { " + "{ " * depth + "} " * depth + " }")


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("probe begin { if (1) { x = } y = 2 }", [28]),
        ("probe begin { if (1) { x = } y = ; while (1) { { f( } } z = }", [28, 34, 53, 61]),
        ("probe begin { x = ; y = ; if ( ; z = 2 } probe end { x = ) }", [19, 25, 32, 58]),
        ("function f() { { { x = } } y = } probe a { z = }", [24, 32, 48]),
        ("probe begin { try { x = 1 + } catch { delete } }", [29, 46]),
    ],
)
def test_each_independent_mistake_is_told_once(text: str, columns: list[int]) -> None:
    script, diagnostics = parse(text)
    assert script is None
    found = [diagnostics.sources.position(item.span)[2] for item in diagnostics.errors]
    assert found == columns


@pytest.mark.parametrize("word", WORDS)
def test_keywords_are_no_names(word: str) -> None:
    """Neither of variables nor of functions, but of members, and as a part of longer ones."""
    for text in (f"probe begin {{ {word} = 1 }}", f"global {word}", f"function {word}() {{ }}"):
        _, diagnostics = parse(text)
        assert diagnostics.errors, text
    good(f'probe begin {{ x{word} = {word}_ + @var("v")->{word} }}')


def test_there_are_no_other_keywords() -> None:
    assert set(KEYWORDS) == set(WORDS)


def test_a_module_that_is_loaded_when_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that asks for a name of it meanwhile, as another thread may, has the real one."""
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    with tables._loaded_when_used("colorsys"):
        import colorsys
    assert "colorsys" not in sys.modules
    assert colorsys.rgb_to_hls(0, 0, 0) == (0, 0, 0)
    kept = sys.modules["colorsys"]
    with tables._loaded_when_used("colorsys"):
        assert sys.modules["colorsys"] is kept
    del sys.modules["colorsys"]
    with tables._loaded_when_used("colorsys"):
        from colorsys import rgb_to_hls
    assert rgb_to_hls(0, 0, 0) == (0, 0, 0)
    assert sys.modules["colorsys"].rgb_to_hls is rgb_to_hls
