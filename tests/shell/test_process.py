"""The shell as a program: its streams, its terminal, and what becomes of a run when it ends."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pyte
import pytest

from stapy.shell import terminal
from tests.editor.support import make_tree
from tests.program import run_stapy

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 300.0

# The shell with sessions that say when they are there and wait for a signal.
WAITING = r"""
import os, signal, sys, time
import stapy.session
import stapy.session.check  # is a session of its own
from stapy.cli import main

class Session:
    def __init__(self, options):
        self.options = options

    def main(self):
        if "asks" in self.options.script_text:
            print("read", sys.stdin.readline())
            return 0
        signal.signal(signal.SIGTERM, lambda *_: (os.write(1, b"ended\n"), os._exit(3)))
        try:  # a key may come before the line has been written
            print("armed", os.getpid(), flush=True)
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:
            print("stopped", flush=True)
            return 0

stapy.session.Session = Session
sys.exit(main(sys.argv[1:]))
"""
RUN = 'probe begin { println("x") }\nrun\n'


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"{make_tree(tmp_path_factory.mktemp('shell'))}/"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    state = {"XDG_STATE_HOME": str(tmp_path / "state"), "TERM": "xterm-256color"}
    return {**os.environ, **state, "PYTHONPATH": str(ROOT)}


def test_a_script_of_commands(tree: str, tmp_path: Path, environment: dict[str, str]) -> None:
    """Lines come from a pipe: no prompt, runs read nothing of them, the status tells of errors."""

    def said(text: str) -> tuple[int, str, str]:
        done = run_stapy(
            "-i", "-p1", "-r", tree, given=text, cwd=tmp_path, env=environment, timeout=PATIENCE
        )
        return done.returncode, done.stdout, done.stderr

    status, out, err = said("global x\nrun\nlist\nexit\nlist\n")
    assert (status, out.splitlines()[-3:], err) == (
        0, ["# file <input>", "global x", "1  global x"], ""
    ), (out, err)  # fmt: skip
    status, out, err = said("probe begin {\n")
    assert (status, out) == (1, "") and "the text ends here" in err, (out, err)
    assert not (tmp_path / "state").exists()


class AnsweringScreen(pyte.Screen):
    """A screen that tells where its cursor is, however the question is cut into pieces."""

    def __init__(self, fd: int) -> None:
        super().__init__(100, 40)
        self._fd = fd

    def write_process_input(self, data: str) -> None:
        """Answer; nobody reads it when the shell has ended."""
        with contextlib.suppress(OSError):
            os.write(self._fd, data.encode())


class Terminal:
    """A shell in a terminal that is kept in memory."""

    def __init__(self, tree: str, env: dict[str, str], program: str = WAITING) -> None:
        words = ["-c", program, "-i", "-r", tree]
        size = struct.pack("HHHH", 40, 100, 0, 0)
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, size)  # before the shell asks for it
            os.execve(sys.executable, [sys.executable, *words], env)
        self.screen = AnsweringScreen(self.fd)
        self._stream = pyte.ByteStream(self.screen)

    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen.display).rstrip()

    def until(self, word: str, *, at_end: bool = True) -> str:
        """Wait until the screen ends with a word, or has it anywhere; return all of it."""
        end = time.monotonic() + PATIENCE
        while not (self.text().endswith(word) if at_end else word in self.text()):
            assert time.monotonic() < end, f"never {word!r}:\n{self.text()}"
            if not select.select([self.fd], [], [], 0.2)[0]:
                continue
            try:
                came = os.read(self.fd, 65536)
            except OSError:
                raise AssertionError(f"ended before {word!r}:\n{self.text()}") from None
            self._stream.feed(came)
        return self.text()

    def type(self, keys: str) -> None:
        os.write(self.fd, keys.encode())

    def status(self) -> int:
        """Return the exit status of the shell, which ends now."""
        end = time.monotonic() + PATIENCE
        while True:
            if select.select([self.fd], [], [], 0.2)[0]:
                try:
                    self._stream.feed(os.read(self.fd, 65536))
                except OSError:
                    break
            assert time.monotonic() < end, self.text()
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def test_a_terminal(tree: str, environment: dict[str, str], tmp_path: Path) -> None:
    """Tab completes, a body has lines, Ctrl-C ends a run and leaves the script, lines are kept."""
    shown = Terminal(tree, environment)
    shown.until("stapy>")
    shown.type("prob\t")
    shown.until("stapy> probe")
    shown.type(" end { \r")
    shown.until("...>")
    shown.type("printl\t")
    shown.until("    println")
    shown.type("(1) }\r")
    shown.until("println(1) }\nstapy>")
    shown.type("run\r")
    shown.until("armed", at_end=False)
    shown.type("\x03")
    shown.until("stopped", at_end=False)
    shown.until("stapy>")  # before it, "^C" may stand: the terminal sends a signal, and echoes then
    shown.type("junk\x03")
    shown.until("junk\nstapy>")
    shown.type("list\r")
    text = shown.until("println(1) }\nstapy>")
    assert "1  probe end {" in text, text
    shown.type("\x04")
    assert shown.status() == 0, shown.text()
    kept = tmp_path / "state/stapy/history"
    assert [line for line in kept.read_text().splitlines() if line.startswith("+")] == [
        "+probe end { ", "+    println(1) }", "+run", "+list"
    ]  # fmt: skip
    assert kept.stat().st_mode & 0o777 == 0o600
    again = Terminal(tree, environment)
    again.until("stapy>")
    again.type("\x1b[A")
    again.until("stapy> list")
    again.type("\x03")
    again.until("list\nstapy>")
    again.type("quit\r")
    assert again.status() == 0, again.text()


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGTERM, 128 + 15), (signal.SIGHUP, 128 + 1), (9, -9)]
)
def test_a_shell_that_ends_ends_its_run(
    number: int, status: int, tree: str, environment: dict[str, str]
) -> None:
    """The run is told to end, also by the kernel when the shell was killed: no module is left."""
    with subprocess.Popen(
        [sys.executable, "-c", WAITING, "-i", "-r", tree],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        text=True,
    ) as shell:
        assert shell.stdin and shell.stdout
        shell.stdin.write(RUN)
        shell.stdin.flush()
        assert shell.stdout.readline().startswith("armed ")
        shell.send_signal(number)
        # The fork holds the other end of the pipe, so this is all that both say.
        rest = shell.stdout.read()
        assert shell.wait(PATIENCE) == status
    # SIGHUP has no handler of the session's there: it interrupts as Ctrl-C does.
    assert rest == ("stopped\n" if number == signal.SIGHUP else "ended\n")


def test_runs_read_nothing_of_the_commands(tree: str, environment: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WAITING, "-i", "-r", tree],
        input='probe begin { println("asks") }\nrun\nlist\n',
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    assert lines == ["read ", '1  probe begin { println("asks") }'], done


# A shell that fails when a word is entered, at the command `show`, and when Tab is pressed.
FAILING = """
import sys
from stapy.cli import main
from stapy.shell import commands, shell, terminal

needs_more = shell.Shell.needs_more

def fails(self, entry):
    if "poison" in entry:
        raise KeyError("no such key")
    return needs_more(self, entry)

def shows(*_):
    raise KeyError("no such key")

def offers(*_):
    raise KeyError("no such offer")

terminal.offers = offers
shell.Shell.needs_more = fails
commands._OBEY["show"] = shows
sys.exit(main(sys.argv[1:]))
"""


def saved(folder: Path) -> str:
    (path,) = folder.glob("unsaved-*.stp")
    assert path.stat().st_mode & 0o777 == 0o600
    return path.read_text()


def test_a_shell_that_fails_saves_its_script(
    tree: str, environment: dict[str, str], tmp_path: Path
) -> None:
    """In what the prompt does, or what is done without a terminal: the bug is reported, too.

    Where Tab fails, nothing is offered, and what is typed is obeyed.
    """
    environment["TMPDIR"] = str(tmp_path)
    shown = Terminal(tree, environment, FAILING)
    shown.until("stapy>")
    shown.type("\tprobe end { println(1) }\r")
    shown.until("no such offer", at_end=False)
    shown.until("\nstapy>")
    shown.type("probe begin { poison\r")
    assert shown.status() == 1, shown.text()
    text = shown.text().replace("\n", "")
    assert "what was not saved is in" in text and "a mistake in stapy" in text, text
    assert saved(tmp_path / "state/stapy") == "probe end { println(1) }\nprobe begin { poison\n"
    environment["XDG_STATE_HOME"] = "/proc/nosuch"  # the temporary folder is the next best
    done = subprocess.run(
        [sys.executable, "-c", FAILING, "-i", "-r", tree],
        input="global x\nshow\nglobal y\n",
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 1 and "a mistake in stapy" in done.stderr, done
    assert saved(tmp_path) == "global x\n"
    assert len(list(tmp_path.glob("stapy-bug-*"))) == 3


def test_a_terminal_that_hangs_up_leaves_the_script(
    tree: str, environment: dict[str, str], tmp_path: Path
) -> None:
    shown = Terminal(tree, environment)
    shown.until("stapy>")
    shown.type("global x\r")
    shown.until("x\nstapy>")
    os.kill(shown.pid, signal.SIGHUP)
    assert shown.status() == 128 + signal.SIGHUP, shown.text()
    assert saved(tmp_path / "state/stapy") == "global x\n"


def test_a_line_that_is_no_utf8_is_kept(tmp_path: Path) -> None:
    terminal.PrivateHistory(str(tmp_path / "history")).store_string("# \udcff")
    assert (tmp_path / "history").read_text().endswith("+# ?\n")


def test_without_standard_input(tree: str, environment: dict[str, str]) -> None:
    done = subprocess.run(
        ["sh", "-c", '"$@" <&-', "sh", sys.executable, "-m", "stapy", "-i", "-r", tree],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), done


def test_history_that_others_could_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    open_to_all = tmp_path / "all"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    monkeypatch.setenv("XDG_STATE_HOME", str(open_to_all))
    assert not isinstance(terminal.kept_history(), terminal.FileHistory)
    assert "lines are not kept" in capsys.readouterr().err
    assert list(open_to_all.iterdir()) == []
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    monkeypatch.setenv("HOME", "/home/of/somebody")
    assert terminal.history_file() == Path("/home/of/somebody/.local/state/stapy/history")
