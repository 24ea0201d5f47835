"""What one hit of a probe in a program costs, in instructions, as `hits` counts them.

The kernel's own part is most of it: its budget is in brackets, measured by a consumer that counts
hits for itself (964 and 1,545 instructions at an entry on 6.1, 2,056 and 2,660 at a return).
"""

from __future__ import annotations

import re
import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from stapy.kernel.target import Kernel
from stapy.vm.machine import EXITED, Machine
from tests.bench import Row, Rows
from tests.bench.kernels import kernels, line
from tests.vm.harness import build, run_built

SOURCE = Path(__file__).with_suffix(".c")
INCLUDE = Path(__file__).parent.parent.parent / "include"
_LEAST = 500.0  # of a hit: the trap alone takes more
EMULATED, STEPPED, MARK = "emulated", "stepped", "mark"


class Hit(NamedTuple):
    """A script, in which ``POINT`` is the place of the call, and how many frames are above it."""

    name: str
    call: str
    script: str
    budget: str = ""
    peer: str = ""
    frames: int = 0
    after: str = ""  # of the point


HITS = (
    Hit("function (emulated), nothing", EMULATED, "POINT { %{ /* stays */ %} }"),
    Hit("function (emulated), n++", EMULATED, "global n POINT { n++ }", "1070"),
    Hit("function (stepped), n++", STEPPED, "global n POINT { n++ }", "1640", "1928"),
    Hit("return (emulated), n++", EMULATED, "global n POINT { n++ }", "2150", after=".return"),
    Hit("return (stepped), n++", STEPPED, "global n POINT { n++ }", "2740", after=".return"),
    Hit("mark, n++", MARK, "global n POINT { n++ }", "970"),
    Hit("mark, a[user_string($arg1)]++", MARK,
        "global a POINT { a[user_string($arg1)]++ }", "1350"),
    Hit("function, a[ubacktrace()]++, 5 frames", EMULATED, "global a POINT { a[ubacktrace()]++ }",
        peer="44779", frames=5),
    Hit("function, a[ubacktrace()]++, 20 frames", EMULATED,
        "global a POINT { a[ubacktrace()]++ }", "6000", frames=20),
    Hit("function, n += ustack(1), 20 frames", EMULATED, "global n POINT { n += ustack(1) }",
        frames=20),
    Hit("function, n += ustack(18), 20 frames", EMULATED, "global n POINT { n += ustack(18) }",
        frames=20),
    Hit("function, a[sprint_ubacktrace()]++, 5 frames", EMULATED,
        "global a POINT { a[sprint_ubacktrace()]++ }", peer="88691", frames=5),
    Hit("function, a[sprint_ubacktrace()]++, 20 frames", EMULATED,
        "global a POINT { a[sprint_ubacktrace()]++ }", frames=20),
    Hit("function, a[usymfileline(ustack(1))]++", EMULATED,
        "global a POINT { a[usymfileline(ustack(1))]++ }", frames=5),
)  # fmt: skip


def rows() -> Rows:
    """Figures of one kernel after the other."""
    with tempfile.TemporaryDirectory(prefix="stapy-bench-") as scratch:
        program = Path(scratch) / "user"
        words = ["-O2", "-g", "-I", str(INCLUDE), "-fomit-frame-pointer"]
        subprocess.run(["gcc", *words, "-o", program, SOURCE], check=True)
        for kernel in kernels():
            yield from _kernel_rows(kernel, program, Path(scratch))


def _kernel_rows(kernel: Kernel, program: Path, scratch: Path) -> Rows:
    with Machine(kernel.release, extra=["-icount", "shift=0"], timeout=600) as machine:
        machine.start()
        bare: dict[tuple[str, int], float] = {}
        for hit in HITS:
            command = [str(program), hit.call, str(max(hit.frames - 3, 0))]
            if (hit.call, hit.frames) not in bare:
                alone = machine.run(command)
                bare[hit.call, hit.frames] = _figure(alone.stdout.decode())
            place = "mark" if hit.call == MARK else "function"
            point = f'probe process("{program}").{place}("{hit.call}"){hit.after}'
            folder = Path(tempfile.mkdtemp(dir=scratch))
            script = hit.script.replace("POINT", point)
            words = ["-g", "-DSTP_NO_OVERLOAD", "-c", shlex.join(command), "-e", script]
            name = f"{line(kernel)}, {hit.name}"
            built = build(kernel.release, words, folder)
            result = run_built(machine, built, words, 600)
            cost = _figure(result.stdout) - bare[hit.call, hit.frames]
            if result.kind != EXITED or result.status or not cost > _LEAST:
                yield Row(f"{name} failed: {result.stderr.strip()[:200]}", 0.0, "instr")
                continue
            yield Row(name, cost, "instr", hit.budget, hit.peer)


def _figure(output: str) -> float:
    """What the program said of one call."""
    found = re.search(r"^\w+ ([\d.]+)$", output, re.MULTILINE)
    return float(found[1]) if found else float("nan")
