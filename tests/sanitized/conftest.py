"""The runtime's data structures, compiled for a process and watched by sanitizers."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent
RUNTIME = HERE.parents[1] / "runtime"
UNITS = (
    *("map", "map_alloc", "map_slice", "map_sort", "stat", "histogram", "text", "print", "lock"),
    *("transport/ring", "transport/reader", "transport/bulk", "transport/losses"),
)
FLAGS = (
    *("-std=gnu11", "-g", "-O1", "-Wall", "-Werror", "-Wno-unused-variable"),
    # As the kernel is compiled.
    *("-fno-strict-aliasing", "-fwrapv", "-DCONFIG_64BIT"),
    *(f"-I{HERE / 'shim'}", f"-I{RUNTIME}", "-include", str(HERE / "shim/kernel.h")),
)
# One report ends the program, with a status that no other end has.
REPORTED = 77
ENVIRONMENT = {
    **os.environ,
    "ASAN_OPTIONS": f"exitcode={REPORTED}:detect_leaks=1",
    "UBSAN_OPTIONS": f"exitcode={REPORTED}:halt_on_error=1:print_stacktrace=1",
    "TSAN_OPTIONS": f"exitcode={REPORTED}:halt_on_error=1",
}

Compiler = Callable[..., Path]


class Program:
    """The running program: a command is a line, and so is its answer."""

    def __init__(self, path: str) -> None:
        self._process = subprocess.Popen(
            [path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT,
        )

    def ask(self, command: str) -> str:
        """Carry out a command; a report of a sanitizer is an `AssertionError` with its text.

        So is a command that does not end, without one.
        """
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._process.stdin.write(command + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, f"{command}: {self._process.stderr.read()}"
        return answer[:-1]

    def close(self) -> None:
        """End it: what was not freed is a report as well."""
        _, error = self._process.communicate()
        assert self._process.returncode == 0, error


@pytest.fixture(scope="session")
def sanitized(tmp_path_factory: pytest.TempPathFactory) -> Compiler:
    """Compile a program of this folder; flags of the compiler say what watches it."""
    made: dict[tuple[str, ...], Path] = {}

    def compile_program(name: str, *flags: str) -> Path:
        key = (name, *flags)
        if key not in made:
            to = tmp_path_factory.mktemp("sanitized") / name
            sources = [RUNTIME / f"{unit}.c" for unit in UNITS]
            sources += [HERE / "shim/kernel.c", HERE / f"{name}.c"]
            words = ["gcc", *FLAGS, *flags, *map(str, sources), "-o", str(to), "-lpthread"]
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            made[key] = to
        return made[key]

    return compile_program
