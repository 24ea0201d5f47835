"""Histograms and lists on terminals, and elsewhere, where texts can be compared."""

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
global sizes, list, s
probe begin {
    list["cat"] = 300; list["ü"] = 150; list["tab\there"] = 100; list["low"] = 1; list["no"] = -5
    list["a name that leaves no room for a bar beside it"] = 50
    for (i = 0; i < 8; i++) { s[1] <<< 1; if (i < 5) s[2] <<< 1 }
    for (i = 0; i < 300; i++) { sizes <<< 8; if (i < 150) sizes <<< 9000 }
    print(@hist_log(sizes))
    println("done")
    exit()
}
"""
COUNTS = {2: 0, 4: 0, 8: 300, 16: 0, 32: 0, -1: 0, 2048: 0, 4096: 0, 8192: 150, 16384: 0, 32768: 0}
USUAL = 50
LIST = [
    ('list["cat"]=300', 300), ('list["ü"]=150', 150), ('list["tab\there"]=100', 0),
    ('list["a name that leaves no room for a bar beside it"]=50', 50), ('list["low"]=1', 1),
    ('list["no"]=-5', 0),
]  # fmt: skip
STATS = [
    ("s[1] @count=8 @min=1 @max=1 @sum=8 @avg=1", 8),
    ("s[2] @count=5 @min=1 @max=1 @sum=5 @avg=1", 5),
]
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

# What the output goes to, words, environment; columns (0: as ever), whether there are colours.
CASES: Sequence[tuple[str, list[str], dict[str, str], int, bool]] = (
    ("terminal", [], {}, 72, True),
    ("terminal", [], {"NO_COLOR": "1"}, 72, False),
    ("terminal", ["-C", "never"], {}, 72, False),
    ("terminal", ["-C", "always"], {"NO_COLOR": "1"}, 72, True),
    ("terminal", ["--width=40"], {}, 40, True),
    ("terminal", ["--width=24"], {}, 24, True),
    ("terminal", ["--width=200"], {}, 200, True),
    ("terminal", ["--width=0"], {}, 0, False),
    ("terminal", [], {"TERM": "dumb"}, 0, False),
    ("pipe", [], {}, 0, False),
    ("pipe", ["-C", "always"], {}, 0, False),
    ("pipe", [], {"COLUMNS": "72"}, 0, False),
    ("pipe", ["--width=72"], {}, 72, False),
)


def lists(columns: int, *, in_color: bool = False) -> str:
    """Write the lists that the script shall print: bars from three fifths of a line on."""
    column = min(columns * 3 // 5, 72)
    room = columns - column
    text = ""
    for rows in (LIST, STATS):
        for line, value in rows:
            bar = "@" * max(value * room // rows[0][1], 1)
            drawn = f"\x1b[36m{bar}\x1b[m" if in_color else bar
            has_bar = value and room >= 10 and len(line) < column
            text += f"{line:{column}}{drawn}\n" if has_bar else f"{line}\n"
    return text


def picture(columns: int, *, in_color: bool = False) -> str:
    """Draw what the script shall print, with the longest bar as long as there is room."""
    bar = max(OF_72 + columns - 72, 20) if columns else USUAL
    scale = -(-300 // bar)
    text = f"value |{'-' * bar} count\n"
    for value, count in COUNTS.items():
        drawn, told = "@" * (count // scale), f"{count:3}"
        blanks = " " * (bar - len(drawn))
        if in_color and count:
            drawn, told = f"\x1b[36m{drawn}\x1b[m", f"\x1b[1m{told}\x1b[m"
        text += f"{value:5} |{drawn}{blanks} {told}\n" if value > 0 else "      ~\n"
    return f"{text}\ndone\n{lists(columns, in_color=in_color)}"


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
        *_, columns, in_color = case
        assert status == 0, (case, result.stderr.decode())
        assert came.replace("\r\n", "\n") == picture(columns, in_color=in_color), case
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
    assert said.decode().replace("\r\n", "\n").endswith(picture(72, in_color=True)), said
