"""The forms of messages that ``--message-format`` chooses, exactly."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from stapy.cli import main, message_format
from stapy.diagnostics import Diagnostic, SourceMap, Span
from stapy.diagnostics.render import render
from tests.program import stapy_command

ROOT = Path(__file__).resolve().parents[2]
MACRO = "@define m(a) %( @a + foo() %)\nprobe begin { x = @m(1) println(x)\n}"

# A script and all that SystemTap 5.6 said about it; "…" stands for what need not agree.
SYSTEMTAP = {
    "probe begin { foo() }": """\
semantic error: unresolved function foo…: identifier 'foo' at <input>:1:15
        source: probe begin { foo() }
                              ^

Pass 2: analysis failed.  [man error::pass2]
""",
    "probe syscall.opne { }": """\
semantic error: while resolving probe point: identifier 'syscall' at <input>:1:7
        source: probe syscall.opne { }
                      ^

semantic error: probe point mismatch (similar: …): identifier 'opne' at :1:15
        source: probe syscall.opne { }
                              ^

Pass 2: analysis failed.  [man error::pass2]
""",
    'probe begin, kernel.function("vfs_nosuch") { println(1) }': """\
semantic error: while resolving probe point: identifier 'kernel' at <input>:1:14
        source: probe begin, kernel.function("vfs_nosuch") { println(1) }
                             ^

semantic error: no match

Pass 2: analysis failed.  [man error::pass2]
""",
    MACRO: """\
semantic error: unresolved function foo…: identifier 'foo' at <input>:1:22
        source: @define m(a) %( @a + foo() %)
                                     ^
\tin expansion of macro: operator '@m' at <input>:2:19
        source: probe begin { x = @m(1) println(x)
                                  ^

Pass 2: analysis failed.  [man error::pass2]
""",
    'probe begin { "abc': """\
parse error: Could not find matching closing quote
         at: junk '"abc' at <input>:1:15
     source: probe begin { "abc
                           ^

1 parse error.
Pass 1: parse failed.  [man error::pass1]
""",
    'probe begin { x = 1 x = "s" println(x) }': """\
semantic error: type mismatch (string): identifier 'x' at <input>:1:21
        source: probe begin { x = 1 x = "s" println(x) }
                                    ^

semantic error: type was first inferred here (long): identifier 'x' at :1:15
        source: probe begin { x = 1 x = "s" println(x) }
                              ^

Pass 2: analysis failed.  [man error::pass2]
""",
    'probe begin { n = "x"; println(n + 1) }': """\
semantic error: type mismatch (long): identifier 'n' at <input>:1:32
        source: probe begin { n = "x"; println(n + 1) }
                                               ^

semantic error: type was first inferred here (string): identifier 'n' at :1:15
        source: probe begin { n = "x"; println(n + 1) }
                              ^

Pass 2: analysis failed.  [man error::pass2]
""",
    "probe a? = begin { d }": """\
parse error: probe point alias name cannot be optional nor sufficient
         at: identifier 'a' at <input>:1:7
     source: probe a? = begin { d }
                   ^

1 parse error.
Pass 1: parse failed.  [man error::pass1]
""",
    "function f() { return f() } probe begin { println(f()) }": """\
semantic error: unresolved type : identifier 'f' at <input>:1:51
        source: function f() { return f() } probe begin { println(f()) }
                                                                  ^

Pass 2: analysis failed.  [man error::pass2]
""",
    "probe begin { x = 08 y = 09 }": """\
parse error: number invalid or out of range
        saw: number '08' at <input>:1:19
     source: probe begin { x = 08 y = 09 }
                               ^

parse error: number invalid or out of range
        saw: number '09' at <input>:1:26
     source: probe begin { x = 08 y = 09 }
                                      ^

2 parse errors.
Pass 1: parse failed.  [man error::pass1]
""",
    "probe begin {\n\tprintln(bar(1))\n}": """\
semantic error: unresolved function bar…: identifier 'bar' at <input>:2:10
        source: \tprintln(bar(1))
                \t        ^

Pass 2: analysis failed.  [man error::pass2]
""",
    "global unused probe begin { println(1) z = q }": """\
WARNING: Eliding assignment to 'z': operator '=' at <input>:1:42
 source: global unused probe begin { println(1) z = q }
                                                  ^
…""",
    "probe begin { a.b = 1 }": """\
semantic error: Expecting lvalue for assignment: operator '=' at <input>:1:19
        source: probe begin { a.b = 1 }
                                  ^
identifier 'a' at :1:15
        source: probe begin { a.b = 1 }
                              ^

Pass 2: analysis failed.  [man error::pass2]
""",
    "function f(x) { return x . 1 } probe begin { println(f(1, f(2))) }": """\
semantic error: arity mismatch found (function 'f' takes 1 args): identifier 'f' at <input>:1:54
        source: function f(x) { return x . 1 } probe begin { println(f(1, f(2))) }
                                                                     ^
identifier 'f' at :1:10
        source: function f(x) { return x . 1 } probe begin { println(f(1, f(2))) }
                         ^

Pass 2: analysis failed.  [man error::pass2]
""",
    "probe begin.nosuch { println(1) }": """\
semantic error: while resolving probe point: identifier 'begin' at <input>:1:7
        source: probe begin.nosuch { println(1) }
                      ^

semantic error: invalid suffix for probe: identifier 'nosuch' at :1:13
        source: probe begin.nosuch { println(1) }
                            ^

Pass 2: analysis failed.  [man error::pass2]
""",
    "@define m(a) %( @a %) probe begin { println(@m) }": """\
parse error: expected '(' in invocation of macro '@m' taking 1 parameter
         at: operator ')' at <input>:1:47
     source: @define m(a) %( @a %) probe begin { println(@m) }
                                                           ^

1 parse error.
Pass 1: parse failed.  [man error::pass1]
""",
    "probe begin { x = nosuch(1); y = nosuch(2); println(x, y) }": """\
semantic error: unresolved function nosuch…: identifier 'nosuch' at <input>:1:19
        source: probe begin { x = nosuch(1); y = nosuch(2); println(x, y) }
                                  ^

Pass 2: analysis failed.  [man error::pass2]
Number of similar error messages suppressed: 1.
Rerun with -v to see them.
""",
}


def matches(text: str, pattern: str) -> bool:
    import re

    return re.fullmatch(re.escape(pattern).replace("…", ".*"), text, re.DOTALL) is not None


@pytest.mark.parametrize("script", SYSTEMTAP)
def test_the_layout_of_systemtap(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["-p2", "--message-format=systemtap", "-e", script])
    lines = capsys.readouterr().err.splitlines(keepends=True)
    said = "".join(line for line in lines if not line.startswith("        hint: "))
    assert matches(said, SYSTEMTAP[script]), said


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("probe begin { print(hello) }", """\
semantic error: unresolved type : identifier 'hello' at <input>:1:21
        source: probe begin { print(hello) }
                                    ^

        hint: give 'hello' a value here, or add 'global hello' when another probe does
"""),
        ('probe begin { panic("x") }', """\
semantic error: function may not be used unless -g is specified: identifier 'panic' at <input>:1:15
        source: probe begin { panic("x") }
                              ^

        hint: add option -g (guru mode) when you are sure
        note: it is for guru mode: …/guru.stp:…
"""),
        ("kprobe:vfs_read { }", """\
parse error: this is a script for bpftrace
        saw: identifier 'kprobe' at <input>:1:1
     source: kprobe:vfs_read { }
             ^
        hint: write here: probe kernel.function("vfs_read") { … }

1 parse error.
"""),
    ],
)  # fmt: skip
def test_hints_and_notes_are_no_second_error(
    script: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["-p2", "--message-format=systemtap", "-e", script])
    told = capsys.readouterr().err.rpartition("Pass ")[0]
    assert matches(told, said), told


def test_similar_names_come_twice_with_v(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["-p2", "--message-format=systemtap", "-e", "probe syscall.opne { }"]
    main(words)
    assert "hint:" not in capsys.readouterr().err
    main(["-v", *words])
    assert "        hint: did you mean 'open'?\n" in capsys.readouterr().err


def test_one_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    main(["-p2", "--message-format=short", "-e", "probe begin { foo() }", "word"])
    assert capsys.readouterr().err == (
        "warning: unused command line option $1/@1 [W0652]\n"
        "<input>:1:15: semantic error: unresolved function foo (no function of this name) [E0201]\n"
        "Pass 2: analysis failed.  [man error::pass2]\n"
    )


def test_one_object_each(capsys: pytest.CaptureFixture[str]) -> None:
    main(["-v", "-p2", "--message-format=json", "-e", MACRO])
    rows = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [(row["severity"], row["pass"]) for row in rows] == [
        ("note", 1), ("error", 2), ("error", 2),
    ]  # fmt: skip
    error = rows[1]
    assert error["code"] == "E0201"
    assert (error["file"], error["line"], error["column"]) == ("<input>", 1, 22)
    assert (error["end_line"], error["end_column"]) == (1, 27)
    assert error["expansions"][0]["line"] == 2
    assert rows[2]["message"] == "Pass 2: analysis failed."


@pytest.mark.parametrize("form", ["json", "short", "systemtap", "rich"])
@pytest.mark.parametrize("text", ["probe begin { \x1b[31m", "probe begin { x = 漢 }", "\t\n\n}"])
def test_any_text_can_be_told(form: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-p1", f"--message-format={form}", "-e", text]) == 1
    said = capsys.readouterr().err
    assert "\x1b" not in said and "mistake in stapy" not in said
    if form == "json":
        assert all(json.loads(line) for line in said.splitlines())


def test_wrong_options_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--message-format=json", "-p9", "x.stp"]) == 1
    assert json.loads(capsys.readouterr().err)["message"].startswith("Invalid pass number '9'")


@pytest.mark.parametrize(
    ("words", "variable", "program", "form"),
    [
        ([], None, "/usr/bin/stapy", "rich"),
        ([], None, "/usr/local/bin/stap", "systemtap"),
        ([], "short", "stap", "short"),
        (["--message-format=json"], "short", "stap", "json"),
        (["--message-format", "rich"], "short", "stap", "rich"),
        (["--", "--message-format=json"], None, "stapy", "rich"),
    ],
)
def test_who_chooses(
    words: list[str],
    variable: str | None,
    program: str,
    form: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("STAPY_MESSAGE_FORMAT", raising=False)
    if variable:
        monkeypatch.setenv("STAPY_MESSAGE_FORMAT", variable)
    monkeypatch.setattr(sys, "argv", [program])
    assert message_format(words) == form


def test_a_form_that_is_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("STAPY_MESSAGE_FORMAT", "pretty")
    assert main(["-p1", "-e", "probe begin {}"]) == 1
    assert capsys.readouterr().err == (
        "ERROR: Invalid $STAPY_MESSAGE_FORMAT 'pretty'"
        " (should be one of rich, systemtap, short, json).\n"
    )


@pytest.mark.parametrize("width", [40, 57, 80, 120])
def test_rich_messages_are_as_wide_as_told(width: int) -> None:
    sources = SourceMap()
    line = "probe syscall.opne, timer.s(1), " + 'kernel.function("vfs_read"), ' * 9 + "{"
    number = sources.add("a.stp", f"\n{line}\n")
    item = Diagnostic(
        Diagnostic.ERROR,
        "semantic error",
        "E0231",
        "no probe point " + "matches this or that " * 6,
        Span(number, 50, 60),
        "what is wrong " * 8,
        notes=["a note with words " * 9],
        hint="a hint " * 20,
    )
    drawn = render(item, sources, False, width).splitlines()
    assert max(map(len, drawn)) <= width
    assert len(drawn) > 8
    wide = render(item, sources, False, 0)
    assert wide.split() != [] and len(wide.splitlines()) == 7


def test_rich_messages_fit_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Through the program, with a terminal of 50 columns on standard error."""
    import fcntl
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 50, 0, 0))
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "dumb"}
    env.pop("COLUMNS", None)
    script = "probe syscall.open_and_more_of_it, syscall.read { println(1) }"
    subprocess.run(stapy_command("-p2", "-e", script), stderr=theirs, env=env, check=False)
    os.close(theirs)
    said = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:
            break
        if not piece:
            break
        said += piece
    os.close(ours)
    lines = said.decode().replace("\r", "").splitlines()
    assert len(lines) > 4
    assert max(map(len, lines)) <= 50, said.decode()


@pytest.mark.parametrize("form", ["short", "systemtap", "rich"])
@pytest.mark.parametrize("text", ["probe begin { foo() }", "probe begin { x = 08 }", 'probe { "a'])
def test_a_name_of_a_script_forges_no_message(
    form: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a\nERROR: forged\x1b[31m.stp"
    path.write_text(text)
    assert main(["-p2", f"--message-format={form}", str(path)]) == 1
    said = capsys.readouterr().err
    assert "forged" in said
    assert "\x1b" not in said and "\nERROR: forged" not in said


@pytest.mark.parametrize("form", ["systemtap", "rich"])
def test_nor_does_a_label(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    from stapy.diagnostics import Label
    from stapy.diagnostics.layouts import form_of

    sources = SourceMap()
    place = Span(sources.add("a.stp", "probe begin {}\n"), 6, 11)
    labels = [Label(place, "in a\nERROR: forged\x1b[31m")]
    item = Diagnostic(Diagnostic.ERROR, "semantic error", "E0201", "x", place, labels=labels)
    text = form_of(form, sources, False)(item, 2, False)
    assert "forged" in text
    assert "\x1b" not in text and "\nERROR: forged" not in text
