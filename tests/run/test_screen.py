"""The consumer's side of the screen: the terminal is given back, whatever becomes of the screen."""

from __future__ import annotations

import os
import pty
import sys

import pytest

from stapy.run import screen
from stapy.run.errors import RunError

KILLED = r"""
import os, signal, sys, termios, time
from stapy.run.screen import ScreenProcess

terminal = os.dup(0)
screen = ScreenProcess(1)
screen.show("x", "/nowhere")
end = time.monotonic() + 60
while termios.tcgetattr(terminal)[3] & termios.ICANON and time.monotonic() < end:
    time.sleep(0.05)
time.sleep(0.5)
os.kill(screen._program.pid, signal.SIGKILL)
screen.close()
is_plain = bool(termios.tcgetattr(terminal)[3] & termios.ICANON)
print("back", is_plain, screen._program.returncode, flush=True)
"""


def test_a_killed_screen() -> None:
    """Its terminal takes lines again, and shows those of before."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm-256color"
        os.execv(sys.executable, [sys.executable, "-c", KILLED])
    came = b""
    try:
        while more := os.read(terminal, 65536):
            came += more
    except OSError:
        pass  # all have closed it
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, came
    os.close(terminal)
    assert b"\x1b[?1049h" in came
    last = came.rpartition(b"\x1b[?1049h")[2]
    assert b"back True -9" in last.rpartition(b"\x1b[?1049l")[2], last[-400:]
    assert b"\x1b[?1049l" in last


def test_stapy_run_alone_has_no_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """What sudo starts for a member is a folder whose package has nothing above it."""
    assert screen._program() == "stapy.monitor"
    monkeypatch.setattr(screen, "__name__", "stapy_run.screen")
    with pytest.raises(RunError, match="stapy-run alone, as members of the groups have it"):
        screen.check()
