"""--probe-effect: what the probes of a real session add to the time of a command."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stapy.vm.machine import Machine
from tests.vm.harness import build
from tests.vm.test_consumer import output, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

SCRIPTS = {
    # A second for the command's two calls: more than any busy host adds to all runs of one kind.
    "costly": """
        global n
        probe timer.ms(50) { n++ } # is skipped while the other one has the processor
        probe syscall.umask { if (pid() == target()) { mdelay(500); println(pid()) } }
    """,
    "short": "probe syscall.umask { if (pid() == target()) exit() }",
    "wrong": 'probe syscall.umask { if (pid() == target()) error("as was asked") }',
}
COMMAND = "sh -c 'umask; sleep 0.1'"  # dash asks for the mask by setting it twice


@pytest.fixture(scope="module")
def modules(release: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("effect")
    made = {}
    for name, script in SCRIPTS.items():
        words = ["-g", "-m", name, "-e", script]
        built = build(release, words, folder)
        assert built.module, built.stderr
        made[name] = built.module
    return made


def test_a_comparison(guest: Machine, modules: dict[str, Path]) -> None:
    """The time of the probes is in that of the command; nothing else is printed, or left."""
    text = f"""
    $run --probe-effect "{COMMAND}" --probe-effect-runs 3 $costly; echo status $?
    $run --probe-effect "{COMMAND}" $short; echo status $?
    $run --probe-effect "{COMMAND}" $wrong; echo status $?
    $run --probe-effect 'sh -c "exit 3"' --probe-effect-runs 3 $costly >/dev/null; echo status $?
    """
    result = shell(guest, modules, text)
    lines = [line for line in output(result) if line]
    said = (lines, result.stderr.decode())
    assert lines[0] == COMMAND, said
    assert lines[1].startswith("3 runs without the probes, as many with them"), said
    for name, line in zip(("elapsed", "its processor time", "of all processors"), lines[3:6]):
        without, within, added = map(float, re.findall(r"([+\d.]+) ±", line)[:3])
        assert line.startswith(name), said
        assert within > without, said
        assert added == pytest.approx(within - without, abs=1), said
    assert lines[6:] == ["status 0", "status 1", "status 1", "status 0"], said
    errors = result.stderr.decode().splitlines()
    assert [line for line in errors if "compared" in line or "the command" in line] == [
        "ERROR: nothing was compared: the session ended before the command did, and its probes"
        " with it",
        "ERROR: nothing was compared: the session ended with errors",
        "WARNING: the command exited with status 3 in 6 of 6 runs",
    ], said
    assert len([line for line in errors if "what the probes did" in line]) == 1, said
    assert result.left_modules == []
