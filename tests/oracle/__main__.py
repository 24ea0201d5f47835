"""Scripts under SystemTap and under stapy, side by side.

    python -m tests.oracle [--kernel 6.1] [--only systemtap|stapy] [--diff] SCRIPT.stp … [-e TEXT] …
    python -m tests.oracle [--kernel 6.1] --programs 0:2000 [--batch 25]     random programs
    python -m tests.oracle [--kernel 6.1] --cases [SCRIPT.stp …]             tests/vm, tests/tapsets

A script may begin with the comments that cases of tests/vm have (`# args: -g`, `# command: …`).
One guest is booted for all scripts of the command line; each is shown with its standard output,
its messages and its exit status.
"""

from __future__ import annotations

import argparse
import difflib
import shutil
import sys
from pathlib import Path

from stapy.vm import kernels
from stapy.vm.machine import Machine
from tests.oracle import chroot, compare, guest
from tests.vm import harness


def release_of(line: str) -> str:
    """Find the newest installed kernel of a line such as 6.1, or the release itself."""
    for release in kernels.lines():
        if release == line or release.startswith(line + "."):
            return release
    raise SystemExit(f"no kernel of line {line} is installed")


def shown(result: harness.ScriptResult) -> str:
    """Print a result as text."""
    parts = [result.stdout]
    if not result.stdout.endswith("\n"):
        parts.append("\n")
    parts += [f"[stderr]\n{result.stderr}[status {result.status}]\n"]
    if result.kind != "exited":
        parts.append(f"[{result.kind}]\n{result.dmesg[-3000:]}\n")
    return "".join(parts)


def many(release: str, options: argparse.Namespace) -> int:
    """Compare many and show the differences as they come; 1 when there were any."""
    scratch = guest.scratch()
    first, _, end = (options.programs or "0:0").partition(":")
    with Machine(release) as machine:
        batches = compare.Batches(machine, scratch)
        tally, told = batches.tally, 0

        def tell(what: str) -> None:
            nonlocal told
            for found in tally.differences[told:]:
                print(f"===== {found.name}\n{found.text}\n{found.script}", flush=True)
            for line in tally.only_ours:
                print(f"refused by SystemTap alone: {line}")
            tally.only_ours.clear()
            told = len(tally.differences)
            counts = f"{tally.same} alike, {tally.refused} refused, {told} different"
            print(f"--- {what}: {counts}", flush=True)

        for seed in range(int(first), int(end), options.batch):
            batches.run(list(range(seed, min(int(end), seed + options.batch))))
            tell(f"programs to {seed + options.batch}")
        cases = harness.all_cases() if options.cases else []
        named = [Path(name).resolve() for name in options.scripts]
        for number, case in enumerate(cases):
            if case.runs_on(release) and (not named or case.path in named):
                compare.run_case(machine, case, scratch / str(number), tally, options.debug)
                tell(str(case.path))
    shutil.rmtree(scratch, ignore_errors=True)
    return 1 if tally.differences else 0


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description=__doc__)
    parser.add_argument("--kernel", default="6.1")
    parser.add_argument("--only", choices=("systemtap", "stapy"))
    parser.add_argument("--diff", action="store_true", help="the differences, not the texts")
    parser.add_argument("--debug", action="store_true", help="show it the debug package: slow")
    parser.add_argument("--args", default="", help="more words for both command lines")
    parser.add_argument("-e", action="append", default=[], metavar="TEXT")
    parser.add_argument("scripts", nargs="*")
    parser.add_argument("--programs", metavar="FIRST:END", help="seeds of random programs")
    parser.add_argument("--batch", type=int, default=25, help="programs in one module")
    parser.add_argument("--cases", action="store_true", help="all cases of the tests")
    options = parser.parse_args()
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
