"""Tells where the processor's time goes: ``pytest --processor-time``.

A busy machine changes seconds of a clock, but hardly those of a processor. They are counted of
a worker, of all that it starts and waits for, and of the emulators that stay from test to test.
"""

from __future__ import annotations

import contextlib
import os
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.schedule import unit
from tests.vm.harness import releases

_TICKS = os.sysconf("SC_CLK_TCK")
_NAME = "processor-time"


def _stat(process: int) -> tuple[str, int, int]:
    """Read a process's name, its own ticks and those of the children that it has waited for."""
    text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    name = text[text.index("(") + 1 : text.rindex(")")]
    fields = text[text.rindex(")") + 2 :].split()
    return name, int(fields[11]) + int(fields[12]), int(fields[13]) + int(fields[14])


def _children(process: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{process}/task").iterdir():
        # A thread that has just ended has none, and the process is counted all the same: without
        # it hundreds of seconds would be missing here and belong to the next test.
        with contextlib.suppress(OSError):
            found += [int(child) for child in (task / "children").read_text().split()]
    return found


class Meter:
    """Counts the seconds of this process, of all below it, and of emulators, living or dead."""

    def __init__(self) -> None:
        self._emulators: dict[int, int] = {}
        self._last = self._now()

    def _now(self) -> tuple[float, float, float]:
        total = own = 0
        waiting = [os.getpid()]
        while waiting:
            process = waiting.pop()
            try:
                name, ticks, waited = _stat(process)
                waiting += _children(process)
            except (OSError, ValueError):  # it has just ended
                continue
            total += ticks + waited
            if process == os.getpid():
                own = ticks
            if name.startswith("qemu"):
                self._emulators[process] = ticks
        emulated = sum(self._emulators.values())
        return own / _TICKS, (total - own - emulated) / _TICKS, emulated / _TICKS

    def lap(self) -> list[float]:
        """Return the seconds since the last call: the worker's, its children's, the emulators'."""
        before, self._last = self._last, self._now()
        return [round(now - then, 2) for now, then in zip(self._last, before)]


class Recorder:
    """Notes in each report what its phase took; the reports go to who prints them."""

    def __init__(self) -> None:
        self._meter = Meter()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self) -> Any:
        outcome = yield
        outcome.get_result().user_properties.append((_NAME, self._meter.lap()))


class Table:
    """Sums up what the reports say, and prints it at the end."""

    def __init__(self) -> None:
        self._sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
        self._tests: dict[str, float] = defaultdict(float)
        self._releases = releases()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # Each phase's report has those of the phases before, too.
        laps = [value for name, value in report.user_properties if name == _NAME]
        sums = self._sums[unit(report.nodeid, self._releases)]
        for at, seconds in enumerate(laps[-1]):  # type: ignore[arg-type,var-annotated]
            sums[at] += seconds
            self._tests[report.nodeid] += seconds

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        write = terminalreporter.write_line
        terminalreporter.section("seconds of processor time")
        write("   all  worker children emulator  unit")
        rows = sorted(self._sums.items(), key=lambda row: -sum(row[1]))
        total = [sum(column) for column in zip(*self._sums.values())]
        for name, (own, children, emulated) in [*rows, ("all of them", total)]:
            write(f"{own + children + emulated:6.1f} {own:7.1f} {children:8.1f} {emulated:8.1f}"
                  f"  {name.strip()}")  # fmt: skip
        slowest = sorted(self._tests.items(), key=lambda row: -row[1])[:40]
        for name, seconds in (row for row in slowest if row[1] >= 1):
            write(f"{seconds:6.1f}  {name}")
