"""Histograms on terminals, and elsewhere, where texts can be compared."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import struct
import sys
import termios
from collections.abc import Sequence
from pathlib import Path

import pytest

from stapy.vm.machine import SHARE, Machine
from tests.program import stapy_command
from tests.vm.harness import ROOT, build
from tests.vm.test_consumer import shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

SCRIPT = r"""
global sizes
probe begin {
    for (i = 0; i < 300; i++) { sizes <<< 8; if (i < 150) sizes <<< 9000 }
    print(@hist_log(sizes))
    println("done")
    exit()
}
"""
COUNTS = {2: 0, 4: 0, 8: 300, 16: 0, 32: 0, -1: 0, 2048: 0, 4096: 0, 8192: 150, 16384: 0, 32768: 0}
USUAL = 50
OF_72 = 72 - len("32768") - len(" | ") - len("count")

# Runs the consumer with a terminal of 72 columns, or a pipe, as its output; prints what came.
DRIVER = r"""
import fcntl, json, os, pty, struct, subprocess, sys, termios

def come(fd):
    came = b""
    try:
        while more := os.read(fd, 65536):
            came += more
    except OSError:
        pass  # which is the end of a terminal
    return came

for kind, words, more in json.loads(sys.argv[2]):
    ours, theirs = pty.openpty() if kind == "terminal" else os.pipe()
    if kind == "terminal":
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 72, 0, 0))
    environment = {**os.environ, "TERM": "xterm", **more}
    command = [*os.environ["RUN"].split(), *words, sys.argv[1]]
    process = subprocess.Popen(command, stdout=theirs, stdin=subprocess.DEVNULL, env=environment)
    os.close(theirs)
    came = come(ours)
    os.close(ours)
    print(json.dumps([process.wait(), came.decode()]), flush=True)
"""

# What the output goes to, words, environment; how long bars are, whether there are colours.
CASES: Sequence[tuple[str, list[str], dict[str, str], int, bool]] = (
    ("terminal", [], {}, OF_72, True),
    ("terminal", [], {"NO_COLOR": "1"}, OF_72, False),
    ("terminal", ["-C", "never"], {}, OF_72, False),
    ("terminal", ["-C", "always"], {"NO_COLOR": "1"}, OF_72, True),
    ("terminal", ["--width=40"], {}, OF_72 - 32, True),
    ("terminal", ["--width=0"], {}, USUAL, False),
    ("terminal", [], {"TERM": "dumb"}, USUAL, False),
    ("pipe", [], {}, USUAL, False),
    ("pipe", ["-C", "always"], {}, USUAL, False),
    ("pipe", [], {"COLUMNS": "72"}, USUAL, False),
    ("pipe", ["--width=72"], {}, OF_72, False),
)


def picture(bar: int, *, in_color: bool = False) -> str:
    """Draw what the script shall print, with the longest bar of ``bar`` characters at most."""
    scale = -(-300 // bar)
    text = f"value |{'-' * bar} count\n"
    for value, count in COUNTS.items():
        drawn, told = "@" * (count // scale), f"{count:3}"
        blanks = " " * (bar - len(drawn))
        if in_color and count:
            drawn, told = f"\x1b[36m{drawn}\x1b[m", f"\x1b[1m{told}\x1b[m"
        text += f"{value:5} |{drawn}{blanks} {told}\n" if value > 0 else "      ~\n"
    return f"{text}\ndone\n"


def test_where_a_histogram_is_shown(guest: Machine, release: str, tmp_path: Path) -> None:
    """A terminal's width and colours are for what it shows itself; all else is as ever."""
    made = build(release, ["-m", "drawn", "-e", SCRIPT], tmp_path)
    assert made.module, made.stderr
    (guest.share / "driver.py").write_text(DRIVER)
    cases = json.dumps([case[:3] for case in CASES])
    text = f"""
    cat >cases <<'END'\n{cases}\nEND
    RUN="$run" {sys.executable} {SHARE}/driver.py $drawn "$(cat cases)"
    """
    result = shell(guest, {"drawn": made.module}, text, t=240)
    answers = [json.loads(line) for line in result.stdout.decode().splitlines()]
    assert len(answers) == len(CASES), result.stderr.decode()
    for case, (status, came) in zip(CASES, answers, strict=True):
        *_, bar, in_color = case
        assert status == 0, (case, result.stderr.decode())
        assert came.replace("\r\n", "\n") == picture(bar, in_color=in_color), case
    assert result.left_modules == []


def test_the_terminal_before_a_virtual_machine(release: str, tmp_path: Path) -> None:
    """The guest has pipes; who looks has the terminal of the command."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 72, 0, 0))
        words = stapy_command(f"--vm={release}", "-e", SCRIPT)
        os.execve(words[0], words, {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"})
    said = b""
    try:
        while data := os.read(terminal, 4096):
            said += data
    except OSError:
        pass  # which is the end of a terminal
    os.close(terminal)
    assert os.waitpid(pid, 0)[1] == 0, said
    assert said.decode().replace("\r\n", "\n").endswith(picture(OF_72, in_color=True)), said
