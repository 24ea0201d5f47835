"""Macros, conditionals, arguments: places and warnings."""

from __future__ import annotations

import pytest

from stapy.options.versions import compare_versions
from stapy.parse.printer import print_script
from tests.parse.helpers import facts, good, parse


@pytest.mark.parametrize(
    ("a", "b", "sign"),
    [
        ("6.1.0", "6.12.0", -1),
        ("6.1.0", "6.1", 1),
        ("2.6.32", "2.6.9", 1),
        ("5.10", "5.10", 0),
        ("6.1.0-56-cloud", "6.1.0-9", 1),
        ("4.8", "4.8rc1", -1),
        ("6.1", "6." + "9" * 5000, -1),  # Python makes no such number
        ("6." + "8" * 5000, "6." + "9" * 5000, -1),
        ("5.010", "5.10", 0),
        ("5.09", "5.10", -1),
        ("5.\u00b2", "5.1", 1),
    ],
)
def test_versions(a: str, b: str, sign: int) -> None:
    assert compare_versions(a, b) == sign
    assert compare_versions(b, a) == -sign


@pytest.mark.parametrize(
    ("condition", "taken"),
    [
        ('kernel_v >= "6.1"', True),
        ('kernel_v == "6.1"', False),
        ('kernel_v == "6.*"', True),
        ('kernel_vr < "6.1.0-100"', True),
        ('arch == "x86*"', True),
        ('CONFIG_SMP == "[my]"', True),
        ('CONFIG_NOPE == ""', True),
        ("CONFIG_NOPE == 0", True),
        ("CONFIG_HZ > 100", True),
        ("CONFIG_HZ == CONFIG_SMP", False),
        ("guru_mode == 0", True),
        ('"5" < "10"', False),
        ("5 < 10", True),
        ('1 == 2 || 1 == 1 && "a" != "b"', True),
        ('$1 == 7 && @2 == "x" && $# == 2', True),
        ('systemtap_v >= "5.0"', True),
    ],
)
def test_conditions(condition: str, taken: bool) -> None:
    script = good(f"probe begin {{ x = %( {condition} %? 1 %: 0 %) }}", "7", "x", guru=False)
    assert f"x = {int(taken)};" in print_script(script)


def test_an_error_in_a_macro_tells_where_the_macro_was_used() -> None:
    text = "@define m(a) %( @a + ) %)\nprobe begin { x = @m(1) }"
    _, diagnostics = parse(text)
    (item,) = diagnostics.errors
    sources = diagnostics.sources
    assert sources.position(item.span)[1:] == (1, 22)
    source = sources.source(item.span)
    assert source is not None
    assert source.parent is not None
    assert sources.position(source.parent)[1:] == (2, 19)
    assert "'@m'" in source.label


def test_a_macro_that_expands_to_itself_is_refused_once() -> None:
    _, diagnostics = parse("@define a %( @b %) @define b %( @a %) probe begin { x = @a }")
    assert [item.code for item in diagnostics.errors] == ["E0128"]


def test_one_mistake_gives_one_message() -> None:
    for text in (
        "probe begin { x = @nosuch(1, 2) }",
        "probe begin { x = %( kernel_v > 3 %? 1 %: 2 %) }",
        "probe begin { /* never closed }",
        'probe begin { x = "abc\n }',
    ):
        _, diagnostics = parse(text)
        assert len(diagnostics.errors) == 1, text


def test_hiding_an_operator_warns() -> None:
    script, diagnostics = parse("@define sum %( 1 %) probe begin { x = @sum }")
    assert script is not None
    assert [item.code for item in diagnostics.items] == ["W0650"]


def test_arguments_that_were_used_are_known() -> None:
    from stapy.diagnostics import Diagnostics, SourceMap
    from stapy.parse import parse_script, warn_unused_arguments

    sources = SourceMap()
    diagnostics = Diagnostics(sources)
    used: set[int] = set()
    given = facts("1", "2", "3")
    parse_script(
        "<input>",
        "probe begin { x = $1 . @3 }",
        given,
        None,
        sources,
        diagnostics,
        used_arguments=used,
    )
    assert used == {1, 3}
    warn_unused_arguments(given, used, diagnostics, {"7": "--vm=7"})
    assert [item.message for item in diagnostics.items] == ["unused command line option $2/@2"]


@pytest.mark.parametrize(
    ("text", "used"),
    [("argv[2]", {1, 2, 3}), ("argc", {1, 2, 3}), ("argv_2", {2}), ("argument", set())],
)
def test_arguments_that_the_tapset_reads(text: str, used: set[int]) -> None:
    """`argv` and `argc` are used as `$2` is."""
    from stapy.diagnostics import Diagnostics, SourceMap
    from stapy.parse import parse_script

    sources = SourceMap()
    found: set[int] = set()
    parse_script(
        "<input>",
        f"probe begin {{ println({text}) }}",
        facts("1", "2", "3"),
        None,
        sources,
        Diagnostics(sources),
        used_arguments=found,
    )
    assert found == used


@pytest.mark.parametrize(
    ("head", "given", "hint"),
    [
        ("", [], "give arguments after the script's name, or test '%( $# >= 1 %? … %)'"),
        ("", ["a"], ""),
        ("# top: what it does\n# usage: top COUNT\n", [], "usage: top COUNT"),
        ("# top: what it does\n# usage: top COUNT\n", ["a"], "usage: top COUNT"),
        ("#! /usr/bin/stap\n// Usage: top COUNT \n", [], "usage: top COUNT"),
        ("global x\n# usage: top COUNT\n", ["a"], ""),
    ],
)
def test_a_missing_argument_shows_the_usage(head: str, given: list[str], hint: str) -> None:
    _, diagnostics = parse(head + "probe begin { println($2) }", facts(*given))
    assert [(item.code, item.hint) for item in diagnostics.errors] == [("E0106", hint)]


def test_suggestions_name_the_nearest_macro() -> None:
    _, diagnostics = parse("@define foobar %( 1 %) probe begin { x = @fobar }")
    assert "'@foobar'" in diagnostics.errors[0].hint


def test_messages_come_in_the_order_of_the_text() -> None:
    _, diagnostics = parse("probe begin { x = = 1 }\nprobe end { y = @nosuch }")
    assert [item.code for item in diagnostics.errors] == ["E0105", "E0129"]
