"""Figures to compare versions of stapy by; never a test, since machines differ.

``python -m tests.bench`` prints them all as one table, ``python -m tests.bench
pass4`` some of them.  A module in here has ``rows() -> Iterator[Row]`` and a
line in `__main__`.

CPU seconds are user and system time of a command with all that it started; the
figure is the median of some runs.  On a machine that does other things as well
it is larger, by a third and more, since processors share caches and threads.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeVar

Value = TypeVar("Value")
ROOT = Path(__file__).parents[2]
STAPY = [sys.executable, "-m", "stapy"]


class Row(NamedTuple):
    """One figure.

    ``budget`` is what it should stay below, ``peer`` SystemTap's figure as it
    was published; "" when there is none.
    """

    name: str
    value: float
    unit: str
    budget: str = ""
    peer: str = ""


Rows = Iterator[Row]


class Run(NamedTuple):
    """One run of a command: CPU and wall seconds, megabytes at its peak, exit status, output."""

    cpu: float
    wall: float
    megabytes: float
    status: int
    output: str


class Refused(Exception):
    """A command that should work did not."""


def run(words: list[str], cache: Path, *, memory: int = 0, seconds: int = 0) -> Run:
    """Run a command with a cache of its own; limits are bytes of memory and CPU seconds."""

    def limit() -> None:
        if memory:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        if seconds:
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))

    environment = dict(os.environ, XDG_CACHE_HOME=str(cache), PYTHONPATH=str(ROOT))
    output = cache / "output"
    with output.open("wb") as file:
        start = time.monotonic()
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.DEVNULL,
            env=environment,
            preexec_fn=limit,
        )
        _, status, used = os.wait4(process.pid, 0)
        wall = time.monotonic() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    return Run(
        used.ru_utime + used.ru_stime,
        wall,
        used.ru_maxrss / 1024,
        process.returncode,
        output.read_text("utf-8", "replace"),
    )


def median(work: Callable[[], Run], times: int = 5) -> Run:
    """Return the run whose CPU time is the median of some; raise `Refused` when one fails."""
    runs = [work() for _ in range(times)]
    for one in runs:
        if one.status:
            raise Refused(f"exit status {one.status}")
    return sorted(runs)[len(runs) // 2]


def cpu(work: Callable[[], Value], times: int = 1) -> tuple[float, Value]:
    """Measure the CPU seconds of a call, its tools included: the median of some runs."""
    found = []
    for _ in range(max(times, 1)):
        before = _spent()
        value = work()
        found.append(_spent() - before)
    return statistics.median(found), value


def _spent() -> float:
    """Read the CPU seconds of this process and its children; os.times() counts hundredths only."""
    tools = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + tools.ru_utime + tools.ru_stime


def table(rows: Rows) -> Iterator[str]:
    """Yield lines of text, each as soon as its figure is known."""
    yield f"{'what':<52} {'figure':>8} {'':<5} {'budget':>7}  SystemTap"
    for row in rows:
        digits = {"s": 3, "MB": 2, "instr": 0}.get(row.unit, 1)
        line = f"{row.name:<52} {row.value:>8.{digits}f} {row.unit:<5} {row.budget:>7}  {row.peer}"
        yield line.rstrip()
