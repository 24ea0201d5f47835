"""Scripts under SystemTap and under stapy, side by side.

    python -m tests.oracle [--kernel 6.1] [--only systemtap|stapy] [--diff] SCRIPT.stp … [-e TEXT] …
    python -m tests.oracle [--kernel 6.1] --programs 0:2000 [--batch 25]     random programs
    python -m tests.oracle [--kernel 6.1] --cases [SCRIPT.stp …]             tests/vm, tests/tapsets

A script may begin with the comments that cases of tests/vm have (`# args: -g`, `# command: …`).
One guest is booted for all scripts of the command line; each is shown with its standard output,
its messages and its exit status.

With --programs and --cases only what differs is shown, and the exit status is 1 when any of it is
explained by no row of docs/differences.md (known.txt; `known` says how).
"""

from __future__ import annotations

import argparse
import difflib
import shutil
import sys
from pathlib import Path

from stapy.vm import kernels
from stapy.vm.machine import Machine
from tests.oracle import chroot, compare, guest, known
from tests.vm import harness


def release_of(line: str) -> str:
    """Find the newest installed kernel of a line such as 6.1, or the release itself."""
    for release in kernels.lines():
        if release == line or release.startswith(line + "."):
            return release
    raise SystemExit(f"no kernel of line {line} is installed")


def seeds(word: str) -> tuple[int, int]:
    """Read the seeds of random programs, the second not included.  Raises ArgumentTypeError."""
    first, _, end = word.partition(":")
    if not (first.isdigit() and end.isdigit() and int(first) < int(end)):
        raise argparse.ArgumentTypeError(f"{word} is not FIRST:END")
    return int(first), int(end)


def shown(result: harness.ScriptResult) -> str:
    """Print a result as text."""
    parts = [result.stdout]
    if not result.stdout.endswith("\n"):
        parts.append("\n")
    parts += [f"[stderr]\n{result.stderr}[status {result.status}]\n"]
    if result.kind != "exited":
        parts.append(f"[{result.kind}]\n{result.dmesg[-3000:]}\n")
    return "".join(parts)


class Teller:
    """Prints what a comparison comes to, as it comes."""

    def __init__(self, tally: compare.Tally) -> None:
        self.tally = tally
        self.told = 0

    def tell(self, what: str) -> None:
        """Print what is new since the last call, and all counts."""
        for found in self.tally.differences[self.told :]:
            print(f"===== {found.name}\n{found.text}\n{found.script}")
            if len(found.unexplained) < len(compare.changed(found.text)):
                print("not explained of it:", *found.unexplained, sep="\n")
        self.told = len(self.tally.differences)
        lists = {
            "refused by SystemTap alone": self.tally.only_ours,
            "known": self.tally.explained,
            "no longer differs": self.tally.gone,
        }
        for head, lines in lists.items():
            for line in lines:
                print(f"{head}: {line}")
            lines.clear()
        print(f"--- {what}: {self.tally}", flush=True)


def many(release: str, options: argparse.Namespace) -> int:
    """Compare many and show the differences as they come; 1 when some are not explained."""
    scratch = guest.scratch()
    tally = compare.Tally(known.listed(release))
    teller = Teller(tally)
    first, end = options.programs or (0, 0)
    cases = harness.all_cases() if options.cases else []
    named = {Path(name).resolve() for name in options.scripts}
    foreign = named - {case.path for case in cases}
    if foreign:
        raise SystemExit(f"no case of the tests: {', '.join(map(str, sorted(foreign)))}")
    try:
        with Machine(release) as machine:
            batches = compare.Batches(machine, scratch, tally)
            for seed in range(first, end, options.batch):
                behind = min(end, seed + options.batch)
                batches.run(list(range(seed, behind)))
                teller.tell(f"programs to {behind}")
            for number, case in enumerate(cases):
                if case.runs_on(release) and (not named or case.path in named):
                    compare.run_case(machine, case, scratch / str(number), tally, options.debug)
                    teller.tell(str(case.path.relative_to(harness.ROOT)))
    except chroot.NoOracle as error:
        raise SystemExit(f"no oracle: {error}") from None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return 1 if tally.differences else 0


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.oracle",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--kernel", default="6.1")
    parser.add_argument("--only", choices=("systemtap", "stapy"))
    parser.add_argument("--diff", action="store_true", help="the differences, not the texts")
    parser.add_argument("--debug", action="store_true", help="show it the debug package: slow")
    parser.add_argument("--args", default="", help="more words for both command lines")
    parser.add_argument("-e", action="append", default=[], metavar="TEXT")
    parser.add_argument("scripts", nargs="*")
    parser.add_argument(
        "--programs", metavar="FIRST:END", type=seeds, help="seeds of random programs"
    )
    parser.add_argument("--batch", type=int, default=25, help="programs in one module")
    parser.add_argument("--cases", action="store_true", help="all cases of the tests")
    options = parser.parse_args()
    if not (options.scripts or options.e or options.programs or options.cases):
        parser.error("nothing to compare")
    missing = [name for name in options.scripts if not (options.cases or Path(name).is_file())]
    if missing:
        parser.error(f"no such script: {', '.join(missing)}")
    release = release_of(options.kernel)
    if options.programs or options.cases:
        raise SystemExit(many(release, options))
    scratch = guest.scratch()
    try:
        with Machine(release) as machine:
            machine.start()
            scripts = [Path(name) for name in options.scripts]
            for number, text in enumerate(options.e):
                scripts.append(scratch / f"text{number}.stp")
                scripts[-1].write_text(text)
            for script in scripts:
                case = harness.read_case(script)
                case.args += options.args.split()
                texts = {}
                for side in ("systemtap", "stapy"):
                    if options.only in (None, side):
                        folder = scratch / f"{script.stem}-{side}"
                        texts[side] = shown(
                            guest.run_case(machine, side, case, folder, options.debug)
                        )
                print(f"===== {script}")
                if options.diff and len(texts) == 2:
                    lines = [text.splitlines() for text in texts.values()]
                    print(*difflib.unified_diff(*lines, *texts, lineterm=""), sep="\n")
                else:
                    for side, text in texts.items():
                        print(f"----- {side}\n{text}", end="")
                sys.stdout.flush()
    except chroot.NoOracle as error:
        raise SystemExit(f"no oracle: {error}") from None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
