"""The program as a user starts it: ``python -m stapy`` of this checkout, a process of its own.

Tests that want many modules have forks instead (`tests.vm.forks`), which start faster.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 1200.0  # seconds; the machine is busy, and may emulate another one


def stapy_command(*words: str | Path) -> list[str]:
    """Write the command line; the folder it runs in, or ``PYTHONPATH``, has to be `ROOT`."""
    return [sys.executable, "-m", "stapy", *map(str, words)]


def stapy_environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return our variables and some ``more``, with which any folder will do."""
    return {**os.environ, "PYTHONPATH": str(ROOT), **(more or {})}


def run_stapy(
    *words: str | Path,
    cwd: Path = ROOT,
    env: Mapping[str, str] | None = None,
    given: str | None = None,
    check: bool = False,
    timeout: float = PATIENCE,
) -> subprocess.CompletedProcess[str]:
    """Run it to its end and capture what it prints.

    ``env`` are variables beside ours, ``given`` is its standard input; without it, it has ours.
    With ``check``, a status other than 0 is an error.
    """
    return subprocess.run(
        stapy_command(*words),
        cwd=cwd,
        env=stapy_environment(env),
        input=given,
        capture_output=True,
        text=True,
        check=check,
        timeout=timeout,
    )
