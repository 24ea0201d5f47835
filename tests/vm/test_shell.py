"""``stapy -i``: runs of the shell are sessions in a kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.program import run_stapy

pytestmark = [pytest.mark.build, pytest.mark.vm]

LINES = """
global said = "x"
probe begin { println(said) exit() }
probe begin {
    println(unsaid())
}
run probe end {
    println("end") }
list
exit
"""


def test_a_script_by_lines(release: str, tmp_path: Path) -> None:
    """What has a mistake is told of and is not in the run; what is run only once is not kept."""
    done = run_stapy("-i", f"--vm={release}", given=LINES, cwd=tmp_path)
    said = f"{done.stdout}\n--- stderr\n{done.stderr}"
    assert done.stdout.splitlines() == [
        "x",
        "end",
        '1  global said = "x"',
        "2  probe begin { println(said) exit() }",
    ], said
    assert "unresolved function unsaid" in done.stderr and "<input>:4:13" in done.stderr, said
    assert done.returncode == 1, said  # for the line that was refused
