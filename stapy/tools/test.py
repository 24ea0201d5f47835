"""``stapy test``: scripts are run, here or in virtual machines, and what they print is compared."""

from __future__ import annotations

import itertools
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from stapy.diagnostics.render import use_color
from stapy.kernel.release import line_and_flavour
from stapy.paths import exists
from stapy.record import Record
from stapy.terminal import progress, writing
from stapy.testing import companion, comparing, reports, running
from stapy.testing.companion import CompanionError
from stapy.testing.reports import TestResult
from stapy.tools import replacing
from stapy.tools.arguments import UNUSABLE as NOTHING_DONE
from stapy.tools.arguments import ToolArgumentParser, complain
from stapy.vm import kernels
from stapy.vm.errors import VmError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from stapy.testing.companion import TestCase

_STATUS = {reports.PASSED: 0, reports.SKIPPED: 0, reports.FAILED: 1, reports.UNUSABLE: 2}
_END = """\
The cases of NAME.stp stand in NAME.test.toml beside it. FILE is either, or a folder with such:

  [case."three reads are counted"]
  options = ["-g"]                     # of the command line
  arguments = ["3"]                    # of the script
  command = "cat /etc/hostname"        # -c
  expect = ["3 reads", { re = '^avg \\d+' }, { part = "us" }]   # lines, in this order
  never = [{ re = "(?i)error" }]

More keys: output, stderr, status, timeout, kernel; [defaults] has what all cases of a file have.
Options behind '--' are for all cases. docs/testing-scripts.md tells more.

The exit status is 0 (also when all cases were skipped, which is told), 1 when a case failed, 2 when
a file of cases or a kernel cannot be used, or the file of -o cannot be written."""


def parser() -> ToolArgumentParser:
    """Describe the command line."""
    it = ToolArgumentParser("test", "Run scripts and compare what they print.", _END)
    it.add_argument("--vm", metavar="=LINE", action="append", default=[], nargs="?",
                    help="in virtual machines with this kernel, the newest without =LINE;"
                    " may be repeated")  # fmt: skip
    it.add_argument("-k", dest="part", metavar="TEXT", default="",
                    help="only cases with TEXT in their name")  # fmt: skip
    it.add_argument("-x", dest="first", action="store_true", help="end after the first failure")
    it.add_argument("--message-format", dest="form", metavar="FORM", default="rich",
                    choices=tuple(reports.FORMS), help="rich, json, junit")  # fmt: skip
    it.add_argument("-o", dest="output", metavar="FILE",
                    help="write that to FILE; lines for people are on standard output")  # fmt: skip
    it.add_argument("files", metavar="FILE", nargs="+", help="a script, its cases, or a folder")
    return it


class Wish(Record):
    """A command line: where cases run, which of them, and options for all."""

    machines: list[str | None]  # kernels to boot; None is the one that runs
    part: str
    more: list[str]


def main(words: list[str]) -> int:
    """Obey a command line; return the exit status."""
    end = words.index("--") if "--" in words else len(words)
    given = parser().take(["--vm=" if word == "--vm" else word for word in words[:end]])
    for option, word in itertools.pairwise(words[:end]):
        if option == "--vm" and line_and_flavour(word) and not exists(Path(word)):
            complain(f"stapy test: '{word}' stands where files do; did you mean --vm={word}?")
            return NOTHING_DONE
    try:
        wish = Wish([_release(one) for one in given.vm] or [None], given.part, words[end + 1 :])
        if given.output is None:
            return _tell(given, wish, writing.write if given.form != "rich" else None)
        with replacing.written(given.output) as put:
            return _tell(given, wish, put)
    except VmError as error:
        complain(f"stapy test: --vm: {error}" + (f" ({error.hint})" if error.hint else ""))
    except (_NoCase, replacing.WriteError) as error:
        complain(f"stapy test: {error}")
    return NOTHING_DONE


class _NoCase(Exception):
    """Nothing was run; the text is the message."""


def _tell(given: argparse.Namespace, wish: Wish, put: Callable[[str], None] | None) -> int:
    """Run cases and tell of them; ``put`` takes a whole form, if one is wanted."""
    for_people = put is not writing.write
    results = _taken(_results(given.files, wish), given.first, for_people)
    if not results:
        raise _NoCase(f"no case has '{given.part}' in its name")
    if for_people:
        writing.write(reports.summary(results))
    if put is not None:
        put(reports.FORMS[given.form](results))
    if why := reports.all_skipped(results):
        print(f"WARNING: stapy test: {why}", file=sys.stderr)
    return max(_STATUS[result.state] for result in results)


def _release(line: str) -> str:
    """Find the kernel that ``--vm=LINE`` means; VmError when it is not here."""
    return kernels.find(line or kernels.default_release()).release


def _taken(results: Iterator[TestResult], first: bool, for_people: bool) -> list[TestResult]:
    """List results, shown as they come; up to the first failure if that is wanted."""
    in_color = for_people and use_color("auto") and sys.stdout.isatty()
    found = []
    for result in results:
        progress.clear()
        found.append(result)
        if not result.case:
            complain(f"stapy test: {result.why}")
        elif for_people:
            writing.write(reports.as_text(result, in_color=in_color))
        if first and _STATUS[result.state]:
            break
    return found


def _results(names: list[str], wish: Wish) -> Iterator[TestResult]:
    """Run the cases of all files; a file that cannot be used does not hide the others."""
    for name in names:
        try:
            paths = companion.find(name)
        except CompanionError as error:
            yield TestResult(name, "", "", "", reports.UNUSABLE, str(error))
            continue
        for path in paths:
            try:
                read = companion.read(path)
            except CompanionError as error:
                yield TestResult(str(path), "", "", "", reports.UNUSABLE, str(error))
                continue
            for machine in wish.machines:
                for case in read.cases:
                    if wish.part in case.name:
                        yield _result(path, case, machine, wish.more)


def _result(path: Path, case: TestCase, machine: str | None, more: list[str]) -> TestResult:
    """Run a case on a kernel and compare."""
    release = machine or os.uname().release
    script = os.path.normpath(path.parent / case.script)
    result = TestResult(str(path), script, case.name, release, reports.PASSED)
    if not case.runs_on(release):
        result.state, result.why = reports.SKIPPED, "it is for other kernels"
        return result
    progress.tell(f"{script}: {case.name}")
    try:
        line = running.words(case, path.parent, more, machine)
    except CompanionError as error:
        result.state, result.why = reports.UNUSABLE, str(error)
        return result
    result.ending = running.run(line, path.parent, case.timeout)
    result.faults = comparing.faults(case, result.ending)
    if result.faults:
        result.state = reports.FAILED
    return result
