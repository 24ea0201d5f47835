"""The real program with a guest of its own: options whose effect is a whole session's."""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path

import pytest

from tests.program import run_stapy

pytestmark = [pytest.mark.build, pytest.mark.vm]

SCRIPT = """
probe begin { printf("target %d\\n", target()) }
probe timer.ms(100) { printf("tick %700d\\n", ++n) }
probe end { println("end") }
global n
"""


def stapy(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Start the program as a user would."""
    return run_stapy(*words, cwd=cwd)


def test_a_session_with_files(release: str, tmp_path: Path) -> None:
    """--vm, -x, -o with the time in its name, -S, -T and -s, given to one process."""
    words = [f"--vm={release}", "-x", "1", "-o", "out-%Y", "-S", "1,2", "-T", "3", "-s", "1"]
    done = stapy(*words, "-e", SCRIPT, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    file = tmp_path / time.strftime("out-%Y.0")
    lines = file.read_text().splitlines()
    assert (lines[0], lines[-1]) == ("target 1", "end")
    assert re.fullmatch("tick +1", lines[1])


def test_a_session_with_a_command(release: str, tmp_path: Path) -> None:
    """-c begins after the probes, its status is the session's, and both print to one place."""
    script = 'probe begin { println("began") } probe end { println("ended") }'
    words = [f"--vm={release}", "-v", "-c", "sh -c 'echo ran; exit 3'"]
    done = stapy(*words, "-e", script, cwd=tmp_path)
    assert sorted(done.stdout.splitlines()) == ["began", "ended", "ran"], done.stderr
    assert done.returncode in (1, 3), done.stderr
    # What wrappers read has no lines of ours between it.
    assert re.search(r"(?m)^Pass 5: starting run\.\n(?s:.*)^Pass 5: run completed", done.stderr)
    assert "stapy-run: " not in done.stderr
