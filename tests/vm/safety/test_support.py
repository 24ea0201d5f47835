"""What shell commands of these tests do by themselves, without a guest."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.vm.safety.support import PRELUDE


def told(text: str, folder: Path) -> list[str]:
    """Run commands that know the functions of the prelude, with a patience of a minute."""
    words = ["sh", "-c", "tries=300\n" + PRELUDE + text]
    env = {**os.environ, "TMPDIR": str(folder)}
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=50, check=True)
    assert not done.stderr, done.stderr
    return done.stdout.splitlines()


def test_nobody_waits_for_a_process_that_has_ended(tmp_path: Path) -> None:
    """As one does that the kernel cannot execute; its status can still be asked for."""
    text = "sh -c 'exit 3' & one=$!; wait_for false $one; echo $?; wait $one; echo $?"
    lines = told(text, tmp_path)
    assert lines[0].startswith("never: false, for process "), lines
    assert lines[1:] == ["1", "3"], lines


def test_what_a_process_brought_about_counts_when_it_has_ended(tmp_path: Path) -> None:
    text = """
    (sleep 0.5; echo >there) & one=$!; wait_for '[ -e there ]' $one; echo $?; wait $one
    wait_for '[ -e there ]' $one; echo $?
    """
    lines = told(text, tmp_path)
    assert lines == ["0", "0"], lines
