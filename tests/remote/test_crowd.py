"""A program on many hosts: merged lines, prefixes, signals, hosts that fail; nothing stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stapy.remote.crowd import Crowd
from stapy.remote.hosts import parse
from stapy.remote.merge import LONGEST, LineStream
from stapy.remote.ssh import connect
from stapy.run.output import make_sinks
from tests.remote import stub

ROOT = Path(__file__).resolve().parents[2]
# Names its folder and its process, then waits for a signal, which it tells.
WAITS = """
import os, signal, sys
def end(number, frame):
    os.write(1, b"signal %d\\n" % number)
    os._exit(0)
for number in (2, 15, 1):
    signal.signal(number, end)
os.write(1, b"ready %s\\n" % os.path.dirname(sys.path[0]).encode())
while True:
    signal.pause()
"""


@pytest.fixture
def stubbed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in stub.environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    return tmp_path


@pytest.fixture
def running() -> Iterator[list[subprocess.Popen[str]]]:
    processes: list[subprocess.Popen[str]] = []
    yield processes
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.communicate()


def start(program: str, *words: str, prefixes: bool = True) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.remote.driver", program, "yes" if prefixes else "no", *words],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def result(program: str, *words: str, prefixes: bool = True) -> tuple[int, list[str], list[str]]:
    process = start(program, *words, prefixes=prefixes)
    out, err = process.communicate(timeout=300)
    return process.returncode, out.splitlines(), err.splitlines()


def gone(place: str) -> None:
    """Wait until a folder has gone."""
    for _ in range(3000):
        if not Path(place).exists():
            return
        time.sleep(0.1)
    raise AssertionError(f"{place} was left behind")


def test_lines_of_hosts_are_whole_and_prefixed(stubbed: Path) -> None:
    """Each host writes its lines in pieces; none gets between the pieces of another's."""
    program = (
        "import os, sys, time\n"
        "for n in range(20):\n"
        "    os.write(1, b'%s ' % sys.argv[1].encode()); time.sleep(0.001)\n"
        "    os.write(1, b'%d\\n' % n)\n"
        "os.write(2, b'said\\n')\n"
        "os.write(1, b'no end')"
    )
    status, out, err = result(program, "a", "b", "c")
    assert status == 0, err
    for number, host in enumerate("abc"):
        mine = [line for line in out if line.startswith(f"{number}: ")]
        assert mine == [*(f"{number}: {host} {n}" for n in range(20)), f"{number}: no end"]
    assert len(out) == 63
    assert sorted(err) == ["0: said", "1: said", "2: said"]


def test_without_prefixes(stubbed: Path) -> None:
    status, out, err = result("import sys; print(sys.argv[1], end='')", "a", "b", prefixes=False)
    assert (status, sorted(out), err) == (0, ["a", "b"], [])


def test_hosts_that_fail_are_named_and_the_others_go_on(stubbed: Path) -> None:
    program = "import sys; print('done'); sys.exit(3 if sys.argv[1] == 'bad' else 0)"
    status, out, err = result(program, "dead1", "a", "dying", "bad")
    assert status == 1
    assert sorted(out) == ["1: done", "2: a line", "3: done"]
    lost = sorted(line for line in err if line.startswith("lost "))
    refused = "ssh: connect to host dead1 port 22: Connection refused"
    assert lost == [
        f"lost 0 dead1: the connection is lost ({refused})",
        "lost 2 dying: the connection is lost (Connection reset by peer)",
        "lost 3 bad: stapy-run ended there with status 3",
    ]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_goes_to_all(
    number: signal.Signals, stubbed: Path, running: list[subprocess.Popen[str]]
) -> None:
    process = start(WAITS, "a", "b")
    running.append(process)
    assert process.stdout
    places = [process.stdout.readline().split()[2] for _ in range(2)]
    assert all(Path(place).is_dir() for place in places)
    process.send_signal(number)
    out, err = process.communicate(timeout=300)
    assert sorted(out.splitlines()) == [f"0: signal {number:d}", f"1: signal {number:d}"], err
    assert process.returncode == 0
    assert not any(Path(place).exists() for place in places)  # also of what was interrupted


def test_what_login_scripts_print_is_no_output(stubbed: Path) -> None:
    """Whole lines or not, it comes before the session's own, and is left out."""
    program = "import sys; print(sys.argv[1], flush=True)"
    status, out, err = result(program, "chatty1", "a")
    assert (status, sorted(out), err) == (0, ["0: chatty1", "1: a"], [])
    status, out, err = result(program, "chatty1", prefixes=False)
    assert (status, out, err) == (0, ["chatty1"], [])


@pytest.mark.parametrize(
    ("host", "why"),
    [
        ("none1", "(status 1): This account is currently not available."),
        ("disabled1", "(status 0): This account is disabled."),
        ("mute1", "(status 0)"),
    ],
)
def test_a_host_that_runs_nothing_says_why(host: str, why: str, stubbed: Path) -> None:
    """Whatever its status: what has not begun is no success."""
    status, out, err = result("print(1)", host)
    assert (status, out, err) == (1, [], [f"lost 0 {host}: stapy-run did not begin there {why}"])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_host_that_has_not_begun_is_let_go(
    number: signal.Signals, stubbed: Path, running: list[subprocess.Popen[str]]
) -> None:
    """Nobody there would obey a signal: its login script waits for something."""
    process = start(WAITS, "late1", "a")
    running.append(process)
    assert process.stdout
    assert process.stdout.readline().startswith("1: ready ")
    while not (stubbed / "log.slow").exists():
        time.sleep(0.05)
    process.send_signal(number)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out) == (0, f"1: signal {number:d}\n"), err


def _of_root(crowd: Crowd, script: str, monkeypatch: pytest.MonkeyPatch) -> subprocess.Popen[bytes]:
    """Begin a program that we may send no signal, as sudo on this machine."""

    def refuse(number: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    host = parse("direct://", len(crowd._members))
    crowd.begin(host, ["/bin/sh", "-c", script], b"go\n", is_alone=False)
    process = crowd._members[-1].process
    monkeypatch.setattr(process, "send_signal", refuse)
    return process


@pytest.mark.parametrize("first", ["", "printf 'stapy-remote begins\\n'; "])
def test_what_is_roots_is_let_go_by_its_input(first: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it prints of the session after that makes no difference."""
    lost: list[str] = []
    crowd = Crowd(make_sinks([], None, 0, 0)[0], lambda _, why: lost.append(why), prefixes=True)
    script = "read line; kill -TERM $PPID; cat >/dev/null; "
    asks = _of_root(crowd, f"{script}{first}exit 1", monkeypatch)
    other = _of_root(crowd, "cat >/dev/null; exit 1", monkeypatch)
    assert crowd.run()
    assert (asks.returncode, other.returncode, lost) == (1, 1, [])


def test_what_is_roots_is_left_with_its_pipes(monkeypatch: pytest.MonkeyPatch) -> None:
    crowd = Crowd(make_sinks([], None, 0, 0)[0], lambda _, why: None, prefixes=True)
    reads = _of_root(crowd, "cat >/dev/null; exit 3", monkeypatch)
    writes = _of_root(crowd, "trap '' PIPE; while echo; do :; done; exit 4", monkeypatch)
    crowd.close()
    assert (reads.wait(300), writes.wait(300)) == (3, 4)


def test_a_host_that_is_cut_off_ends_by_itself(
    stubbed: Path, running: list[subprocess.Popen[str]]
) -> None:
    """Nobody is left who could tell it to: kill -9."""
    process = start(WAITS, "a", "b")
    running.append(process)
    assert process.stdout
    places = [process.stdout.readline().split()[2] for _ in range(2)]
    process.kill()
    for place in places:
        gone(place)


def test_a_reader_that_leaves_ends_all(stubbed: Path, running: list[subprocess.Popen[str]]) -> None:
    program = WAITS.replace("signal.pause()", "os.write(1, b'%999d\\n' % 0)")
    process = start(program, "a", "b")
    running.append(process)
    assert process.stdout
    places = set()
    while len(places) < 2:
        words = process.stdout.readline().split()
        places |= {words[2]} if words[1] == "ready" else set()
    process.stdout.close()
    process.wait(300)
    for place in places:
        gone(place)


def test_one_stream_alone_passes_as_it_comes() -> None:
    lines = LineStream("", is_alone=True)
    assert lines.feed(b"no end") == b"no end"
    assert lines.finish() == b""


def test_what_stands_before_the_mark_is_kept_for_a_reason_only() -> None:
    lines = LineStream("", True, b"mark\n")
    assert lines.feed(b"Welcome\n" * 4096 + b"no endma") == b""
    assert not lines.has_begun
    assert lines.feed(b"rk\nfirst") == b"first"
    assert lines.has_begun
    assert lines.feed(b"mark\n") == b"mark\n"
    assert lines.before.endswith(b"Welcome\nno end") and len(lines.before) <= 4096


def test_a_carriage_return_ends_no_line() -> None:
    lines = LineStream("2: ", is_alone=True)
    assert lines.feed(b"a\rb\x0cc\nd") == b"2: a\rb\x0cc\n"
    assert lines.finish() == b"2: d\n"


def test_a_line_without_end_does_not_fill_memory() -> None:
    lines = LineStream("1: ", is_alone=False)
    sent = b"".join(lines.feed(b"x" * 65536) for _ in range(64)) + lines.finish()
    assert sent.count(b"x") == 64 * 65536
    assert max(map(len, sent.splitlines())) < LONGEST + 2 * 65536


def test_what_the_user_has_settled_for_ssh_stays(stubbed: Path) -> None:
    host = parse("ssh://web1:2222")
    ours = connect(host, stubbed)
    words = " ".join(ours.command("true"))
    assert "-p 2222" in words
    assert f"ControlPath={stubbed}/0" in words
    assert "ServerAliveInterval=" in words
    assert "-O exit" in " ".join(ours.closing())
    settled = "controlpath /run/me/%C\nserveraliveinterval 5\nconnecttimeout 3\n"
    (stubbed / "settled").write_text(settled)
    theirs = connect(host, stubbed)
    words = " ".join(theirs.command("true"))
    assert "Control" not in words
    assert "ServerAlive" not in words
    assert "ConnectTimeout" not in words
    assert theirs.closing() == []


def test_the_program_is_for_python_3_9_and_python3_minimal() -> None:
    """It is sent to whatever interpreter there is."""
    import ast

    text = (ROOT / "stapy/remote/there.py").read_text()
    tree = ast.parse(text, feature_version=(3, 9))
    names = {a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names}
    assert names == {"signal", "_signal", "_thread", "os", "sys", "time"}
    assert os.fsencode(text).isascii()
