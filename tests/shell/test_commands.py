"""The shell of ``stapy -i``: declarations, mistakes, commands, options, and what Tab offers."""

from __future__ import annotations

import os
import resource
import signal
from pathlib import Path

import pytest

from stapy.diagnostics import Diagnostics, SourceMap
from stapy.editor.bench import Bench
from stapy.kernel import find_kernel
from stapy.options import Options
from stapy.options.option import UsageError
from stapy.shell import commands, terminal
from stapy.shell import text as lines_of
from stapy.shell.offers import offers
from stapy.shell.settings import Settings
from stapy.shell.shell import Shell
from tests.editor.support import make_tree

ONE = "probe begin { println(1) }\n"


class RecordingShell(Shell):
    """A shell that writes down what sessions are asked for, and starts none."""

    def __init__(self, words: list[str]) -> None:
        super().__init__(Settings(words, ""), on_terminal=False)
        self.sessions: list[Options] = []

    def session(self, options: Options) -> None:
        self.sessions.append(options)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"{make_tree(tmp_path_factory.mktemp('shell'))}/"


@pytest.fixture
def shell(tree: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RecordingShell:
    monkeypatch.chdir(tmp_path)
    return RecordingShell(["-i", "-r", tree])


def test_declarations_are_kept_as_they_end(shell: RecordingShell) -> None:
    """A global may come before anything uses it; a body, comment or header may have many lines."""
    for line in ["# counts", "global n, unused", "", "function f(x) {", "", "  return x", "}"]:
        shell.feed(line)
    assert (shell.pending, shell.failed) == ("", False)
    for line in ["probe begin,", "  end {", "  n += f(1) /* a", " */ }"]:
        shell.feed(line)
        assert bool(shell.pending) is not line.endswith("}"), line
    assert not shell.failed
    assert lines_of.numbered(shell.script).splitlines()[-1] == "10   */ }"
    assert shell.script.count("\n") == 10


def test_mistakes_are_told_with_their_place(
    shell: RecordingShell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.feed_all(ONE + "probe end {\n  nosuch(1)\n}")
    told = capsys.readouterr().err
    assert "unresolved function nosuch" in told
    assert "<input>:3:3" in told and "^^^" in told, told
    shell.feed("probe begin { x = = 1 }")
    assert "<input>:2:19" in capsys.readouterr().err
    shell.feed("probe begin")
    assert shell.pending
    shell.feed("")  # nothing follows: it is a mistake now
    assert "parse error" in capsys.readouterr().err
    assert (shell.pending, shell.script, shell.failed) == ("", ONE, True)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("lst", "unknown command 'lst'; did you mean 'list'?"),
        ("prob", "unknown command 'prob'; did you mean 'probe'?"),
        ("kprobe:f { @ = count() }", "expected 'probe', 'global'"),
        ("run println(1)", ": run probe begin { println(1) exit() }"),
        ("println(1)", "statements stand in probes: run probe begin { println(1) exit() }"),
        ("x = 1", ": run probe begin { x = 1 exit() }"),
        ("list -L", "usage: list [[-L] PROBE]"),
        ("delete", "usage: delete LINE[-LINE] | all | draft"),
        ("delete draft", "there is no draft"),
        ("delete " + "1" * 40, "usage: delete"),
        ("delete 2", "the script has lines 1 to 1, not 2"),
        ("delete 1-0", "the script has lines 1 to 1, not 1-0"),
        ("set -T x", "Invalid timeout 'x'"),
        ("set nosuch", "unknown option '--nosuch'"),
        ("set -g word", "'word' is no option"),
        ("set -e x", "-e cannot be given here"),
        ("set --", "'--' is no option"),
        ("set ''", "'' is no option"),
        ("set -l begin", "-l and -L"),
        ("set --doc f", "--doc"),
        ("set -i", "-i cannot be given here"),
        ("set -gi", "-i cannot be given here"),
        ("set --interactive", "-i cannot be given here"),
        ("set --help", "-h, -V and --explain cannot be given here"),
        ("set --prepare --build-in auto", "--prepare cannot be given with -i"),
        ("set --example", "--example cannot be given with -i"),
        ("unset -g", "-g is not set"),
        ("unset --nosuch", "unknown option '--nosuch'"),
        ("add", "usage: add path DIR | args WORD..."),
        ("add path nosuch", "'nosuch' is no folder"),
        ("add args 'x", "no closing quotation"),
        ("load nosuch.stp", "'nosuch.stp': No such file or directory"),
        ("load", "usage: load FILE"),
        ("load ~no.such.user/x", "there is no such user"),
        ("load a\0b", "is no name of a file"),
        ("save", "usage: save [-f] [FILE]"),
        ("save no/such.stp", "'no/such.stp': No such file or directory"),
        ("edit", "an editor needs a terminal"),
        ("exit 3", "usage: exit"),
        ("show me", "usage: show"),
    ],
)
def test_refused(
    shell: RecordingShell, line: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One error says why, and everything stays as it was."""
    shell.script = ONE
    before = shell.settings.options
    shell.feed_all(line)
    assert told in capsys.readouterr().err
    assert shell.failed
    assert (shell.script, shell.sessions, shell.has_ended) == (ONE, [], False)
    assert shell.settings.options is before


def test_a_run_is_a_session(shell: RecordingShell) -> None:
    """What stands behind `run` is part of that run only."""
    shell.feed_all("set -gT 5\nset -T 7\nset -b\nunset b\nadd args a 'b c'\n" + ONE)
    shell.feed_all("run\nrun probe end {\n println(2)\n}\nexit\nrun")
    first, second = shell.sessions
    assert (first.script_text, first.timeout, first.guru, first.bulk) == (ONE, 7.0, True, False)
    assert first.arguments == ["a", "b c"] and not first.interactive
    assert second.script_text == ONE + "probe end {\n println(2)\n}\n"
    assert (shell.script, shell.has_ended, shell.failed) == (ONE, True, False)


def test_options_are_shown_as_they_are_given(tree: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["-ivv", "-r", tree, "--tmpdir", "x y", "-D", "A=1", "file.stp", "a", "--", "-b"]
    shell = RecordingShell(words)
    shell.feed_all("set -D B=2\nunset --tmpdir\nshow")
    assert capsys.readouterr().out.splitlines() == [
        "set -v", "set -v", f"set -r {tree}", "set -D A=1", "set -D B=2", "add args a -b"
    ]  # fmt: skip
    assert shell.settings.first_file == "file.stp"
    shell.feed_all("unset args\nunset -v\nunset -D\nshow")
    assert capsys.readouterr().out.splitlines() == [f"set -r {tree}"]


def test_what_controls_a_terminal_is_shown(
    shell: RecordingShell, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also what is no UTF-8, for which standard output has no bytes."""
    shell.script = "# \033]0;x\007 \udcff\n"
    shell.feed("list")
    assert capsys.readouterr().out == "1  # \\033]0;x\\007 \\377\n"


def test_questions(shell: RecordingShell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.feed_all("help set\nhelp execname\nlist timer.*\nlist -L vfs.*\nlist -l beg*\nhelp")
    assert [(one.doc, one.listing, one.listing_variables) for one in shell.sessions] == [
        ("execname", None, False),
        (None, "timer.*", False),
        (None, "vfs.*", True),
        (None, "beg*", False),
    ]
    told = capsys.readouterr().out
    assert told.startswith("set [OPTION [VALUE]]\n") and "quit" in told


def test_lines_are_taken_out_with_their_declarations(shell: RecordingShell) -> None:
    shell.feed_all("global n\nprobe begin {\n  m = 1\n}\n" + ONE)
    before = shell.script
    shell.feed("delete 1")
    assert (shell.script, shell.failed) == (before.replace("global n\n", ""), False)
    shell.script = "global n\nprobe begin {\n  n <<< 1\n}\n" + ONE
    shell.feed("delete 3")
    assert shell.script == "global n\n" + ONE
    shell.feed("delete all")
    assert shell.script == ""


@pytest.mark.parametrize(
    ("first", "rest", "told"),
    [
        ("function f() { return 1 }", "probe begin { println(f()) }", "unresolved function f"),
        ("global a", "probe begin { a[1] = 2 }", "unresolved arity-1 global array a, missing"),
        ("global n", "probe begin { println(n++) }", "unresolved global n, missing global decl"),
        ("global n", "probe begin { n = 1 println(n) }", "unresolved global n, missing"),
        ("global n", "function unused() { return n }", "unresolved global n, missing"),
        ("global n", "global a\nprobe end { foreach (n in a) exit() }", "unresolved global n"),
        ("global e", "probe end { try { exit() } catch (e) { } }", "unresolved global e"),
    ],
)
def test_nothing_is_taken_out_that_others_need(
    shell: RecordingShell, first: str, rest: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A scalar, too, which would be a local of each probe without a word."""
    shell.script = f"{first}\n{rest}\n"
    shell.feed("delete 1")
    said = capsys.readouterr().err
    assert told in said and said.count("semantic error") == 1, said
    assert shell.script.startswith(first)


def test_a_parameter_needs_no_global_of_its_name(shell: RecordingShell) -> None:
    shell.script = "global n\nfunction f(n) { return n + 1 }\nprobe begin { println(f(1)) }\n"
    shell.feed("delete 1")
    assert (shell.script.startswith("function f(n)"), shell.failed) == (True, False)


def test_files(shell: RecordingShell, capsys: pytest.CaptureFixture[str]) -> None:
    """A file with mistakes changes nothing; another file is written over only when asked to."""
    Path("a.stp").write_bytes(b"\xef\xbb\xbf" + ONE.encode())
    Path("bad.stp").write_text("probe begin {")
    shell.feed_all("load a.stp\nload bad.stp")
    assert "parse error" in capsys.readouterr().err
    assert shell.script == ONE
    shell.feed_all("save bad.stp")
    assert "'save -f bad.stp' writes over it" in capsys.readouterr().err
    assert Path("bad.stp").read_text() == "probe begin {"
    shell.feed_all("save -f bad.stp\nglobal x\nsave")
    assert Path("bad.stp").read_text() == ONE + "global x\n"


def test_a_disk_that_is_full_loses_no_file(
    shell: RecordingShell, capsys: pytest.CaptureFixture[str]
) -> None:
    """The old content stays, and of a new file nothing, so that it may be tried again."""
    Path("a.stp").write_text(ONE)
    shell.feed_all("load a.stp\nglobal x")
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limit[1]))
    try:
        shell.feed_all("save\nsave new.stp")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, before)
    assert capsys.readouterr().err.count("File too large") == 2
    assert os.listdir() == ["a.stp"]  # noqa: PTH208
    assert Path("a.stp").read_text() == ONE
    shell.feed("save")
    assert Path("a.stp").read_text() == ONE + "global x\n"


def test_what_is_declared_beside_a_draft_is_in_it(
    shell: RecordingShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.on_terminal = True
    Path("bad.stp").write_text("probe begin { nosuch() }\n")
    shell.feed("load bad.stp")
    assert shell.draft == "probe begin { nosuch() }\n"
    shell.feed_all("global kept")
    monkeypatch.setenv("VISUAL", "sed -i s/nosuch/exit/")
    shell.feed("edit")
    assert shell.script == "probe begin { exit() }\nglobal kept\n"


BESIDE = "probe begin { nosuch() }\n"  # a draft: it has a mistake


@pytest.mark.parametrize(
    ("draft", "line", "told", "script", "left"),
    [
        (BESIDE + "global kept\n" + ONE, "delete 1", "", ONE, BESIDE + ONE),
        (BESIDE + "global changed\n" + ONE, "delete 1", "the draft", "global kept\n" + ONE, None),
        ("/*\nglobal kept\n*/\n" + BESIDE, "delete 1", "the draft", "global kept\n" + ONE, None),
        (BESIDE, "delete draft", "", "global kept\n" + ONE, ""),
        (BESIDE, "delete all", "", "", ""),
        (BESIDE, "load a.stp", "the draft would be lost", "global kept\n" + ONE, None),
    ],
)
def test_a_draft_loses_what_is_deleted_and_nothing_else(
    shell: RecordingShell,
    draft: str,
    line: str,
    told: str,
    script: str,
    left: str | None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What is deleted does not come back by the next `edit`; no text is dropped in silence."""
    Path("a.stp").write_text(ONE)
    shell.script, shell.draft = "global kept\n" + ONE, draft
    shell.feed(line)
    said = capsys.readouterr().err
    assert told in said if told else not said, said
    assert (shell.script, shell.draft) == (script, draft if left is None else left)


def test_a_mistake_of_ours_ends_no_shell(
    shell: RecordingShell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a terminal it is reported, and the script is still there."""
    shell.on_terminal = True
    monkeypatch.setenv("TMPDIR", os.getcwd())  # noqa: PTH109
    monkeypatch.setitem(commands._OBEY, "list", lambda *_: {}["no such key"])
    shell.feed_all(ONE + "list")
    assert "this is a mistake in stapy" in capsys.readouterr().err
    assert "no such key" in next(Path().glob("stapy-bug-*")).read_text()
    assert (shell.script, shell.failed, shell.doing) == (ONE, True, "")


def test_an_editor(
    shell: RecordingShell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What it leaves is the script; with mistakes it is kept for the next `edit`."""
    shell.on_terminal = True
    shell.script = ONE
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    monkeypatch.setenv("VISUAL", "sed -i s/1/nosuch(2)/")
    shell.feed("edit")
    assert "unresolved function nosuch" in capsys.readouterr().err
    assert shell.script == ONE
    monkeypatch.setenv("VISUAL", "sed -i s/nosuch//")
    shell.feed("edit")
    assert shell.script == "probe begin { println((2)) }\n"
    for editor, told in (("false", "ended with status 1"), ("/no/such", "cannot run '/no/such'")):
        monkeypatch.setenv("VISUAL", editor)
        shell.feed("edit")
        assert told in capsys.readouterr().err
    assert shell.script == "probe begin { println((2)) }\n"
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == blocked


@pytest.mark.parametrize(
    ("typed", "expected", "word"),
    [
        ("s", ["save", "set", "show"], "s"),
        ("pr", ["private", "probe"], "pr"),
        ("help un", ["unset"], "un"),
        ("load sc", ["scripts/"], "sc"),
        ("save scripts/", ["scripts/a.stp"], "scripts/"),
        ("add pa", ["path"], "pa"),
        ("add path ", ["scripts/"], ""),
        ("set --message-format=js", ["--message-format=json"], "--message-format=js"),
        ("unset -", ["-r"], "-"),
        ('list kernel.function("vfs_r', ["vfs_read", "vfs_readv"], "vfs_r"),
        ('run probe kernel.function("vfs_read").ret', ["return"], "ret"),
        ('probe kernel.function("vfs_read") { x = $fi', ["$file"], "$fi"),
        ("probe begin { count", ["counted"], "count"),
        ("exit ", [], ""),
    ],
)
def test_offers(
    shell: RecordingShell, bench: Bench, typed: str, expected: list[str], word: str
) -> None:
    shell.script = "global counted\n"
    Path("scripts").mkdir()
    Path("scripts/a.stp").touch()
    found, typed_word = offers(shell, bench, typed)
    assert ([one.text for one in found], typed_word) == (expected, word)


@pytest.fixture(scope="module")
def bench(tree: str) -> Bench:
    return Bench(find_kernel(tree, Diagnostics(SourceMap())), Options())


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("prob", "probe"),
        ("probe syscall.openat", "openat2"),
        ("probe kernel.func", 'function("'),
        ("probe begin { execn", "execname"),
        ("probe begin { whil", "while"),
    ],
)
def test_offers_without_a_kernel(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, typed: str, expected: str
) -> None:
    """The language, points and the library are there, whatever kernel the options name."""
    monkeypatch.chdir(tmp_path)
    shell = RecordingShell(["-i", "-r", "9.9.9-nosuch"])
    found, _ = offers(shell, terminal.answers(shell.settings.options), typed)
    assert expected in [one.text for one in found]


@pytest.mark.parametrize(
    "words", [["-l", "begin"], ["--example"], ["-"], ["--language-server"], ["--dump-functions"]]
)
def test_what_does_not_go_with_it(words: list[str]) -> None:
    with pytest.raises(UsageError, match="-i"):
        Settings(["-i", *words], "")


@pytest.mark.parametrize("name", ["VISUAL", "EDITOR"])
def test_the_editor_is_the_users(
    name: str, shell: RecordingShell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The variable may have words behind the program's name; $VISUAL comes before $EDITOR."""
    monkeypatch.setenv("EDITOR", "false")
    monkeypatch.delenv("VISUAL", raising=False)
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\n[ "$1" = -w ] && echo "probe end { println(2) }" >>"$2"\n')
    editor.chmod(0o755)
    monkeypatch.setenv(name, f"{editor} -w")
    shell.on_terminal = True
    shell.script = ONE
    shell.feed("edit")
    assert (shell.script, shell.failed) == (ONE + "probe end { println(2) }\n", False)
