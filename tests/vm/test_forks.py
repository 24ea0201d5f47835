"""A fork that has imported stapy does what a new process does."""

from __future__ import annotations

import errno
import os
import subprocess
import time
from pathlib import Path

import pytest

from tests.program import stapy_command
from tests.vm import forks

ENV = {**os.environ, "PYTHONPATH": str(forks.ROOT)}
LOCAL = "probe begin { println(local()) exit() }"
RUNS = [  # words, standard input, exit status
    (["--version"], None, 0),
    (["--no-such-option"], None, 1),
    (["-p2", "-e", "probe begin { nowhere() }"], None, 1),
    (["-p1", "-"], 'probe begin { println("\udcff") }', 0),
    (["-p1", "-"], "probe begin {", 1),
    (["-p2", "-e", LOCAL], None, 0),  # found by options in $HOME, in the folder that it runs in
]


@pytest.mark.parametrize(("words", "given", "status"), RUNS)
def test_a_fork_is_a_new_process(
    words: list[str], given: str | None, status: int, tmp_path: Path
) -> None:
    (tmp_path / "local.stp").write_text("function local() { return 1 }\n")
    (tmp_path / ".systemtap").mkdir()
    (tmp_path / ".systemtap" / "rc").write_text("-I .\n")
    env = {**ENV, "HOME": str(tmp_path)}
    new = subprocess.run(
        stapy_command(*words),
        cwd=tmp_path,
        env=env,
        input=given or "",
        capture_output=True,
        text=True,
        errors="surrogateescape",
        check=False,
    )
    forked = forks.run(words, cwd=tmp_path, env=env, given=given, timeout=60)
    assert forked.returncode == new.returncode == status, forked
    assert forked.stdout == new.stdout
    assert forked.stderr == new.stderr


def test_a_fork_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "never.stp")
    with pytest.raises(subprocess.TimeoutExpired):
        forks.run(["-p1", "never.stp"], cwd=tmp_path, env=ENV, timeout=3)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:  # only while somebody reads it
            os.close(os.open(tmp_path / "never.stp", os.O_WRONLY | os.O_NONBLOCK))
        except OSError as error:
            assert error.errno == errno.ENXIO
            break
        time.sleep(0.1)
    else:
        pytest.fail("it still waits")
    assert forks.run(["--version"], cwd=tmp_path, env=ENV, timeout=60).returncode == 0
