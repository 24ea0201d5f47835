"""What came of cases: lines for people, objects for programs, JUnit's report for both."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from stapy.diagnostics.layouts import json_line
from stapy.diagnostics.render import harmless, one_line
from stapy.record import Record, new
from stapy.tools import junit

if TYPE_CHECKING:
    from collections.abc import Callable

    from stapy.testing.comparing import Fault
    from stapy.testing.running import Ending

PASSED, FAILED, SKIPPED, UNUSABLE = "ok", "FAILED", "skipped", "ERROR"
_COLORS = {PASSED: "32", FAILED: "31", SKIPPED: "33", UNUSABLE: "31"}


class TestResult(Record):
    """What came of one case on one kernel; ``why`` says why it was not tried, if so."""

    __test__ = False  # pytest looks for classes of this name

    file: str
    script: str
    case: str
    kernel: str
    state: str
    why: str = ""
    faults: list[Fault] = new(list)
    ending: Ending | None = None


def as_text(result: TestResult, *, in_color: bool) -> str:
    """Write a line of a case, and behind it what is not as expected."""
    state = f"{result.state:<7}"
    if in_color:
        state = f"\033[{_COLORS[result.state]}m{state}\033[0m"
    line = f"{state} {one_line(f'{result.script}: {result.case}')}  ({_where(result)})"
    lines = [line + (f": {one_line(result.why)}" if result.why else "")]
    for fault in result.faults:
        lines.append(f"    {fault.what}")
        lines += [f"      {harmless(line)}".rstrip() for line in fault.lines]
    return "\n".join(lines) + "\n"


def _where(result: TestResult) -> str:
    return f"{result.kernel}, {result.ending.seconds:.1f} s" if result.ending else result.kernel


def summary(results: list[TestResult]) -> str:
    """Count what came of all cases, in one line."""
    names = ((PASSED, "passed"), (FAILED, "failed"), (SKIPPED, "skipped"), (UNUSABLE, "unusable"))
    counts = [(sum(one.state == state for one in results), name) for state, name in names]
    return ", ".join(f"{number} {name}" for number, name in counts if number) + "\n"


def all_skipped(results: list[TestResult]) -> str:
    """Say that nothing was tried, and why; "" when something was, or could not be."""
    if any(one.state != SKIPPED for one in results):
        return ""
    reasons = " or ".join(dict.fromkeys(one.why for one in results))
    many = f"all {len(results)} cases were" if len(results) > 1 else "the only case was"
    return f"nothing was tried: {many} skipped ({reasons})"


def as_json(result: TestResult) -> str:
    """Write an object on one line, with all that was printed."""
    ending = result.ending
    fields: dict[str, object] = {
        "file": result.file,
        "script": result.script,
        "case": result.case,
        "kernel": result.kernel,
        "state": result.state.lower(),
        "why": result.why,
        "faults": [{"what": one.what, "lines": one.lines} for one in result.faults],
    }
    if ending:
        fields.update(status=ending.status, seconds=round(ending.seconds, 3),
                      stdout=ending.stdout, stderr=ending.stderr)  # fmt: skip
    return json_line(fields) + "\n"


def as_junit(results: list[TestResult]) -> str:
    """Write a suite for each kernel and file, and a case for each case."""
    return junit.document("stapy test", [_junit_case(one) for one in results])


def _junit_case(result: TestResult) -> junit.JunitCase:
    name = result.case or Path(result.file).name
    case = junit.JunitCase(result.kernel, name, result.script or result.file, result.file)
    if result.state == UNUSABLE:
        case.error = result.why
    if result.state == SKIPPED:
        case.skipped = result.why
    if result.faults:
        case.failure = result.faults[0].what
        case.why = "".join("\n".join([one.what, *one.lines, ""]) for one in result.faults)
    if result.ending:
        case.out, case.err = result.ending.stdout, result.ending.stderr
        case.seconds = result.ending.seconds
    return case


def _each(results: list[TestResult]) -> str:
    return "".join(map(as_json, results))


def _lines(results: list[TestResult]) -> str:
    cases = [as_text(one, in_color=False) for one in results if one.case]
    return "".join(cases) + summary(results)


# Forms of what -o writes, and of standard output without it.
FORMS: dict[str, Callable[[list[TestResult]], str]] = {
    "rich": _lines,
    "json": _each,
    "junit": as_junit,
}
