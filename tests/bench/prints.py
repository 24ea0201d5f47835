"""Where the instructions of a hit that prints go.

First by function, of the same C in a process (callgrind); then in guests, where each row has one
thing more than the one before.

Last, what the consumer takes for a megabyte of output, from its threads' own accounts of time: in
such a guest a nanosecond is an instruction, of the kernel in its name as well.  SystemTap's stapio
takes the same lines from a module that SystemTap made, where `tests.oracle` can have that.

As in `hits`. What the consumer does meanwhile is told apart by stopping it while the calls are
made, for the buffer has room for all of them.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from statistics import median

from stapy.kernel.target import Kernel
from stapy.vm.machine import EXITED, Machine
from tests.bench import Row, Rows
from tests.bench.hits import ENTRY, PROGRAM, figure
from tests.bench.kernels import kernels, line
from tests.oracle import chroot, guest
from tests.sanitized.conftest import FLAGS, HERE, RUNTIME, UNITS
from tests.vm.harness import ScriptResult, build, run_built

SHIM = HERE / "shim/kernel.c"

_CALL = "/run/hits getppid"
# The consumer is the parent of its command.
_STOPPED = f"sh -c 'kill -STOP $PPID; {_CALL}; kill -CONT $PPID'"
# Instructions of all threads of the consumer and bytes in its file, before and after the calls.
_TAKEN = """
account() {
    cat /proc/$PPID/task/*/schedstat | awk '{ n += $1 } END { printf "%.0f ", n }'
    stat -c %s out
}
sleep 1; before=$(account); /run/hits getppid; sleep 1; echo taken $before $(account)
"""
_WIDTHS = (20, 500)
_RUNS = 5
_LINES = 20_000
_FUNCTIONS = (
    *("handler", "stapy_print_begin", "stapy_out_plain", "stapy_out_decimal", "stapy_print_end"),
    *("stapy_ring_commit", "stapy_rings_read", "copy_missing"),
)
PARTS = (
    ("nothing", "%{ /* a handler that stays */ %}"),
    ("a print of one byte", 'print("x")'),
    ("printf of a constant string", 'printf("%s\\n", "0123456789abcde")'),
    ("printf of execname()", 'printf("%s\\n", execname())'),
    ("printf of pid()", 'printf("%d\\n", pid())'),
    ("printf of execname(), pid()", 'printf("%s %d\\n", execname(), pid())'),
)


def rows() -> Rows:
    """Yield figures by function, then of one kernel after the other."""
    with tempfile.TemporaryDirectory(prefix="stapy-bench-") as scratch:
        yield from _function_rows(Path(scratch))
    with tempfile.TemporaryDirectory(prefix="stapy-bench-") as scratch:
        program = Path(scratch) / "hits"
        subprocess.run(["gcc", "-O2", "-o", program, PROGRAM], check=True)
        for kernel in kernels():
            yield from _kernel_rows(kernel, program, Path(scratch))


def _function_rows(scratch: Path) -> Rows:
    """Count what functions a line goes through take; strings are read by bytes here."""
    if not shutil.which("valgrind"):
        yield Row("a printed line, failed: valgrind is not installed", 0.0, "instr")
        return
    program, counts = scratch / "prints", scratch / "counts"
    sources = [*(RUNTIME / f"{unit}.c" for unit in UNITS), SHIM, PROGRAM.with_name("prints.c")]
    flags = [flag for flag in FLAGS if flag not in ("-O1", "-Werror")]
    words = ["gcc", *flags, "-O2", f"-DLINES={_LINES}", *map(str, sources), "-o", str(program)]
    subprocess.run([*words, "-lpthread"], check=True)
    words = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={counts}", str(program)]
    subprocess.run(words, check=True, capture_output=True)
    words = ["callgrind_annotate", str(counts)]
    told = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    found: dict[str, int] = {}
    for count, name in re.findall(r"^ *([\d,]+) \([ \d.]+%\) +\S*:(\w+)", told, re.MULTILINE):
        found[name] = found.get(name, 0) + int(count.replace(",", ""))
    for name in _FUNCTIONS:
        yield Row(f"a printed line, {name}", found.get(name, 0) / _LINES, "instr")


def _kernel_rows(kernel: Kernel, program: Path, scratch: Path) -> Rows:
    with Machine(kernel.release, extra=["-icount", "shift=0"], timeout=300) as machine:
        machine.start()
        machine.run(["install", "-m755", machine.push(program), "/run/hits"])
        bare = figure(machine.run(shlex.split(_CALL)).stdout.decode())
        for name, body in PARTS:
            for who, command in (("nobody reads", _STOPPED), ("read meanwhile", _CALL)):
                folder = Path(tempfile.mkdtemp(dir=scratch))
                words = ["-g", "-c", command, "-e", f"{ENTRY} {{ {body} }}"]
                built = build(kernel.release, words, folder)
                results = [run_built(machine, built, words, 300) for _ in range(_RUNS)]
                bad = [r for r in results if r.kind != EXITED or r.status or "lost" in r.stderr]
                title = f"{line(kernel)}, {name}, {who}"
                if bad:
                    yield Row(f"{title} failed: {bad[0].stderr.strip()[:200]}", 0.0, "instr")
                else:
                    cost = median(figure(result.stdout) for result in results) - bare
                    yield Row(title, cost, "instr")
        yield from _consumer_rows(kernel, machine, program, scratch)


def _consumer_rows(kernel: Kernel, machine: Machine, program: Path, scratch: Path) -> Rows:
    """Measure our consumer, and SystemTap's where its chroot can be had."""
    sides = {"the consumer": (build, run_built)}
    try:
        inside = guest.mount(machine)
        machine.run(["install", "-m755", machine.push(program), f"{inside}/run/hits"])
        sides["stapio"] = guest.build, guest.run_built
    except chroot.NoOracle as refusal:
        yield Row(f"{line(kernel)}, stapio, failed: {refusal}", 0.0, "instr")
    for width in _WIDTHS:
        # SystemTap needs debuginfo for functions, and none for tracepoints.
        body = f'if ($id == 110) printf("%{width - 1}d\\n", 1)'
        script = f'probe kernel.trace("sys_enter") {{ {body} }}'
        words = ["-o", "out", "-c", f"sh -c {shlex.quote(_TAKEN)}", "-e", script]
        for side, (make, take) in sides.items():
            made = make(kernel.release, words, Path(tempfile.mkdtemp(dir=scratch)))
            title = f"{line(kernel)}, {side}, for each MB of lines of {width} bytes"
            yield _consumer_row(title, take(machine, made, words, 300))


def _consumer_row(title: str, result: ScriptResult) -> Row:
    """Read what a consumer took to bring lines into a file in memory."""
    found = re.search(r"^taken (\d+) (\d+) (\d+) (\d+)$", result.stdout, re.MULTILINE)
    if result.kind != EXITED or result.status or not found or "lost" in result.stderr:
        return Row(f"{title} failed: {result.stderr.strip()[:200]}", 0.0, "instr")
    before, begun, after, ended = map(int, found.groups())
    return Row(title, (after - before) / (ended - begun) * 1e6, "instr")
