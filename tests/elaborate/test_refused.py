"""What pass 2 refuses: the code of the first message and the place that it points at."""

from __future__ import annotations

import pytest

from tests.elaborate.golden import LIBRARY
from tests.elaborate.refused import REFUSED
from tests.elaborate.support import run


def test_the_table_is_large_enough() -> None:
    assert len(REFUSED) >= 240
    assert len({row[:2] for row in REFUSED}) == len(REFUSED)


@pytest.mark.parametrize(("options", "text", "code", "line", "column"), REFUSED)
def test_refused(options: str, text: str, code: str, line: int, column: int) -> None:
    defines = dict(item[2:].split("=") for item in options.split() if item.startswith("-D"))
    result = run(text, LIBRARY, guru="-g" in options, defines=defines)
    assert result.program is None
    first = result.diagnostics.errors[0]
    _, found_line, found_column = result.diagnostics.sources.position(first.span)
    assert (first.code, found_line, found_column) == (code, line, column)
    assert first.message


@pytest.mark.parametrize(
    "text",
    [
        'probe kernel.function("vfs_read") { if (@defined($nosuch)) $nosuch = 1; println(1) }',
        'probe kernel.function("vfs_read") { if (@defined($nosuch)) $nosuch++ println(1) }',
    ],
)
def test_writes_to_what_is_not_there_may_stand_behind_defined(text: str) -> None:
    result = run(text, LIBRARY, guru=True)
    assert result.program is not None, result.shown()


@pytest.mark.parametrize(
    ("text", "warned"),
    [
        ("function f(x) { return 1 } function f(x) { return 2 }", True),
        ("function f(x) : 2 { return 1 } function f(x) : 1 { return 2 }", True),
        ("function f(x) { if (x) next; return 1 } function f(x) { return 2 }", False),
        ("function f(x) { return 1 } function f(x, y) { return 2 }", False),
    ],
)
def test_overloads_that_no_call_reaches(text: str, warned: bool) -> None:
    result = run(text + " probe begin { println(f(1)) }", LIBRARY)
    assert result.program is not None
    assert ("W0608" in result.codes) == warned


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ('global a\nprobe begin {\na["x"] = 1\na[1] = 2; println(a["y"]) }', [(4, 3), (3, 3)]),
        ('probe begin {\nx = "s"\nx = 1; println(x) }', [(3, 5), (2, 5)]),
        (
            'function f:long(\na:long) { return a }\nprobe begin { println(f("x")) }',
            [(3, 25), (2, 1)],
        ),
        ('function f(a) {\nreturn a + 1 }\nprobe begin { println(f("x")) }', [(2, 8), (3, 25)]),
    ],
)
def test_a_type_conflict_shows_both_places(text: str, places: list[tuple[int, int]]) -> None:
    result = run(text)
    error = result.diagnostics.errors[0]
    spans = [error.span, *(label.span for label in error.labels)]
    positions = [result.diagnostics.sources.position(span) for span in spans]
    assert (error.code, [position[1:] for position in positions]) == ("E0301", places)


@pytest.mark.parametrize(
    "text",
    [
        'function f() { x = 1; x = "a"; return x } probe begin { println(1) }',
        'private function f() { x = 1; x = "a"; return x } probe begin { println(1) }',
        'function f(x:long) { return x } probe begin { if (0) f("a"); println(1) }',
        'probe begin { if (1 || "a") println(1) }',
        'probe begin { if (0 && "a") println(1) else println(2) }',
        'probe begin { println(1); next; println("a" * 2) }',
        'probe begin { x = 1; x = "a"; println(1) }',
        'probe begin { "a" + 1; println(1) }',
        'probe begin { try { } catch { println("a" * 2) } println(1) }',
        "probe begin { try { } catch (m) { println(m + 1) } println(1) }",
    ],
)
def test_type_errors_in_dropped_code_are_warnings(text: str) -> None:
    result = run(text, LIBRARY)
    assert result.program is not None
    assert "W0613" in result.codes
    assert "E0301" in run(text, LIBRARY, unoptimized=True).codes


@pytest.mark.parametrize(
    ("body", "codes", "hint"),
    [
        ('x = "a" + 1; println(1)', ["W0613", "W0602"], "'.' joins strings"),
        ('"a" + 1; println(1)', ["W0613", "W0604"], "'.' joins strings"),
        ('x = 1; x = "a"; println(1)', ["W0602", "W0613", "W0602"], "strtol("),
        ('y = 1; x = "a" - 1; z = 2; println(1)', ["W0602", "W0613", "W0602", "W0602"], "strtol("),
    ],
)
def test_a_mistake_is_told_before_that_it_was_left_out(
    body: str, codes: list[str], hint: str
) -> None:
    result = run(f"probe begin {{ {body} }}", LIBRARY)
    assert result.codes == codes
    assert hint in next(item.hint for item in result.diagnostics.items if item.code == "W0613")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('probe begin { if (0) { x = 1; x = "a"; println(x) } println(1) }', "E0301"),
        ('probe begin { if (1) println(2) else println("a" * 2) }', "E0301"),
        ('probe begin { while (0) println("a" * 2); println(1) }', "E0301"),
        ("probe begin { if (0) println(nosuch) println(2) }", "E0305"),
        ("probe begin { while (0) println(nosuch) println(2) }", "E0305"),
        ("probe begin { try { } catch { println(nosuch) } println(2) }", "E0305"),
        ("global g probe begin { if (0) println(g) println(2) }", "E0305"),
    ],
)
def test_code_that_never_runs_is_checked(text: str, code: str) -> None:
    result = run(text, LIBRARY)
    assert result.program is None
    assert code in result.codes


@pytest.mark.parametrize("tried", ["", "1;", "x = 1;"])
def test_what_is_caught_is_a_string_also_where_nothing_is_tried(tried: str) -> None:
    result = run(f"probe begin {{ try {{ {tried} }} catch (m) {{ println(m) }} println(2) }}")
    assert (result.program is not None, "E0305" in result.codes) == (True, False)


def test_a_choice_that_is_known_is_made_before_types_are_checked() -> None:
    result = run('probe begin { println(1 ? 2 : "a", 0 ? 2 : "a") }')
    assert (result.program is not None, result.codes) == (True, [])


def test_unused_functions_and_globals_are_told() -> None:
    text = """global a, b = 1, c[3]
        function f() { return g() } function g() { return 1 } private function h() { }
        probe begin { println(1); if (0) println(b) }"""
    assert run(text, LIBRARY).codes == ["W0611"] * 3 + ["W0612"] * 3
    assert run(text, LIBRARY, unoptimized=True).codes == []


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("probe a = begin { x = $no } probe b = a { } probe b { println(x) }", "b"),
        ("probe a = nosuch { } probe b = a { } probe b { println(1) }", "b"),
        ("function f() { return $no } probe begin { println(f()) }", "begin"),
        ("probe begin { println($no) }", "begin"),
        ("probe nosuch { println(1) }", None),
    ],
)
def test_the_scripts_own_probe_point_is_shown(text: str, label: str | None) -> None:
    result = run(text)
    (error,) = result.diagnostics.errors
    labels = [result.diagnostics.sources.text(item.span) for item in error.labels]
    assert labels == ([label] if label else [])


def test_one_message_for_a_variable_that_many_places_lack() -> None:
    result = run('probe kernel.function("vfs_*") { println($nosuch) }', LIBRARY)
    (error,) = result.diagnostics.errors
    assert error.notes[-1].startswith("this is so at the first place (kernel.function(")
