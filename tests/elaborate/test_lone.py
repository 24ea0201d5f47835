"""A word of another language that is a name here: accepted, as by SystemTap, with a hint."""

from __future__ import annotations

import time

import pytest

from stapy.cli import main
from tests.elaborate import support as s


@pytest.mark.parametrize(
    ("body", "word", "hint"),
    [
        ("if (1) then println(1)", "then", "there is no 'then'"),
        ("if (1) then { println(1) }", "then", "there is no 'then'"),
        ("do { x++ } while (x < 3) println(x)", "do", "for a test at the end"),
        ("goto println(1)", "goto", "there is no goto"),
        ("let x = 1 println(x)", "let", "leave out 'let'"),
        ("int i = 0; println(i)", "int", "leave out 'int'"),
        ("uint64_t i = 0; println(i)", "uint64_t", "leave out 'uint64_t'"),
        ("x = 1 and 2 println(x)", "and", "write '&&' for 'and'"),
        ("x = 1 or 2 println(x)", "or", "write '||' for 'or'"),
        ("not 2 println(1)", "not", "write '!' for 'not'"),
        ("while (1) { pass } println(1)", "pass", "the statement that does nothing is ';'"),
        ("if (1) println(1) fi", "fi", "braces hold statements together"),
        ('throw "x" println(1)', "throw", "error(text)"),
        ('echo "x" println(1)', "echo", "println(text)"),
        ("if (1) println(1) esle println(2)", "esle", "did you mean 'else'?"),
        ("while (1) { println(1) brake }", "brake", "did you mean 'break'?"),
        ("println(1) exit", "exit", "it is exit()"),
        ("println(1) i", "i", ""),
        ("then = 1; then println(1)", "then", ""),
        ("foreach (do in a) { do println(1) }", "do", ""),
        ("try { println(1) } catch (int) { int println(2) }", "int", ""),
    ],
)
def test_a_lone_word(body: str, word: str, hint: str) -> None:
    result = s.run(f"global a probe begin {{ {body} }} probe end {{ a[1]++ println(a[1]) }}")
    assert not result.diagnostics.errors
    lone = [item for item in result.diagnostics.items if item.code == "W0604"]
    assert result.services.sources.text(lone[0].span) == word
    assert hint in lone[0].hint if hint else not lone[0].hint, lone[0].hint


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("goto out println(1)", ["goto"]),
        ("int i; i = 2; println(i)", ["int"]),
        ("unsigned int i; i = 2; println(i)", ["unsigned"]),
        ("let i println(1)", ["let"]),
        ("int\ni; println(1)", ["int", "i"]),
        ("int; i; println(1)", ["int", "i"]),
        ("pass i; println(1)", ["pass", "i"]),
        ("int = 1; int i; println(1)", ["int", "i"]),
        ("int i; println(1) int j", ["int", "int"]),
    ],
)
def test_a_declaration_is_told_once(body: str, words: list[str]) -> None:
    result = s.run(f"probe begin {{ {body} }}")
    lone = [item for item in result.diagnostics.items if item.code == "W0604"]
    assert [result.services.sources.text(item.span) for item in lone] == words


def test_systemtap_tells_each_word(capsys: pytest.CaptureFixture[str]) -> None:
    main(["-p2", "--message-format=systemtap", "-e", "probe begin { int i; println(1) }"])
    assert capsys.readouterr().err.count("Eliding side-effect-free expression") == 2


def test_a_parameter_is_a_variable() -> None:
    result = s.run("function f(then) { then println(1) } probe begin { f(2) }")
    assert [item.hint for item in result.diagnostics.items if item.code == "W0604"] == [""]


@pytest.mark.parametrize(
    ("body", "code", "hint"),
    [
        ("wihle (1) { println(1) }", "E0201", "did you mean 'while'?"),
        ("fro (1) println(1)", "E0201", "did you mean 'for'?"),
        ("foo(1)", "E0201", ""),
        ("retrun (1)", "E0201", "did you mean 'return'?"),
        ("unless (1) println(1)", "E0201", "write if (!(…))"),
        ("until (1) println(1)", "E0201", "write while (!(…))"),
        ("if (not (1)) println(1)", "E0201", "write '!' for 'not'"),
        ("printl (1)", "E0201", "did you mean 'println'?"),
        ("x = true println(x)", "E0305", "'true': in SystemTap's language it is 1"),
        ("x = y println(x)", "E0305", "give 'x' a value here"),
    ],
)
def test_a_word_before_parentheses_and_a_value(body: str, code: str, hint: str) -> None:
    result = s.run(f"probe begin {{ {body} }}")
    assert [item.code for item in result.diagnostics.errors] == [code]
    found = result.diagnostics.errors[0].hint
    assert hint in found if hint else not found, found


@pytest.mark.parametrize(
    "statement", ["a{};", "b{} = a{};", "then a{};", "println(a{});", "nosuch({});"]
)
def test_many_of_them_take_no_longer_each(statement: str) -> None:
    """The body is looked at once, not for each name."""

    def seconds(count: int) -> float:
        body = "".join(statement.replace("{}", str(number)) for number in range(count))
        start = time.process_time()
        s.run(f"probe begin {{ {body} println(1) }}")
        return time.process_time() - start

    # Eight times as many: 8 if the time is in proportion, 64 if each of them looks at all.
    few, many = (min(seconds(count) for _ in range(3)) for count in (400, 3200))
    assert many < 24 * few
