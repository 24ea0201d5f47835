"""Output and messages on one terminal: a message begins a line of its own."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
from stapy.run.messages import MessagePrinter
from stapy.run.output import Sink, shown_in_line
sink, messages = Sink(1), MessagePrinter("never")
messages.in_line = shown_in_line([sink])
sink.write(memoryview(b"half a line"))
messages.log("note: the table")
messages.log("  its rows")
sink.write(memoryview(b"a line\\n"))
messages.warning("after a line")
sink.write(memoryview(b"half"))
messages.error("after half of one")
"""


def said(stdout: int, stderr: int) -> None:
    words = [sys.executable, "-c", PROGRAM]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run(words, stdout=stdout, stderr=stderr, env=env, check=True, timeout=60)


def read(fd: int) -> str:
    return os.read(fd, 65536).decode().replace("\r\n", "\n")


def test_a_message_begins_a_line_of_the_terminal() -> None:
    terminal, shown = pty.openpty()
    said(shown, shown)
    assert read(terminal) == (
        "half a line\nnote: the table\n  its rows\na line\nWARNING: after a line\n"
        "half\nERROR: after half of one\n"
    )


@pytest.mark.parametrize("both", [False, True])
def test_elsewhere_nothing_is_added(both: bool, tmp_path: Path) -> None:
    """Two terminals, or a file for the output: each has what it is sent."""
    terminal, shown = pty.openpty()
    other, shown_too = pty.openpty()
    file = os.open(tmp_path / "output", os.O_RDWR | os.O_CREAT)
    said(shown_too if both else file, shown)
    assert read(terminal) == (
        "note: the table\n  its rows\nWARNING: after a line\nERROR: after half of one\n"
    )
    output = read(other) if both else (tmp_path / "output").read_text()
    assert output == "half a linea line\nhalf"
