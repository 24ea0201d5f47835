"""``stapy test``: files of cases, what is compared and how it is told, processes that are run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

from stapy import cli
from stapy.testing import companion, comparing, running
from stapy.testing.companion import CompanionError, Pattern
from stapy.testing.running import Ending

ROOT = Path(__file__).resolve().parents[2]

# What a session is replaced by: the name of the script's case says what it does.
SESSION = r"""
import os, signal, sys, time

def main(words):
    what = words[-1]
    print("words", *words)
    print("in", os.path.basename(os.getcwd()), file=sys.stderr)
    if what == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if what in ("deaf", "hangs"):
        sys.stdout.flush()
        try:
            time.sleep(3600)
        finally:
            print("end")
    if what == "endless":
        while True:
            sys.stdout.write("x" * 65536)
    if what == "reads":
        print("read", repr(sys.stdin.read()))
    if what == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    return int(what) if what.isdecimal() else 0
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a folder with a script; what would be a session says its words."""
    space: dict[str, object] = {}
    exec(SESSION, space)
    monkeypatch.setattr(running.cli, "main", space["main"])
    monkeypatch.setattr(running, "GRACE", 0.3)
    monkeypatch.chdir(tmp_path)
    Path("a.stp").write_text("probe begin { exit() }\n")
    return tmp_path


def cases(text: str, name: str = "a.test.toml") -> None:
    Path(name).write_text(text)


def stapy_test(*words: str) -> int:
    # `cli.main` is the fake for cases
    from stapy.tools import test

    return test.main(list(words))


# --- what a file of cases may say -----------------------------------------------------


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "there is no case: a table [case.NAME] is one"),
        ("x = [", "Invalid value (at end of document)"),
        ("[case.x]\nexpct = []", "case 'x': unknown key 'expct'; did you mean 'expect'?"),
        ("[case.x]\nzzz = 1", "unknown key 'zzz'; the keys are options, arguments, command, exp"),
        ("[defaults]\nstauts = 1\n[case.x]", "defaults: unknown key 'stauts'; did you mean"),
        ("cases = 1", "unknown key 'cases'; did you mean 'case'?"),
        ("[case]\nx = 1", "'case.x' must be a table"),
        ("case = 1", "'case' must be a table"),
        ('script = "gone.stp"\n[case.x]', "there is no script 'gone.stp'"),
        ("[case.x]\nexpect = 1", "'expect' must be a list, or a string with the lines"),
        ("[case.x]\nexpect = [1]", "case 'x': 'expect' must be a string"),
        ('[case.x]\nexpect = [{ re = "(" }]', "'expect': /(/ is no expression: missing )"),
        ('[case.x]\nexpect = [{ rx = "a" }]', "a table here is { re = … } or { part = … }"),
        ('[case.x]\nexpect = [{ re = "a", part = "b" }]', "a table here is { re = … }"),
        ('[case.x]\nnever = [{ part = "" }]', "an empty 'part' would be any line"),
        ('[case.x]\nstderr = ["a\\nb"]', "each element is about one line, this one has several"),
        ('[case.x]\nexpect = []\noutput = ""\n', None),
        ('[case.x]\nexpect = ["a"]\noutput = ""\n', "'expect' has no place beside"),
        ('[case.x]\noptions = "\'"', "'options': No closing quotation"),
        ("[case.x]\noptions = [1]", "'options' must be a string"),
        ("[case.x]\narguments = 1", "'arguments' must be a string, or a list of strings"),
        ('[case.x]\ncommand = "a\\u0000"', "'command' has a byte of 0"),
        ("[case.x]\nstatus = 256", "'status' must be a number from 0 to 255"),
        ("[case.x]\nstatus = true", "'status' must be a number from 0 to 255"),
        ("[case.x]\ntimeout = 0", "'timeout' must be a number of seconds above 0"),
        ("[case.x]\ntimeout = nan", "'timeout' must be a number of seconds above 0"),
        ('[case.x]\nkernel = { from = "new" }', "'kernel.from': 'new' is no version such as 6.12"),
        ('[case.x]\nkernel = { to = "6.1" }', "kernel: unknown key 'to'"),
        ('[case.x]\nkernel = "6.1"', "'kernel' must be a table"),
    ],
)  # fmt: skip
def test_files_of_cases(folder: Path, text: str, told: str | None) -> None:
    cases(text)
    if told is None:
        assert companion.read(Path("a.test.toml")).cases
        return
    with pytest.raises(CompanionError) as error:
        companion.read(Path("a.test.toml"))
    assert str(error.value).startswith("'a.test.toml': ") and told in str(error.value)


def test_defaults_are_for_all_cases(folder: Path) -> None:
    cases('[defaults]\nstatus = 3\noptions = "-g -u"\n[case.x]\n[case.y]\nstatus = 4\n')
    one, other = companion.read(Path("a.test.toml")).cases
    assert (one.status, one.options, one.timeout) == (3, ["-g", "-u"], companion.SECONDS)
    assert (other.name, other.status, other.options) == ("y", 4, ["-g", "-u"])


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("--vm", "--vm is 'stapy test --vm'"),
        ("-c date", "-c is the key 'command'"),
        ("--remote web1", "--remote has no place in a case"),
        ("-i", "-i waits for somebody who types"),
        ("-l begin", "-l and -L take a probe point, not a script"),
        ("--monitor", "--monitor is for terminals"),
        ("-e x", "Only one script can be given"),
        ("b.stp", "'b.stp' is none (the script's own are 'arguments')"),
        ("--nosuch", "unknown option '--nosuch'"),
    ],
)
def test_options_that_have_no_place(
    folder: Path, options: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    cases(f'[case.x]\noptions = "{options}"\n[case.y]')
    assert stapy_test("a.stp") == 2
    first, second, count = capsys.readouterr().out.splitlines()
    assert first.startswith("ERROR   a.stp: x") and told in first
    assert second.startswith("ok      a.stp: y") and count == "1 passed, 1 unusable"


# --- what is run ----------------------------------------------------------------------


def test_words_of_the_session(folder: Path) -> None:
    Path("a.stp").write_text("#! /usr/bin/env -S stap -g\nprobe begin {}\n")
    cases('[case.x]\noptions = ["-u"]\ncommand = "echo a"\narguments = ["-1", "b c"]')
    (case,) = companion.read(Path("a.test.toml")).cases
    line = running.words(case, folder, ["-v"], "6.1")
    assert line == ["--vm=6.1", "--color=never", "-g", "-v", "-u", "-c", "echo a", "--", "a.stp",
                    "-1", "b c"]  # fmt: skip
    options = cli.parse(line)
    assert (options.script_file, options.arguments) == ("a.stp", ["-1", "b c"])
    assert running.words(case, folder, [], None)[0] == "--color=never"


def test_what_a_case_says_takes_the_place_of_what_all_have(folder: Path) -> None:
    """In silence, as it is meant so: the script's first line, all cases, this one."""
    Path("a.stp").write_text("#! /usr/bin/env -S stapy -T 5 --format=json -I a\nprobe begin {}\n")
    cases('[case.x]\noptions = ["-T", "7", "--color=always"]')
    (case,) = companion.read(Path("a.test.toml")).cases
    line = running.words(case, folder, ["--format=csv", "-I", "b"], None)
    options = cli.parse(line)
    assert (options.timeout, options.format, options.color) == (7.0, "csv", "always")
    assert (options.tapset_dirs, options.notices) == (["a", "b"], [])


def test_a_case_runs_in_the_folder_of_its_file_and_reads_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("sub").mkdir()
    Path("a.stp").rename("sub/a.stp")
    cases('[case.x]\narguments = "reads"\nexpect = ["read \'\'"]\nstderr = ["in sub"]',
          "sub/a.test.toml")  # fmt: skip
    assert stapy_test("sub/a.stp") == 0
    assert stapy_test("sub/a.test.toml") == 0
    assert stapy_test(".") == 0
    assert capsys.readouterr().out.count("ok      sub/a.stp: x") == 3


@pytest.mark.parametrize(
    ("what", "status", "told"),
    [
        ("0", 0, "ok      a.stp: x"),
        ("3", 1, "the exit status is 3, expected 0; on standard error:\n      + in "),
        ("killed", 1, "the exit status is 137, expected 0"),
        ("hangs", 1, "did not end in 0.4 s and was ended; it said:\n      + words --color"),
        ("deaf", 1, "did not end in 0.4 s and was ended"),
        ("endless", 1, "wrote too much and was ended"),
    ],
)
def test_ends(
    folder: Path,
    what: str,
    status: int,
    told: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(running, "MOST", 1 << 20)
    seconds = 60 if what in ("0", "3", "killed", "endless") else 0.4
    cases(f'[case.x]\narguments = ["{what}"]\ntimeout = {seconds}\n')
    assert stapy_test("a.stp") == status
    assert told in capsys.readouterr().out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_session_before_us(folder: Path, number: int) -> None:
    """The session hears SIGTERM and runs to its end, and nothing of it is left."""
    cases('[case.x]\narguments = ["hangs"]\n')
    program = (
        f"import sys\nfrom stapy import cli\nfrom stapy.testing import running\nreal = cli.main\n"
        f"space = {{}}\nexec({SESSION!r}, space)\n"
        "def session(words):\n"
        "    print(__import__('os').getpid(), file=open('pid', 'w'), flush=True)\n"
        "    return cli.told(lambda: space['main'](words), words)\n"
        "cli.main = session\nsys.exit(real(['test', 'a.stp']))\n"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([sys.executable, "-c", program], env=env) as child:
        for _ in range(3000):
            if Path("pid").exists() and Path("pid").read_text():
                break
            time.sleep(0.02)
        session = int(Path("pid").read_text())
        child.send_signal(number)
        assert child.wait(60) == {signal.SIGINT: 1, signal.SIGTERM: 143}[number]
    with pytest.raises(ProcessLookupError):
        os.kill(session, 0)


# --- what is compared -----------------------------------------------------------------

LINE, PART, RE = ("line", "part", "re")


def case_of(**fields: object) -> companion.TestCase:
    return companion.TestCase("x", "a.stp", **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "out", "err", "told"),
    [
        ({"expect": [Pattern(LINE, "a"), Pattern(RE, "^b+$")]}, "a  \nx\nbbb\n", "", ""),
        ({"expect": [Pattern(PART, "b")]}, "abc\n", "", ""),
        ({"expect": [Pattern(LINE, "b")]}, "abc\n", "",
         "1 of 1 expected line did not come on standard output:|- b|+ abc"),
        # In order: what comes before does not count, and what is missing holds up no other.
        ({"expect": [Pattern(LINE, "b"), Pattern(LINE, "a")]}, "a\nb\n", "",
         "1 of 2 expected lines did not come on standard output:|+ a|  b|- a"),
        ({"expect": [Pattern(LINE, "a"), Pattern(RE, "q"), Pattern(LINE, "c")]}, "a\nb\nc\n", "",
         "1 of 3 expected lines did not come on standard output:|  a|- /q/|+ b|  c"),
        # One line is not two.
        ({"expect": [Pattern(LINE, "a"), Pattern(LINE, "a")]}, "a\n", "",
         "1 of 2 expected lines did not come on standard output:|  a|- a"),
        ({"expect": [Pattern(LINE, "q")]}, "".join(f"{n}\n" for n in range(9)), "",
         "1 of 1 expected line did not come on standard output:|- q|+ 0|+ 1|+ 2|+ 3|+ 4|"
         "  … 4 more lines"),
        ({"stderr": [Pattern(LINE, "b"), Pattern(LINE, "a")]}, "", "a\nb\n", ""),
        ({"stderr": [Pattern(PART, "q"), Pattern(LINE, "a")]}, "", "a\n",
         "1 of 2 expected lines did not come on standard error:|- …q…|+ a"),
        ({"never": [Pattern(RE, "b")]}, "a\n", "a\n", ""),
        ({"never": [Pattern(RE, "b")]}, "a\nb\n", "",
         "lines that must not come are on standard output:|+ b   (line 2, is /b/)"),
        ({"never": [Pattern(RE, "b")]}, "", "b\n",
         "lines that must not come are on standard error:|+ b   (line 1, is /b/)"),
        ({"output": "a\nb\n"}, "a \nb\n", "", ""),
        ({"output": "a\nb\n"}, "a\nc\n", "",
         "standard output is another one than expected:|  a|- b|+ c"),
        ({"output": ""}, "--- x\n", "", "standard output is another one than expected:|+ --- x"),
        ({"output": "a\n"}, "a\n" + "b" * 401, "",
         f"standard output is another one than expected:|  a|+ {'b' * 400}… (401 characters)"),
    ],
)  # fmt: skip
def test_comparison(fields: dict[str, object], out: str, err: str, told: str) -> None:
    found = comparing.faults(case_of(**fields), Ending(0, out, err, 1.0))
    assert "|".join("|".join([one.what, *one.lines]) for one in found) == told


def test_what_follows_from_the_first_fault_is_not_told() -> None:
    case = case_of(expect=[Pattern(LINE, "a")])
    refused = Ending(1, "", "parse error: x\nPass 1: parse failed.\n", 1.0)
    (fault,) = comparing.faults(case, refused)
    assert fault.what == ("the exit status is 1, expected 0: no module was made (pass 1);"
                          " on standard error:")  # fmt: skip
    assert fault.lines == ["+ parse error: x", "+ Pass 1: parse failed."]
    assert len(comparing.faults(case, Ending(1, "b\n", "", 1.0))) == 2


# --- the command line -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["a.stp"], "'a.stp' has no cases: there is no file 'a.test.toml'"),
        (["gone.stp"], "'gone.stp': No such file or directory"),
        (["."], "'.': no file *.test.toml is in this folder"),
        (["--vm=1.2", "a.stp"], "--vm: no kernel 1.2 has its image and headers here"),
        (["-o", "gone/x", "a.stp"], "'gone/x' cannot be written: No such file or directory"),
        (["--message-form", "a.stp"], "unknown option '--message-form'; did you mean '--message-"),
        (["--message-format=xml", "a.stp"], "'xml' is not 'rich', 'json' or 'junit'"),
        ([], "the following arguments are required: FILE"),
    ],
)
def test_what_cannot_be_asked(
    folder: Path, words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status = stapy_test(*words)
    except SystemExit as error:
        status = int(str(error.code))
    said = capsys.readouterr()
    assert status == 2 and told in said.out + said.err


def test_a_file_that_cannot_be_used_hides_no_other(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("b.stp").write_text("probe begin {}\n")
    cases("[case.x]\nzzz = 1", "b.test.toml")
    cases("[case.x]")
    assert stapy_test("b.stp", "a.stp") == 2
    said = capsys.readouterr()
    assert said.err.startswith("ERROR: stapy test: 'b.test.toml': case 'x': unknown key 'zzz'")
    assert "ok      a.stp: x" in said.out and said.out.endswith("1 passed, 1 unusable\n")


THREE = """
[case."one"]
[case."two"]
arguments = ["3"]
[case."for others"]
kernel = { from = "1.0", below = "2.6" }
"""


def test_kernels_and_choices(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases(THREE)
    assert stapy_test("a.stp") == 1
    said = capsys.readouterr().out
    release = os.uname().release
    assert f"skipped a.stp: for others  ({release}): it is for other kernels\n" in said
    assert said.endswith("1 passed, 1 failed, 1 skipped\n")
    assert stapy_test("-k", "one", "a.stp") == 0
    assert capsys.readouterr().out.endswith("1 passed\n")
    assert stapy_test("-k", "nosuch", "a.stp") == 2
    assert "no case has 'nosuch' in its name" in capsys.readouterr().err
    cases(THREE.replace('"one"', '"zero"').replace('"two"', '"one"').replace('"zero"', '"two"'))
    assert stapy_test("-x", "a.stp", "--", "--nosuch") == 2
    assert capsys.readouterr().out.endswith("1 unusable\n")


def test_forms(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases(THREE)
    assert stapy_test("--message-format=junit", "-o", "log.xml", "a.stp") == 1
    assert "1 passed, 1 failed, 1 skipped" in capsys.readouterr().out
    (suite,) = ElementTree.parse("log.xml").getroot()
    assert {name: suite.get(name) for name in ("name", "tests", "failures", "errors", "skipped")} \
        == {"name": os.uname().release, "tests": "3", "failures": "1", "errors": "0",
            "skipped": "1"}  # fmt: skip
    one, two, others = suite
    assert (one.get("name"), one.get("classname"), float(one.get("time", "0")) > 0) == \
        ("one", "a.stp", True)  # fmt: skip
    failure = two.find("failure")
    assert failure is not None and "exit status is 3" in failure.get("message", "")
    assert "+ in " in (failure.text or "")
    assert (two.findtext("system-out") or "").startswith("words --color=never")
    assert others.find("skipped") is not None
    assert stapy_test("--message-format=json", "a.stp") == 1
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["state"] for one in told] == ["ok", "failed", "skipped"]
    assert told[1]["status"] == 3 and told[1]["faults"][0]["lines"]
