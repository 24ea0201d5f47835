"""Tools are started in a clean environment and never left behind."""

from __future__ import annotations

import os
import resource
import signal
import sys
from pathlib import Path

import pytest

from stapy.build.process import Process, clean_environment, find_program, run, run_many
from stapy.temporary import scratch_root, temporary_folder


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


def test_interrupt_ends_the_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    process = Process(["sleep", "60"])

    def interrupted(*_: object) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "read", interrupted)
    with pytest.raises(KeyboardInterrupt):
        process.wait()
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)


def test_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ARCH", "CC", "KBUILD_OUTPUT", "MAKEFLAGS", "CPATH", "LC_ALL"):
        monkeypatch.setenv(name, "users")
    monkeypatch.setenv("HARMLESS", "stays")
    found = clean_environment({"SRCARCH": "x86"})
    assert found["LC_ALL"] == "C"
    assert found["SRCARCH"] == "x86"
    assert found["HARMLESS"] == "stays"
    assert not {"ARCH", "CC", "KBUILD_OUTPUT", "MAKEFLAGS", "CPATH"} & set(found)


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


def test_temporary_folder_goes_away() -> None:
    with pytest.raises(KeyboardInterrupt), temporary_folder("test") as folder:
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
