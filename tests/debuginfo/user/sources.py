"""Small programs that the tests compile with what the machine has."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import pytest

PROGRAM = r"""
int counted;
static __attribute__((noinline)) int helper(int n) { counted += n; return n * 3; }
__attribute__((noinline)) int work(int n) { return helper(n) + 1; }
int work_alias(int n) __attribute__((alias("work")));
__attribute__((weak)) int maybe(void) { return 1; }
static int fast(int n) { return n; }
static void *choose(void) { return (void *)fast; }
int chosen(int n) __attribute__((ifunc("choose")));
int main(int argc, char **argv) { return work(argc) + maybe() + chosen(argc); }
"""
LIBRARY = r"""
static __attribute__((noinline)) int inside(int n) { volatile int m = n; return m + 1; }
int outside(int n) { return inside(n) * 2; }
__attribute__((visibility("hidden"))) int hidden(int n) { return n - 1; }
"""

# The beginning of a program in assembly: f, whose breakpoint may lie behind its endbr64.
BEHIND_ENDBR64 = """
	.text
	.globl f, g, main
	.type f, @function
f:	endbr64
	push %rbp
	pop %rbp
	ret
	.size f, .-f
	.skip 300, 0xcc
"""


def compiled(folder: Path, source: str, *options: str, name: str = "program") -> Path:
    """Compile a C text."""
    text = folder / f"{name}.c"
    text.write_text(source)
    return built(folder / name, str(text), *options)


def built(target: Path, *words: str) -> Path:
    """Run the compiler."""
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    run("gcc", *words, "-o", str(target))
    return target


def has_mapped(pid: int, path: Path | str) -> int:
    """Wait until a process has a file's code in memory; return where the file begins there.

    A process that was just started, whose `/proc/PID/exe` and `comm` are the program's already,
    need not have mapped it yet.
    """
    until = time.monotonic() + 30
    low: int | None = None
    while True:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            span, modes, offset, _, _, *name = line.split(None, 5)
            if name != [str(path)]:
                continue
            if int(offset, 16) == 0:
                low = int(span.partition("-")[0], 16)
            if "x" in modes and low is not None:
                return low
        assert time.monotonic() < until, f"process {pid} does not run {path}"
        time.sleep(0.01)


def run(*command: str) -> str:
    """Run a command and return what it prints; the test fails when it does."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout
