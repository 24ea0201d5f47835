"""A wrong name is told once where a person reads, and says where else it is used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stapy.cli import main
from stapy.tools.check import main as check

FUNCTION = """probe begin {
  a = ktime_get_ux()
  b = ktime_get_ux() - a

  println(ktime_get_ux() + b)
}"""

# Script, text of the one message, its last note.
ONCE = [
    (FUNCTION, "unresolved function ktime_get_ux", "2 more uses: lines 3 and 5"),
    ("probe begin { f() f() }", "unresolved function f", "1 more use in this line"),
    ("probe begin { f()\nf() f()\n}", "unresolved function f", "2 more uses: line 2"),
    ("probe begin { f() }\n" + "probe end { f() }\n" * 15, "unresolved function f",
     "15 more uses: lines 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13 … and 3 others"),
    ("@define m %( f() %)\nprobe begin { println(@m) }\nprobe end { println(@m) }",
     "unresolved function f", "1 more use: line 3"),
    ("probe begin { println(ar[1]) }\nprobe end { println(ar[2]) }", "array ar",
     "1 more use: line 2"),
    ("probe begin { st <<< 1 }\nprobe end { st <<< 1 }", "stat locals", "1 more use: line 2"),
    ("probe begin { println(pid(1)) }\nprobe end { println(pid(2)) }", "arity mismatch",
     "1 more use: line 2"),
    ('probe begin { panic("a") }\nprobe end { panic("b") }', "unless -g", "1 more use: line 2"),
    ("probe syscall.opne {}\nprobe syscall.opne.return {}", "'syscall.opne'", "1 more use: line 2"),
    ('probe kernel.function("vfs_raed") {}\nprobe kernel.function("vfs_raed").return {}',
     "no match", "1 more use: line 2"),
    ('probe kernel.trace("sched_swich") {}\nprobe kernel.trace("sched_swich") {}', "no match",
     "1 more use: line 2"),
    ('probe begin { println(@cast(1, "struct nosuch")->x)\nprintln(@cast(2, "struct nosuch")->x) }',
     "'struct nosuch' not found", "1 more use: line 2"),
    ('probe begin { println(@perf("x"))\nprintln(@perf("x")) }', "counter 'x'",
     "1 more use: line 2"),
    ('probe kernel.function("vfs_read") { println($fiel)\nprintln($fiel) }', "local 'fiel'",
     "1 more use: line 2"),
    ('probe kernel.function("vfs_read") { println($file->f_flgs)\nprintln($file->f_flgs) }',
     "member 'f_flgs'", "1 more use: line 2"),
    ("probe begin { println(@foo)\nprintln(@foo) }", "operator @foo", "1 more use: line 2"),
    ("probe begin { println($1)\nprintln($1) }", "argument out of range", "1 more use: line 2"),
    ("probe begin { println($foo)\nprintln($foo) }", "target-symbol", "1 more use: line 2"),
    ("probe begin { if (xx) println(1) }\nprobe end { if (xx) println(1) }", "variable 'xx'",
     "1 more use: line 2"),
]  # fmt: skip

# Each is a mistake of its own, though code or message are the same.
EACH = [
    ("probe begin { f() g() }", "unresolved function", 2),
    ("probe begin { println($1) println(@2) }", "argument out of range", 2),
    ('probe begin { x = "a" + 1 y = "b" + 2 println(x, y) }', "type mismatch", 2),
    ("probe begin { println(1 }\n\n\nprobe end { println(2 }", "parse error", 2),
    ("probe syscall.opne {}\nprobe vfs.opne {}", "no probe point", 2),
]


@pytest.mark.parametrize(("script", "text", "note"), ONCE)
def test_one_wrong_name_is_one_message(
    script: str, text: str, note: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["-p2", "-e", script])
    said = capsys.readouterr().err
    assert said.count(text) == 1
    assert f"= note: {note}\n" in said


@pytest.mark.parametrize(("script", "text", "times"), EACH)
def test_other_mistakes_are_told_each(
    script: str, text: str, times: int, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["-p2", "-e", script])
    said = capsys.readouterr().err
    assert said.count(text) == times
    assert "more use" not in said


def test_programs_read_each_place(capsys: pytest.CaptureFixture[str]) -> None:
    main(["-p2", "--message-format=json", "-e", FUNCTION])
    rows = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [row["line"] for row in rows if row.get("code") == "E0201"] == [2, 3, 5]
    main(["-p2", "--message-format=short", "-e", FUNCTION])
    assert capsys.readouterr().err.count("[E0201]") == 3


def test_systemtap_counts_what_is_similar(capsys: pytest.CaptureFixture[str]) -> None:
    main(["-p2", "--message-format=systemtap", "-e", FUNCTION])
    said = capsys.readouterr().err
    assert said.count("unresolved function") == 1
    assert "more use" not in said
    assert "Number of similar error messages suppressed: 2.\n" in said


def test_a_check_does_so_for_each_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.stp", "b.stp"):
        Path(name).write_text(FUNCTION, encoding="utf-8")
    assert check(["a.stp", "b.stp"]) == 1
    said = capsys.readouterr().out
    assert said.count("unresolved function") == 2
    assert said.count("= note: 2 more uses: lines 3 and 5\n") == 2
    assert check(["--message-format=json", "a.stp"]) == 1
    assert capsys.readouterr().out.count("E0201") == 3
