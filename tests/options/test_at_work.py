"""Options run through the program, each by what it changes outside of it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from stapy.vm import kernels
from tests.probes.test_user_variables import LOCAL, compiled
from tests.program import ROOT, run_stapy

# What is started has the limits: an emulator that tells them and goes.
EMULATOR = """#!/bin/sh
ulimit -S -a >"$LIMITS"
exit 3
"""
# The option, its number, and how a shell calls and counts what it limits.
LIMITS = [
    ("as", 90_000_000_000, "vmemory(kbytes)", 87_890_625),
    ("cpu", 77, "time(seconds)", 77),
    ("nproc", 5000, "process", 5000),
    ("stack", 9_000_000, "stack(kbytes)", 8789),
    ("fsize", 2_000_000_000, "file(blocks)", 3_906_250),
]


@pytest.mark.build
@pytest.mark.skipif(not kernels.lines(), reason="no kernel with headers is installed")
def test_limits_are_those_of_what_is_started(tmp_path: Path) -> None:
    emulator = tmp_path / "bin" / "qemu-system-x86_64"
    emulator.parent.mkdir()
    emulator.write_text(EMULATOR)
    emulator.chmod(0o755)
    told = tmp_path / "told"
    env = {"PATH": f"{emulator.parent}:{os.environ['PATH']}", "LIMITS": str(told)}
    words = [f"--rlimit-{name}={number}" for name, number, _, _ in LIMITS]
    release = kernels.lines()[0]
    done = run_stapy(f"--vm={release}", *words, "-e", "probe begin { exit() }", env=env)
    assert done.returncode == 1 and "does not start" in done.stderr, done.stderr
    found = dict(re.findall(r"^(\S+(?:\(\w+\))?) +(\d+)$", told.read_text(), re.MULTILINE))
    assert {name: int(found[name]) for _, _, name, _ in LIMITS} == {
        name: number for _, _, name, number in LIMITS
    }


@pytest.mark.build
@pytest.mark.skipif(not kernels.lines(), reason="no kernel with headers is installed")
@pytest.mark.parametrize(
    ("option", "status", "told"),
    [
        ("--rlimit-cpu=1", 152, "ERROR: the limit of processor time is reached (--rlimit-cpu"),
        ("--rlimit-fsize=1000", 1, "--rlimit-fsize"),  # a file of ours, or of a compiler
        ("--rlimit-stack=1000", 1, "limit is too narrow: --rlimit-stack=1000, or ulimit's"),
    ],
)
def test_a_limit_that_is_too_narrow_is_named(option: str, status: int, told: str) -> None:
    """It is neither a mistake of ours nor one of the kernel's headers."""
    count = os.urandom(6).hex()  # no module of it is in the cache
    places = 'kernel.function("*"),' if "cpu" in option else ""
    script = f'probe {places} begin {{ println("{count}") }}'
    done = run_stapy("-r", kernels.lines()[0], option, "-p4", "-e", script)
    assert (done.returncode, told in done.stderr) == (status, True), done.stderr


@pytest.mark.build
@pytest.mark.skipif(not kernels.lines(), reason="no kernel with headers is installed")
@pytest.mark.parametrize(("name", "value", "told"), [("fsize", 1000, "-f"), ("as", 90 << 20, "-v")])
def test_a_limit_of_the_shell_is_named(name: str, value: int, told: str) -> None:
    """A limit that the user's shell has set is no more a mistake of ours than that of an option."""
    script = f'probe syscall.* {{ printf("{os.urandom(6).hex()} %s", argstr) }}'
    words = ["-m", "tests.limited", name, str(value), "stapy", "-r", kernels.lines()[0]]
    done = subprocess.run(
        [sys.executable, *words, "-p4", "--disable-cache", "-e", script],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, "mistake in stapy" in done.stderr) == (1, False), done.stderr
    named = (f"ulimit {told}", "or ulimit's", "out of memory")
    assert any(words in done.stderr for words in named), done.stderr


@pytest.mark.build
@pytest.mark.skipif(not kernels.lines(), reason="no kernel with headers is installed")
@pytest.mark.parametrize("option", ["-P", "--prologue-searching", "--prologue-searching=always"])
def test_a_prologue_is_passed(option: str, tmp_path: Path) -> None:
    """The place of an entry moves behind the instructions that make the frame."""
    program = compiled(tmp_path, LOCAL, "-g", "-O0")
    script = f'probe process("{program}").function("add") {{ println($n) }}'
    offsets = []
    for words in ([], [option]):
        done = run_stapy("-r", kernels.lines()[0], "-p3", *words, "-e", script, check=True)
        offsets += [int(one, 0) for one in re.findall(r"\.offset = (\w+)", done.stdout)]
    entry, behind = offsets
    assert entry < behind <= entry + 16
