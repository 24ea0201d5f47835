"""Measures how reliable stapy is, at full length, and writes what was found to docs/safety.md.

    python -m tests.torture                # each figure, on a kernel of each line: hours
    python -m tests.torture flood limits   # these only
    STAPY_TEST_KERNELS="$(.ci/debug-kernel)" python -m tests.torture

A figure is tests of the suite, whose rounds ``STAPY_LONG`` makes many. Its row has the kernel, the
day, the commit, how the tests ended and what they printed; it takes the place of an older one.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

from stapy.record import Record, new
from stapy.vm import kernels
from tests import commandline
from tests.vm.harness import releases

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "safety.md"
BEGINS, ENDS = "<!-- what tests.torture writes: -->", "<!-- . -->"
HEAD = (
    "| figure | kernel | day | commit | tests | what they printed |",
    "|---|---|---|---|---|---|",
)
SAFETY = "tests/vm/safety"
ANY = "any"  # the kernel of figures that need none


class Figure(Record):
    """What is measured, and the tests that do it."""

    name: str
    tests: tuple[str, ...]
    shown: str = r".+"  # the lines of their output that the row has: this part of each
    long: bool = True  # has more rounds than `make test` has time for
    kernel: bool = True  # needs one
    watched: bool = False  # on kernels only that watch what modules do
    settings: dict[str, str] = new(dict)


FIGURES = (
    Figure("load", (f"{SAFETY}/test_load.py::test_loading_and_unloading_under_load",)),
    Figure("kill", (f"{SAFETY}/test_load.py::test_killed_consumers",)),
    # 1,000 pointers for each of some 100 readers are what is asked for, and what they print.
    Figure("pointers", (f"{SAFETY}/test_pointers.py",), r"^\d+ pointers.*", long=False),
    Figure("wildcards", (f"{SAFETY}/test_wildcards.py",), r"^kernel.*", long=False),
    Figure("flood", (f"{SAFETY}/test_flood.py::test_flood",)),
    Figure("stream", (f"{SAFETY}/test_flood.py::test_a_reader_that_keeps_up_misses_nothing",)),
    Figure("limits", (f"{SAFETY}/test_limits.py",), r"(?!)", long=False),
    Figure(
        "fuzz",
        ("tests/debuginfo/test_fuzz.py", "tests/elaborate/test_fuzz.py"),
        r"^\w+ \S+: \d+ inputs.*",
        kernel=False,
        settings={"STAPY_FUZZ_SECONDS": "1200"},
    ),
    Figure("storm-programs", (f"{SAFETY}/test_uprobes.py::test_sessions_in_a_storm_of_programs",)),
    Figure(
        "storm-processes", (f"{SAFETY}/test_processes.py::test_sessions_in_a_storm_of_processes",)
    ),
    Figure("storm-marks", (f"{SAFETY}/test_marks.py::test_counters_in_a_storm_of_programs",)),
    Figure("storm-events", (f"{SAFETY}/test_taskevents.py::test_storms",)),
    # All that stapy does to a kernel, on those that watch: what is hard on one comes first.
    Figure("suite", (SAFETY, "tests/vm"), r"(?!)", long=False, watched=True),
)


class Found(Record):
    """How the tests of a figure ended, and what they printed."""

    passed: int = 0
    skipped: list[str] = new(list)  # the reason of each
    failed: list[str] = new(list)
    printed: list[str] = new(list)

    def ended(self) -> str:
        """Tell it in a cell of the table."""
        if self.failed:
            return "FAILED: " + ", ".join(self.failed)
        told = f"{self.passed} passed"
        reasons = ", ".join(f"{count} ({why})" for why, count in Counter(self.skipped).items())
        return f"{told}; skipped: {reasons}" if reasons else told


def read(report: Path, shown: str) -> Found:
    """Read a report of pytest: the ends of its tests, and the lines of their output."""
    found = Found()
    for case in ElementTree.parse(report).iter("testcase"):
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            found.failed.append(case.get("name", "?"))
        elif skipped is not None:
            found.skipped.append(skipped.get("message", "?"))
        else:
            found.passed += 1
        for line in case.findtext("system-out", "").splitlines():
            match = re.search(shown, line)
            if match and not line.startswith("---"):  # pytest's own headings
                found.printed.append(match[0].strip())
    return found


def measure(figure: Figure, kernel: str) -> Found:
    """Run the tests of a figure; what they say goes to the terminal, too."""
    settings = {**os.environ, **figure.settings}
    if figure.long:
        settings["STAPY_LONG"] = "1"
    if figure.kernel:
        settings["STAPY_TEST_KERNELS"] = kernel
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        words = [sys.executable, "-m", "pytest", "-v", f"--junitxml={report}"]
        words += ["-o", "junit_logging=system-out", *figure.tests]
        done = subprocess.run(words, cwd=ROOT, env=settings, check=False)
        if not report.exists():  # it was interrupted, or collected nothing
            return Found(failed=[f"pytest ended with {done.returncode}"])
        found = read(report, figure.shown)
    if not found.passed and not found.failed:
        found.failed.append("nothing was run")
    elif done.returncode not in (0, 1):  # the report says nothing of tests that were not begun
        found.failed.append(f"pytest ended with {done.returncode}")
    return found


def commit() -> str:
    """Name what is measured: the commit, with ``+`` behind it for changes to more than the page."""
    words = (
        ("rev-parse", "--short", "HEAD"),
        ("status", "--porcelain", "--", ".", f":!{PAGE.relative_to(ROOT)}"),
    )
    try:
        told = [
            subprocess.run(["git", *one], cwd=ROOT, check=True, capture_output=True, text=True)
            for one in words
        ]
    except (OSError, subprocess.CalledProcessError):
        return "?"  # no git, no history, or another user's
    return told[0].stdout.strip() + ("+" if told[1].stdout else "")


def row(figure: Figure, kernel: str, found: Found, of: str) -> str:
    """Write the row of a figure that was measured just now, ``of`` a commit."""
    printed = "; ".join(line.replace("|", "\\|") for line in found.printed)
    ended = found.ended().replace("|", "\\|")
    cells = (figure.name, kernel, time.strftime("%Y-%m-%d"), of, ended, printed)
    return "| " + " | ".join(cells) + " |"


def written(page: str, rows: Iterable[str]) -> str:
    """Put rows into the table of a page, each in the place of that of its figure and kernel."""
    before, _, rest = page.partition(BEGINS)
    table, ends, after = rest.partition(ENDS)
    assert ends, f"docs/safety.md has no place for a table ({BEGINS} … {ENDS})"
    kept = {key(line): line for line in table.splitlines()[3:] if line.startswith("|")}
    kept |= {key(line): line for line in rows}
    order = [figure.name for figure in FIGURES]
    lines = sorted(kept.values(), key=lambda line: (order.index(key(line)[0]), key(line)[1]))
    return f"{before}{BEGINS}\n" + "\n".join((*HEAD, *lines)) + f"\n{ENDS}{after}"


def key(line: str) -> tuple[str, str]:
    """Read what a row is about: the figure and the kernel."""
    _, figure, kernel, *_ = (cell.strip() for cell in line.split("|"))
    return figure, kernel


def jobs(names: list[str]) -> list[tuple[Figure, str]]:
    """List what shall be measured where, the kernels one after the other."""
    chosen = [one for one in FIGURES if one.name in names or not names]
    found = [(figure, ANY) for figure in chosen if not figure.kernel]
    for release in releases():
        watches = kernels.find(release).watches()
        found += [(one, release) for one in chosen if one.kernel and watches >= one.watched]
    return found


def main(names: list[str]) -> int:
    """Measure, and write each row when it is known; return the exit status."""
    known = [figure.name for figure in FIGURES]
    names = commandline.read("python -m tests.torture", __doc__, names, "figure", "*", known)
    failed = False
    for figure, kernel in jobs(names):
        measured = commit()  # it may be another one when the hours are over
        found = measure(figure, kernel)
        line = row(figure, kernel, found, measured)
        PAGE.write_text(written(PAGE.read_text(), [line]))
        print(line, flush=True)
        failed = failed or bool(found.failed)
    return int(failed)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)  # the rows that are known are written
