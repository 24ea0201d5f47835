"""What is advised at a syntax error: one message, which says what the language has instead."""

from __future__ import annotations

import pytest

from stapy.parse.hints import hint_at
from tests.parse.accepted import ACCEPTED
from tests.parse.helpers import parse, parse_row

# The script, the words at the place, a piece of the hint ("": there is none).
HINTS = [
    # what C, shells, Python and others have
    ("probe begin { switch (x) { default: z() } }", ":", "there is no switch"),
    ("probe begin { switch (x) { case -1: z() } }", ":", "there is no switch"),
    ("probe begin { out: exit() }", ":", "there are no labels"),
    ('probe begin { string s = "a" }', "string", "leave out 'string'"),
    ("probe begin { long s = 1 }", "long", "leave out 'long'"),
    ("probe begin { for (long i = 0; i < 3; i++) f(i) }", "long", "leave out 'long'"),
    ("probe begin { for (int i = 0; i < 3; i++) f(i) }", "i", "'i', not 'int i'"),
    ("global int a", "a", "globals have no type declaration: global a"),
    ("global b, int a", "a", "globals have no type declaration: global a"),
    ("global long a", "long", "leave out 'long'"),
    ("global b, string a", "string", ""),
    ("global a: long", ":", "has the type of its values: global a"),
    ("function f(long a) { return a }", "long", "NAME:long"),
    ("function f:long (b, string a) { return a }", "string", "NAME:string"),
    ("function string f() { return 1 }", "string", "NAME:string"),
    ("function f(a: int) { return a }", "int", "numbers are 'long'"),
    ("function f: char () { return a }", "char", "texts are 'string'"),
    ("probe begin { if (a and b) exit() }", "and", "write '&&' for 'and'"),
    ("probe begin { while (a or b) exit() }", "or", "write '||' for 'or'"),
    ("probe begin { if (a == 1 and (b)) exit() }", "and", "write '&&' for 'and'"),
    ("probe begin { if (not a) exit() }", "a", "write '!' for 'not'"),
    ("probe begin { if (a not in b) exit() }", "not", "write !(key in array)"),
    ("probe begin { if (a -eq 1) exit() }", "1", "write '==' for 'eq'"),
    ("probe begin { if (a <> 1) exit() }", ">", "did you mean '!='?"),
    ("probe begin { if (a === 1) exit() }", "=", "did you mean '=='?"),
    ("probe begin { if (a !== 1) exit() }", "=", "did you mean '!='?"),
    ("probe begin { if (a = = 1) exit() }", "=", "did you mean '=='?"),
    ("probe begin { if (a => 1) exit() }", ">", "did you mean '>='?"),
    ("probe begin { if (a =< 1) exit() }", "<", "did you mean '<='?"),
    ("probe begin { a = 2 ** 3 }", "*", "no operator for powers"),
    ("probe begin { a := 3 }", ":", "'=' gives a value"),
    ("probe begin { if (a): exit() }", ":", "leave the ':' out"),
    ("probe begin { if (a) exit() else: exit() }", ":", "leave the ':' out"),
    ("probe begin { if a == 1 exit() }", "a", "stands in parentheses: if (…)"),
    ("probe begin { while a { } }", "a", "stands in parentheses: while (…)"),
    ("probe begin { foreach a in b { } }", "a", "foreach (key in array)"),
    ("probe begin { foreach (a of b) { } }", "of", "foreach (key in array)"),
    ("probe begin { foreach (a, b in c) { } }", ",", "foreach ([a, b] in array)"),
    ('probe begin { print "a" }', '"a"', "print(…)"),
    ("probe begin { catch { } }", "catch", "try { … } catch { … }"),
    # declarations of other languages
    ("def f(x): return 1", "def", "write 'function f(…) { … }'"),
    ("void f() { }", "void", "write 'function f(…) { … }'"),
    ("int f() { }", "int", "write 'function f(…) { … }'"),
    ("int x = 1", "int", "global x"),
    ("let x = 1", "let", "global x"),
    ("import x", "import", "nothing is imported"),
    ("begin { exit() }", "begin", "probe begin { …"),
    ("syscall.open { exit() }", "syscall", "probe syscall. …"),
    ("exit()", "exit", "statements belong into"),
    # mistyped
    ("prode begin { }", "prode", "did you mean 'probe'?"),
    ("fucntion f() { }", "fucntion", "did you mean 'function'?"),
    ("global a\nprode begin { }", "prode", "did you mean 'probe'?"),
    ("probe begin { switch (x) { case 1: y(); break; default: z() } }", ":", "there is no switch"),
    ("probe begin { fro (i = 0; i < 3; i++) f(i) }", ";", "did you mean 'for'?"),
    # how arrays are sorted
    (
        "probe begin { foreach (p in lat @avg limit 10) { } }",
        "limit",
        "@avg- for the largest first",
    ),
    ("probe begin { foreach ([a, b] in lat[*, 1] @count) { } }", ")", "@count+ for the smallest"),
    # what stands in conditionals
    ("probe begin %( kernel_v > 6 %? { } %)", "6", 'double quotes: "6"'),
    ("probe begin %( kernel_v > 6.1 %? { } %)", "6", 'double quotes: "6.1"'),
    ("probe begin %( kernel_vr == 6.1.0-9-amd64 %? { } %)", "6", 'double quotes: "6.1.0-9-amd64"'),
    ("probe begin %( CONFIG_SMP == y %? { } %)", "y", 'double quotes: "y"'),
    ("probe begin %( arch == x86_64 %? { } %)", "x86_64", 'double quotes: "x86_64"'),
    ("probe begin %( arch == $x %? { } %)", "$x", ""),
    ("probe begin %( arch == s390* %? { } %)", "s390", 'double quotes: "s390*"'),
    ('probe begin %( "y" == y %? { } %)', "y", 'double quotes: "y"'),
    ('probe begin %( guru_mode == "1" %? { } %)', '"1"', "numbers have no quotes: 1"),
    ('probe begin %( guru_mode == "x" %? { } %)', '"x"', ""),
    # a sign that is missing, or one too many
    ("private globl x", "x", "did you mean 'global'?"),
    ("private funtion x() { }", "x", "did you mean 'function'?"),
    ("private a b", "b", "a ',' is missing before 'b'"),
    ("global a[5]%", "%", "before the size: name%[100]"),
    ('probe begin { printf("%s\\n" f()) }', "f", "a ',' is missing before 'f'"),
    ('probe begin { printf("%d" 1) }', "1", "a ',' is missing before '1'"),
    ('probe begin { f(1 "b") }', '"b"', "a ',' is missing before a text"),
    ("probe begin { f(1 $b) }", "$b", "a ',' is missing before '$b'"),
    ("probe begin { f(1 @count(b)) }", "@count", "a ',' is missing before '@count'"),
    ("probe begin { f(1 2) }", "2", "a ',' is missing before '2'"),
    ("probe begin { a[1 2] = 3 }", "2", "a ',' is missing before '2'"),
    ("probe begin { x = [1 2] in a }", "2", "a ',' is missing before '2'"),
    ("function f(a b) { }", "b", "a ',' is missing before 'b'"),
    ("global a b", "b", "a ',' is missing before 'b'"),
    ("probe begin { f(1\n exit() }", "exit", "a ',' or a closing bracket is missing before 'exit'"),
    ("probe begin { if ((a) exit() }", "exit", ""),
    ("probe begin { println(1)) }", ")", "there is a ')' too many"),
    ("probe begin { if (a)) exit() }", ")", "there is a ')' too many"),
    ("probe begin { a[1]] = 2 }", "]", "there is a ']' too many"),
    ("probe begin { x = f(a]) }", "]", ""),
    ("probe begin { } }", "}", "there is a '}' too many"),
]


@pytest.mark.parametrize(("text", "at", "hint"), HINTS)
def test_one_mistake_has_one_message_and_its_hint(text: str, at: str, hint: str) -> None:
    script, diagnostics = parse(text)
    assert script is None
    first = diagnostics.errors[0]
    assert diagnostics.sources.text(first.span) == at
    assert hint in first.hint if hint else not first.hint, first.hint
    assert len(diagnostics.errors) == 1, [item.message for item in diagnostics.errors]


def test_words_of_others_are_names_here() -> None:
    words = "then do switch goto let int and or not true begin end pass case default of is"
    body = " ".join(
        f"{word} = 1; {word}++; f({word}); x[{word}] = {word};" for word in words.split()
    )
    script, diagnostics = parse(f"global x probe begin {{ {body} }}")
    assert script is not None, [item.message for item in diagnostics.errors]


def test_advice_is_asked_for_at_mistakes_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("stapy.parse.hints.hint_at")
    for options, text in ACCEPTED:
        assert parse_row(options, text)[0] is not None
    assert callable(hint_at)
