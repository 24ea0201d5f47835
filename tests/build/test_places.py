"""Where the module of -p4 is left."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.build.small import Kernel
from tests.program import stapy_command

pytestmark = pytest.mark.build

ROOT = Path(__file__).resolve().parents[2]


def made(kernel: Kernel, folder: Path, *words: str) -> Path:
    """Run a command in a folder of its own; return the path that it prints."""
    command = stapy_command("-p4", "-r", kernel.release, *words)
    done = subprocess.run(
        [*command, "-e", "probe begin { exit() }"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    return folder / done.stdout.strip()


def test_a_poisoned_cache_still_keeps_the_module(kernel: Kernel, tmp_path: Path) -> None:
    """What is made is stored, though nothing is read; only without a cache it has to stay here."""
    here = tmp_path / "here"
    here.mkdir()
    poisoned = made(kernel, here, "--poison-cache")
    assert poisoned.is_file() and not list(here.iterdir())
    assert made(kernel, here) == poisoned and not list(here.iterdir())
    named = made(kernel, here, "-m", "mine")
    assert named == here / "mine.ko" and list(here.iterdir()) == [named]
