"""A caller that ignores SIGCHLD, which exec leaves to us: what we start has a status still."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CODE = """
from {module} import main
from stapy.run.lacks import run
main(["-V"])
print("status", run(["/bin/false"])[0])
"""


@pytest.mark.parametrize("module", ["stapy.cli", "stapy.run.cli"])
def test_what_is_started_has_a_status(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE.format(module=module)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "status 256"
