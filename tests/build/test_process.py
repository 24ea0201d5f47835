"""Tools are started in a clean environment and never left behind."""

from __future__ import annotations

import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stapy.build.process import clean_environment, find_program, run, run_many
from stapy.temporary import TemporaryFolder, scratch_root


@pytest.mark.parametrize(
    ("script", "status", "output"),
    [
        ("echo out; echo err >&2", 0, "out\nerr\n"),
        ("exit 3", 3, ""),
        ("kill -9 $$", -9, ""),
        ("cat", 0, ""),
        ("printf '\\377'", 0, "\ufffd"),
    ],
)
def test_run(script: str, status: int, output: str) -> None:
    done = run(["sh", "-c", script])
    assert (done.status, done.output) == (status, output)


def test_output_larger_than_a_pipe() -> None:
    done = run(["sh", "-c", "head -c 300000 /dev/zero | tr '\\0' x"])
    assert len(done.output) == 300000


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_missing_program() -> None:
    before = open_files()
    with pytest.raises(OSError, match="No such file"):
        run(["/no/such/program"])
    assert open_files() == before


def test_cpu_time_is_the_tools() -> None:
    done = run([sys.executable, "-c", "sum(range(5_000_000))"])
    assert done.cpu > 0.02


def test_run_many_keeps_the_order() -> None:
    commands = [["sh", "-c", f"echo {n}; exit {n}"] for n in range(5)]
    assert [(r.status, r.output) for r in run_many(commands, {}, 2)] == [
        (n, f"{n}\n") for n in range(5)
    ]


@pytest.fixture
def interrupts() -> Iterator[None]:
    """SIGINT raises, also where it was ignored when the tests were started (``nohup … &``)."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


DRIVER = "(sleep 0.3; echo late > {0}/file) & echo $! > {0}/child; wait"


@pytest.mark.usefixtures("interrupts")
def test_interrupt_ends_the_tool_and_what_it_started(tmp_path: Path) -> None:
    """A compiler goes on when its driver is killed: it would write where we clean up."""
    waiting = threading.Timer(0, interrupt_when, [tmp_path / "child"])
    before = children()
    waiting.start()
    with pytest.raises(KeyboardInterrupt):
        run(["sh", "-c", f"sleep 60 & {DRIVER.format(tmp_path)}"])
    waiting.join()
    assert children() <= before
    time.sleep(0.4)
    assert not (tmp_path / "file").exists()


def children() -> set[str]:
    """List the processes that we started, zombies among them: guests of other tests may run."""
    lists = [task / "children" for task in Path("/proc/self/task").iterdir()]
    return {pid for file in lists for pid in file.read_text().split()}


def interrupt_when(file: Path) -> None:
    while not file.exists():
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.usefixtures("interrupts")
def test_interrupt_behind_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal that comes while a tool is started finds it among those that run."""
    real, started = os.posix_spawnp, []

    def interrupted(*words: Any, **named: Any) -> int:
        started.append(real(*words, **named))
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        return started[-1]

    monkeypatch.setattr(os, "posix_spawnp", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(["sleep", "60"])
    with pytest.raises(ProcessLookupError):
        os.kill(started[0], 0)


def test_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    others = {"ARCH", "CC", "LLVM", "LLVM_IAS", "KBUILD_OUTPUT", "MAKEFLAGS", "CPATH"}
    for name in (*others, "LC_ALL"):
        monkeypatch.setenv(name, "users")
    monkeypatch.setenv("HARMLESS", "stays")
    found = clean_environment({"SRCARCH": "x86"})
    assert found["LC_ALL"] == "C"
    assert found["SRCARCH"] == "x86"
    assert found["HARMLESS"] == "stays"
    assert not others & set(found)


def test_find_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tool").write_text("")
    (tmp_path / "made").write_text("")
    (tmp_path / "made").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/none:{tmp_path}")
    assert find_program("tool") is None, "it cannot be executed"
    assert find_program("made") == str(tmp_path / "made")
    assert find_program(str(tmp_path / "made")) == str(tmp_path / "made")
    assert find_program("absent") is None


@pytest.mark.parametrize(
    ("value", "usable"), [("{tmp}", True), ("{tmp}/a b", False), ("/no/such", False), ("x", False)]
)
def test_scratch_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str, usable: bool
) -> None:
    folder = value.format(tmp=tmp_path)
    if " " in folder:
        Path(folder).mkdir()
    monkeypatch.setenv("TMPDIR", folder)
    assert (scratch_root() == folder) is usable


def test_TemporaryFolder_goes_away() -> None:
    with pytest.raises(KeyboardInterrupt), TemporaryFolder("test") as folder:
        (folder / "x").mkdir()
        raise KeyboardInterrupt
    assert not folder.exists()


def test_tools_get_our_signals_handled() -> None:
    """SIGPIPE and friends are as a shell would have them."""
    done = run(["sh", "-c", "kill -PIPE $$"])
    assert done.status == -signal.SIGPIPE


def test_many_with_many_files_open() -> None:
    """A script may have looked into thousands of modules before."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    opened = []
    try:
        while not opened or opened[-1] < 1100:
            opened.append(os.open(os.devnull, os.O_RDONLY))
        results = run_many([["echo", word] for word in "abc"], dict(os.environ), 2)
    finally:
        for file in opened:
            os.close(file)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert [result.output for result in results] == ["a\n", "b\n", "c\n"]
