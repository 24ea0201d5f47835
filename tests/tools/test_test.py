"""``stapy test``: files of cases, what is compared and how it is told, processes that are run."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from stapy import cli
from stapy.testing import companion, running
from stapy.testing.companion import CompanionError
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
        open("begun", "w").close()
        try:
            time.sleep(3600)
        finally:
            print("end")
    if what == "endless":
        while True:
            sys.stdout.write("x" * 65536)
    if what == "reads":
        print("read", repr(sys.stdin.read()))
    if what == "background":
        sys.stdout.flush()
        print("child", os.posix_spawn("/bin/sleep", ["sleep", "999"], os.environ))
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


# --- what is run ----------------------------------------------------------------------


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
        ("-g --", "'--' is none (the script's own are 'arguments')"),
        ("-- b.stp", "'--' is none"),
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


@pytest.mark.parametrize("first", ["-u --", "-u"])
def test_hyphens_that_end_the_options(folder: Path, first: str) -> None:
    """Behind those of a first line the script would come; elsewhere they would end ours."""
    Path("a.stp").write_text(f"#! /usr/bin/env -S stapy {first}\nprobe begin {{}}\n")
    cases('[case.x]\noptions = ["-c", "--"]\n')  # the value of an option
    (case,) = companion.read(Path("a.test.toml")).cases
    case.options = ["-E", "--"]
    line = running.words(case, folder, ["-g"], None)
    assert line == ["--color=never", "-u", "-g", "-E", "--", "--", "a.stp"]
    for more in (["--"], ["-g", "--"]):
        with pytest.raises(CompanionError, match="'--' is none"):
            running.words(case, folder, more, None)


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
    if what in ("hangs", "deaf"):  # no time passes before the session is as far
        clock = SimpleNamespace(
            monotonic=lambda: time.monotonic() if Path("begun").exists() else 0.0, sleep=time.sleep
        )
        monkeypatch.setattr(running, "time", clock)
    seconds = 60 if what in ("0", "3", "killed", "endless") else 0.4
    cases(f'[case.x]\narguments = ["{what}"]\ntimeout = {seconds}\n')
    assert stapy_test("a.stp") == status
    assert told in capsys.readouterr().out


def test_nothing_in_the_background_outlives_a_case(folder: Path) -> None:
    (folder / "out").mkdir()
    ending = running.run(["background"], folder, 60)
    child = int(re.findall(r"^child (\d+)$", ending.stdout, re.MULTILINE)[0])
    stat = Path(f"/proc/{child}/stat")
    for _ in range(3000):
        if not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z":
            return  # who takes over orphans here may be slow to bury them
        time.sleep(0.02)
    raise AssertionError("it lives")


def test_what_is_read_moves_no_writer() -> None:
    """Who still writes has the same place in the file: it must stay at the end."""
    with tempfile.TemporaryFile(buffering=0) as file:
        file.write(b"one\n")
        assert running._text(file) == "one\n"
        os.write(os.dup(file.fileno()), b"two\n")
        assert running._text(file) == "one\ntwo\n"
        assert file.tell() == 8
        file.seek(2)
        running._text(file)
        assert file.tell() == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_session_before_us(folder: Path, number: int) -> None:
    """The session hears SIGTERM and runs to its end, and nothing of it is left."""
    cases('[case.x]\narguments = ["hangs"]\n')
    # A run in the background of a script has SIGINT ignored, and so has what it starts.
    program = (
        "import signal, sys\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from stapy import cli\nfrom stapy.testing import running\nreal = cli.main\n"
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


# --- the command line -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["a.stp"], "'a.stp' has no cases: there is no file 'a.test.toml'"),
        (["gone.stp"], "'gone.stp': No such file or directory"),
        (["n" * 300], "File name too long"),
        (["probe begin { exit() }"], "its file is wanted, with its cases beside it in NAME.test"),
        ([f"--vm={'6' * 5000}", "a.stp"], "--vm: no kernel 666"),
        (["-o", "n" * 300, "a.stp"], "cannot be written: File name too long"),
        (["-o", "/dev/full", "-k", "none", "a.stp"], "'a.stp' has no cases"),
        (["."], "'.': no file *.test.toml is in this folder"),
        (["--vm", "6.1", "a.stp"], "'6.1' stands where files do; did you mean --vm=6.1?"),
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
    out, err = capsys.readouterr()
    assert out.endswith("1 passed\n") and "nothing was tried" not in err
    assert stapy_test("-k", "nosuch", "a.stp") == 2
    assert "no case has 'nosuch' in its name" in capsys.readouterr().err
    cases(THREE.replace('"one"', '"zero"').replace('"two"', '"one"').replace('"zero"', '"two"'))
    assert stapy_test("-x", "a.stp", "--", "--nosuch") == 2
    assert capsys.readouterr().out.endswith("1 unusable\n")


@pytest.mark.parametrize("form", ["rich", "json", "junit"])
@pytest.mark.parametrize(
    ("many", "told"), [(1, "the only case was skipped"), (2, "all 2 cases were skipped")]
)
def test_nothing_was_tried(
    form: str, many: int, told: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run that tried nothing is no failure, but does not look like a success."""
    cases("".join(f'[case.{name}]\nkernel = {{ below = "2.6" }}\n' for name in "ab"[:many]))
    assert stapy_test(f"--message-format={form}", "a.stp") == 0
    out, err = capsys.readouterr()
    assert err == f"WARNING: stapy test: nothing was tried: {told} (it is for other kernels)\n"
    assert "skipped" in out


@pytest.mark.parametrize("form", ["rich", "json", "junit"])
def test_a_full_disk_is_told(folder: Path, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    cases("[case.x]")
    assert stapy_test("--message-format", form, "-o", "/dev/full", "a.stp") == 2
    said = capsys.readouterr()
    assert "1 passed\n" in said.out
    assert said.err == (
        "ERROR: stapy test: '/dev/full' cannot be written: No space left on device\n"
    )


def test_what_was_written_stays_when_a_run_is_cut_off(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cases("[case.x]")
    Path("log").write_text("before")

    def cut_off(*_: object) -> Ending:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(running, "run", cut_off)
        for name in ("log", "fresh"):
            with pytest.raises(KeyboardInterrupt):
                stapy_test("-o", name, "a.stp")
    assert stapy_test("-o", "log", "-k", "nosuch", "a.stp") == 2
    assert Path("log").read_text() == "before"
    assert sorted(path.name for path in Path().iterdir()) == ["a.stp", "a.test.toml", "log"]
    assert stapy_test("-o", "log", "a.stp") == 0
    assert Path("log").read_text().endswith("1 passed\n")


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
