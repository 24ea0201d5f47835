"""SIGTERM and SIGHUP before pass 5 and in tools: nothing stays, and the status tells the signal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stapy import ending
from stapy.ending import Ended, EndingSignals, cleaning_up, heard
from stapy.vm import kernels
from tests.editor.support import make_tree

ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 120.0

# The program, in which one step has made files and started a program when it says so.
SLOW = r"""
import os, sys
from stapy.build.process import run
from stapy.session import checks, modules
from stapy.session.passes import Passes
from stapy.cli import main

def slow(self, *words):
    (self.work_folder() / "file").touch()
    print("here", flush=True)
    run(["sh", "-c", "sleep 600 & echo $! >$1/child; wait", "sh", os.environ["TMPDIR"] + "/.."])

setattr(Passes, sys.argv[1], slow)
checks.check_tree = checks.check_host = lambda *words: None
modules.recall = lambda *words: None
sys.exit(main(sys.argv[2:]))
"""
# `stapy report` in whose place of ours a program stands that removes its folder when it is told.
REPORTED = r"""
import os, sys
from stapy.tools import report
from stapy.cli import main
program = 'trap "rm -r $TMPDIR/folder; exit" TERM; mkdir $TMPDIR/folder; cd $TMPDIR/folder; ' \
          'touch file; while :; do sleep 0.1; done'
real = report._said
report._said = lambda words, environment: real(["sh", "-c", program], environment)
sys.exit(main(sys.argv[1:]))
"""
SCRIPT = 'global x probe kernel.function("vfs_read") { x++ } probe end { println(x) }'


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    (tmp_path / "scratch").mkdir(mode=0o700)
    return tmp_path / "scratch"


def start(words: list[str], scratch: Path, *before: str, **more: Any) -> subprocess.Popen[str]:
    """Start a program of ours whose temporary folders lie in ``scratch``."""
    return subprocess.Popen(
        [*before, sys.executable, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(scratch), "XDG_CACHE_HOME": f"{scratch}/../cache"},
        **more,
    )


def wait_for(holds: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < until, f"in {PATIENCE} s there was no {what}"
        time.sleep(0.02)


def is_running(pid: int) -> bool:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return text.rpartition(")")[2].split()[0] not in "ZX"


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("step", ["parse", "elaborate", "translate", "build"])
def test_each_pass(tmp_path: Path, scratch: Path, step: str, number: signal.Signals) -> None:
    tree = make_tree(tmp_path)
    words = ["-c", SLOW, step, "-p4", "-r", f"{tree}/", "-e", SCRIPT]
    with start(words, scratch) as process:
        assert process.stdout
        said = process.stdout.readline()
        assert said == "here\n", said + process.stdout.read()
        assert len(list(scratch.glob("stapy-session-*/file"))) == 1
        child = tmp_path / "child"
        wait_for(lambda: child.exists() and child.read_text().endswith("\n"), "child")
        process.send_signal(number)
        said = process.communicate(timeout=PATIENCE)[0]
    assert (process.returncode, said) == (128 + number, ""), (process.returncode, said)
    assert list(scratch.iterdir()) == []
    wait_for(lambda: not is_running(int(child.read_text())), "end of the child")


@pytest.mark.slow
def test_nohup(tmp_path: Path, scratch: Path) -> None:
    """What is ignored when the program begins stays so."""
    tree = make_tree(tmp_path)
    words = ["-c", SLOW, "parse", "-p4", "-r", f"{tree}/", "-e", SCRIPT]
    with start(words, scratch, "nohup") as process:
        assert process.stdout
        said = ""
        while "here\n" not in said:
            line = process.stdout.readline()
            assert line, said
            said += line
        process.send_signal(signal.SIGHUP)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1)
        process.terminate()
        said = process.communicate(timeout=PATIENCE)[0]
    assert process.returncode == 128 + signal.SIGTERM, (process.returncode, said)
    assert list(scratch.iterdir()) == []


@pytest.mark.slow
def test_a_compiler_at_work(tmp_path: Path, scratch: Path) -> None:
    """Of ``stapy dtrace -G``, whose compiler says that it has begun."""
    compiler, marks = tmp_path / "slow-cc", tmp_path / "x.d"
    compiler.write_text("#!/bin/sh\necho here >&2; exec sleep 600\n")
    compiler.chmod(0o755)
    marks.write_text("provider p { probe one(); };\n")
    words = ["-m", "stapy", "dtrace", "-G", "-s", str(marks), "-o", str(tmp_path / "x.o")]
    with start(words, scratch, "env", f"CC={compiler}") as process:
        wait_for(lambda: bool(list(scratch.glob("stapy-dtrace-*/counters.c"))), "folder")
        process.terminate()
        said = process.communicate(timeout=PATIENCE)[0]
    assert process.returncode == 128 + signal.SIGTERM, (process.returncode, said)
    assert list(scratch.iterdir()) == []


def started_below(scratch: Path) -> list[str]:
    """List the programs that run with a temporary folder below ``scratch``."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if f"TMPDIR={scratch}".encode() in (place / "environ").read_bytes():
                found.append((place / "comm").read_text().strip())
        except OSError:
            continue
    return found


@pytest.mark.build
def test_a_real_compiler(tmp_path: Path, scratch: Path) -> None:
    """The kit is made by a child of ours, the compilers are children of both."""
    release = next(iter(kernels.lines()), "")
    if not release:
        pytest.skip("no kernel is installed")
    words = ["-m", "stapy", "-p4", "-r", release, "-e", SCRIPT]
    with start(words, scratch) as process:
        wait_for(lambda: "cc1" in started_below(scratch) or process.poll() is not None, "compiler")
        process.terminate()
        said = process.communicate(timeout=PATIENCE)[0]
    assert process.returncode == 128 + signal.SIGTERM, (process.returncode, said)
    assert list(scratch.iterdir()) == []
    wait_for(lambda: not started_below(scratch), "end of the compilers")


@pytest.mark.slow
def test_report_ends_what_it_repeats(tmp_path: Path, scratch: Path) -> None:
    """The command that `stapy report` repeats removes its own folder."""
    tree = make_tree(tmp_path)
    words = ["-c", REPORTED, "report", "-y", "-o", str(tmp_path / "x.tar.gz")]
    words += ["--", "-r", f"{tree}/", "-e", SCRIPT]
    with start(words, scratch) as process:
        wait_for(lambda: bool(list(scratch.glob("folder/file"))), "folder")
        process.terminate()
        said = process.communicate(timeout=PATIENCE)[0]
    assert process.returncode == 128 + signal.SIGTERM, (process.returncode, said)
    assert list(scratch.iterdir()) == []


# --- the handler -------------------------------------------------------------------


def test_raised_once() -> None:
    """A terminal that closes says so twice: the second one must not end what the first began."""
    with EndingSignals() as signals:
        with pytest.raises(Ended):
            signal.raise_signal(signal.SIGHUP)
        signal.raise_signal(signal.SIGHUP)
        signal.raise_signal(signal.SIGTERM)
    assert signals.status(1) == 128 + signal.SIGHUP
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_who_insists_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(ending.time, "monotonic", lambda: now[0])
    with EndingSignals():
        with pytest.raises(Ended):
            signal.raise_signal(signal.SIGTERM)
        now[0] += 60
        with pytest.raises(Ended):
            signal.raise_signal(signal.SIGTERM)


def test_cleaning_up_comes_to_its_end() -> None:
    done = []
    with EndingSignals() as signals, pytest.raises(Ended):
        with cleaning_up():
            with cleaning_up():
                signal.raise_signal(signal.SIGTERM)
                done.append("inner")
            done.append("outer")
        done.append("behind")
    assert done == ["inner", "outer"]
    assert signals.status(0) == 128 + signal.SIGTERM


def test_no_signal_leaves_the_status() -> None:
    with EndingSignals() as signals, cleaning_up():
        pass
    assert signals.status(3) == 3


def test_handlers_of_others_stay() -> None:
    old = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with EndingSignals():
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
            signal.raise_signal(signal.SIGHUP)
            assert heard((signal.SIGTERM, signal.SIGHUP)) == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGHUP, old)
    assert heard((signal.SIGTERM, signal.SIGHUP)) == [signal.SIGTERM, signal.SIGHUP]


@pytest.mark.parametrize("module", ["stapy", "stapy.run"])
def test_control_c_while_the_program_is_loaded(module: str) -> None:
    """Nobody hears it yet: Python would print where its imports were."""
    program = (
        "import os, runpy, signal, sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name in ('stapy.cli.parsing', 'stapy.run.consumer'):\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "sys.meta_path.insert(0, Finder())\n"
        f"sys.argv = ['x', '--version']\n"
        f"runpy.run_module({module!r}, run_name='__main__', alter_sys=True)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")
