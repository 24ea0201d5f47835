"""What one hit of a probe costs, in instructions, which no other work on the machine changes.

The guest has one processor whose clock counts instructions (QEMU's ``-icount``),
so the cycle counter does, too.  A program does 20,000 system calls with and
without a module; the difference of one call is the cost of one hit, with all
that the consumer does meanwhile.  The same figure comes out within a percent.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import tempfile
from pathlib import Path
from statistics import median
from typing import NamedTuple

from stapy.kernel.target import Kernel
from stapy.vm.machine import EXITED, Machine
from tests.bench import Row, Rows
from tests.bench.kernels import kernels, line
from tests.vm.harness import build, run_built

PROGRAM = Path(__file__).with_name("hits.c")
BARE = Path(__file__).with_name("bare_kernel.c")
_LEAST = 40.0  # of a hit: ftrace alone takes that
GETPPID, READ, WRITE = "getppid", "read", "write"
ENTRY = 'probe kernel.function("__x64_sys_getppid")'
VFS_READ = 'probe kernel.function("vfs_read")'
RETURN = 'probe kernel.function("vfs_read").return'
ENTER = 'probe kernel.trace("sys_enter")'
OFF = "if (on) { n++ } probe timer.s(86400) { on = 1 }"  # armed never


class Hit(NamedTuple):
    """A script, the call that hits it once, the budget and SystemTap's published figure."""

    name: str
    call: str
    script: str
    budget: str
    peer: str = ""
    hit: bool = True

    @property
    def runs(self) -> int:
        """What the consumer does while it is printed depends on the host: the median counts."""
        return 5 if "printf" in self.script else 1


HITS = (
    Hit("entry, nothing", GETPPID, ENTRY + " { %{ /* a handler that stays */ %} }", "70", "450"),
    Hit("entry, n++", GETPPID, f"global n {ENTRY} {{ n++ }}", "80", "484"),
    Hit("entry, n <<< 1", GETPPID, f"global n {ENTRY} {{ n <<< 1 }}", "240", "478"),
    Hit(
        "entry, a filter that misses",
        GETPPID,
        f"global n {ENTRY} {{ if (pid() == 1) n++ }}",
        "220",
        "481",
    ),
    Hit("entry, a[pid()]++", GETPPID, f"global a {ENTRY} {{ a[pid()]++ }}", "320", "608"),
    Hit("entry, a[execname()]++", GETPPID, f"global a {ENTRY} {{ a[execname()]++ }}", "400", "826"),
    Hit(
        "entry, a[execname(),pid()]++",
        GETPPID,
        f"global a {ENTRY} {{ a[execname(),pid()]++ }}",
        "450",
        "898",
    ),
    Hit(
        "entry, a[execname()] <<< $count",
        READ,
        f"global a {VFS_READ} {{ a[execname()] <<< $count }}",
        "420",
        "741",
    ),
    Hit(
        "entry, printf of execname(), pid()",
        GETPPID,
        ENTRY + ' { printf("%s %d\\n", execname(), pid()) }',
        "450",
        "3702",
    ),
    Hit("entry, $file->f_mode", READ, f"global n {VFS_READ} {{ n = $file->f_mode }}", "300", "598"),
    Hit(
        "entry, a[backtrace()]++",
        GETPPID,
        f"global a {ENTRY} {{ a[backtrace()]++ }}",
        "1500",
        "23716",
    ),
    Hit("return, n++", READ, f"global n {RETURN} {{ n++ }}", "260", "734"),
    Hit("return, a <<< $return", READ, f"global a {RETURN} {{ a <<< $return }}", "520", "769"),
    Hit(
        "latency: t[tid()], statistics at return",
        READ,
        f"global t, a {VFS_READ} {{ t[tid()] = gettimeofday_ns() }} {RETURN}"
        " { if (tid() in t) { a <<< gettimeofday_ns() - t[tid()]; delete t[tid()] } }",
        "600",
        "1890",
    ),
    Hit(
        "return, @entry(gettimeofday_ns())",
        READ,
        f"global a {RETURN} {{ a <<< gettimeofday_ns() - @entry(gettimeofday_ns()) }}",
        "420",
        "2502",
    ),
    Hit("tracepoint, n++", GETPPID, f"global n {ENTER} {{ n++ }}", "105", "380"),
    Hit("tracepoint, a[$id]++", GETPPID, f"global a {ENTER} {{ a[$id]++ }}", "240", "485"),
    Hit(
        "syscall.write, a[execname()] <<< count",
        WRITE,
        "global a probe syscall.write { a[execname()] <<< count }",
        "480",
        "1525",
    ),
    Hit(
        "syscall.write, printf of argstr",
        WRITE,
        'probe syscall.write { printf("%s\\n", argstr) }',
        "1100",
        "9695",
    ),
    Hit(
        "syscall.write, printf of argstr, a filter that misses",
        WRITE,
        'probe syscall.write { if (pid() == 1) printf("%s\\n", argstr) }',
        "250",
    ),
    Hit(
        "entry, tid() and execname() three times",
        GETPPID,
        f"global a, b, c {ENTRY} {{ a[tid(), execname()] = 1 b[tid(), execname()] = 2"
        " c[tid(), execname()] = 3 }",
        "1000",
    ),
    Hit(
        "entry, a[x] changed and deleted where x in a",
        GETPPID,
        f"global a {ENTRY} {{ a[tid()] = 1; if (tid() in a) {{ a[tid()] += a[tid()];"
        " delete a[tid()] } }",
        "500",
    ),
    Hit("entry, disarmed", GETPPID, f"global on, n {ENTRY} {OFF}", "5", hit=False),
    Hit("return, disarmed", READ, f"global on, n {RETURN} {OFF}", "5", hit=False),
    Hit("tracepoint, disarmed", GETPPID, f"global on, n {ENTER} {OFF}", "5", hit=False),
    Hit(
        "entry, n++, its condition true",
        GETPPID,
        f"global on, n probe begin {{ on = 1 }} {ENTRY} {OFF}",
        "230",
    ),
)


def rows() -> Rows:
    """Yield figures of one kernel after the other."""
    with tempfile.TemporaryDirectory(prefix="stapy-bench-") as scratch:
        program = Path(scratch) / "hits"
        subprocess.run(["gcc", "-O2", "-o", program, PROGRAM], check=True)
        for kernel in kernels():
            yield from _kernel_rows(kernel, program, Path(scratch))


def _kernel_rows(kernel: Kernel, program: Path, scratch: Path) -> Rows:
    with Machine(kernel.release, extra=["-icount", "shift=0"], timeout=300) as machine:
        machine.start()
        inside = "/run/hits"
        machine.run(["install", "-m755", machine.push(program), inside])
        bare = {}
        for call in (GETPPID, READ, WRITE):
            result = machine.run([inside, call])
            bare[call] = figure(result.stdout.decode())
            yield Row(f"{line(kernel)}, {call} without a probe", bare[call], "instr")
        yield from _bare_rows(kernel, machine, bare, scratch)
        for hit in HITS:
            folder = Path(tempfile.mkdtemp(dir=scratch))
            words = ["-g", "-c", shlex.join([inside, hit.call]), "-e", hit.script]
            name = f"{line(kernel)}, {hit.name}"
            built = build(kernel.release, words, folder)
            results = [run_built(machine, built, words, 300) for _ in range(hit.runs)]
            bad = [r for r in results if r.kind != EXITED or r.status or "lost" in r.stderr]
            if bad:
                yield Row(f"{name} failed: {bad[0].stderr.strip()[:200]}", 0.0, "instr")
                continue
            cost = median(figure(result.stdout) for result in results) - bare[hit.call]
            if hit.hit and cost < _LEAST:
                yield Row(f"{name} failed: it was not hit", cost, "instr")
                continue
            yield Row(name, cost, "instr", hit.budget, hit.peer)


def _bare_rows(kernel: Kernel, machine: Machine, calls: dict[str, float], scratch: Path) -> Rows:
    """Measure what the kernel's own part takes."""
    module = machine.push(bare_module(kernel, BARE, scratch))
    for kind, call in (("entry", GETPPID), ("return", READ), ("tracepoint", GETPPID)):
        text = f"set -e; insmod {module} kind={kind}; /run/hits {call}; rmmod {BARE.stem}"
        result = machine.run(["sh", "-c", f"{text}; dmesg | tail -1"])
        output = result.stdout.decode()
        name = f"{line(kernel)}, bare {kind}"
        counted = re.search(r"bare: (\d+) hits$", output)
        if result.status or not counted or int(counted[1]) < 1000:
            yield Row(f"{name} failed: {result.stderr.decode().strip()[:200]}", 0.0, "instr")
            continue
        yield Row(name, figure(output) - calls[call], "instr")


def bare_module(kernel: Kernel, source: Path, scratch: Path) -> Path:
    """Compile a module that is nothing but its source, by kbuild alone."""
    folder = Path(tempfile.mkdtemp(dir=scratch))
    (folder / source.name).write_bytes(source.read_bytes())
    (folder / "Makefile").write_text(f"obj-m := {source.stem}.o\n")
    words = ["make", "-s", "-C", str(kernel.build_dir), f"M={folder}", "modules"]
    subprocess.run(words, check=True, capture_output=True)
    return folder / f"{source.stem}.ko"


def figure(output: str) -> float:
    """Read what the program said of one call."""
    found = re.search(r"^(?:getppid|read|write) ([\d.]+)$", output, re.MULTILINE)
    return float(found[1]) if found else float("nan")
