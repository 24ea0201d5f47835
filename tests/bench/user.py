"""What one hit of a probe in a program costs, in instructions, as `hits` counts them.

The kernel's own part is most of it: rows named "bare" are of a module that does nothing but
register for the place and count (``bare.c``).
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from stapy.kernel.target import Kernel
from stapy.vm.machine import EXITED, Machine
from tests.bench import Row, Rows
from tests.bench.hits import bare_module
from tests.bench.kernels import kernels, line
from tests.vm.harness import build, run_built

SOURCE = Path(__file__).with_suffix(".c")
BARE = Path(__file__).with_name("bare.c")
INCLUDE = Path(__file__).parent.parent.parent / "include"
COUNTED = 4200  # calls of the program: with those that warm it up
_LEAST = 500.0  # of a hit: the trap alone takes more
_LEAST_ASKED = 20.0  # of a system call's: there is no trap
EMULATED, STEPPED, MARK, ASKED = "emulated", "stepped", "mark", "asked"
LANDING = "landing"  # endbr64, and behind it what is emulated


class Hit(NamedTuple):
    """A script, in which ``POINT`` is the place of the call, and how many frames are above it."""

    name: str
    call: str
    script: str
    budget: str = ""
    peer: str = ""
    frames: int = 0
    after: str = ""  # of the point
    options: tuple[str, ...] = ()


HITS = (
    Hit("function (emulated), nothing", EMULATED, "POINT { %{ /* stays */ %} }"),
    Hit("function (emulated), n++", EMULATED, "global n POINT { n++ }", "1070"),
    Hit("function (stepped), n++", STEPPED, "global n POINT { n++ }", "1640", "1928"),
    Hit("function (endbr64, push), n++", LANDING, "global n POINT { n++ }", "1070"),
    Hit("function (endbr64, push), n++, not moved", LANDING, "global n POINT { n++ }",
        options=("-DSTAPY_NO_SHIFT",)),
    Hit("return (endbr64, push), n++", LANDING, "global n POINT { n++ }", "2150",
        after=".return"),
    Hit("return (endbr64, push), n++, not moved", LANDING, "global n POINT { n++ }",
        after=".return", options=("-DSTAPY_NO_SHIFT",)),
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
    Hit("system call of another program, n++", ASKED,
        'global n probe process("/usr/bin/true").syscall { n++ }', "95"),
    Hit("system call, n++", ASKED, "global n POINT { n++ }", "170"),
    Hit("system call, return, n++", ASKED, "global n POINT { n++ }", after=".return"),
)  # fmt: skip


class Bare(NamedTuple):
    """A place that only a consumer of the kernel's watches."""

    name: str
    call: str
    after: str = ""


BARES = (
    Bare("function (emulated)", EMULATED),
    Bare("function (stepped)", STEPPED),
    Bare("return (emulated)", EMULATED, ".return"),
    Bare("return (stepped)", STEPPED, ".return"),
    Bare("mark", MARK),
)


def rows() -> Rows:
    """Yield figures of one kernel after the other."""
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
        yield from _bare_rows(kernel, machine, program, scratch)
        for hit in HITS:
            command = [str(program), hit.call, str(max(hit.frames - 3, 0))]
            if (hit.call, hit.frames) not in bare:
                alone = machine.run(command)
                bare[hit.call, hit.frames] = _figure(alone.stdout.decode())
            point = _point(program, hit.call, hit.after)
            folder = Path(tempfile.mkdtemp(dir=scratch))
            script = hit.script.replace("POINT", point)
            words = [
                "-g",
                "-DSTP_NO_OVERLOAD",
                *hit.options,
                "-c",
                shlex.join(command),
                "-e",
                script,
            ]
            name = f"{line(kernel)}, {hit.name}"
            built = build(kernel.release, words, folder)
            result = run_built(machine, built, words, 600)
            cost = _figure(result.stdout) - bare[hit.call, hit.frames]
            least = _LEAST_ASKED if hit.call == ASKED else _LEAST
            if result.kind != EXITED or result.status or not cost > least:
                yield Row(f"{name} failed: {result.stderr.strip()[:200]}", 0.0, "instr")
                continue
            yield Row(name, cost, "instr", hit.budget, hit.peer)


def _point(program: Path, call: str, after: str) -> str:
    if call == ASKED:
        return f'probe process("{program}").syscall{after}'
    place = "mark" if call == MARK else "function"
    return f'probe process("{program}").{place}("{call}"){after}'


def _bare_rows(kernel: Kernel, machine: Machine, program: Path, scratch: Path) -> Rows:
    """Measure what the kernel's own part takes."""
    module = machine.push(bare_module(kernel, BARE, scratch))
    for bare in BARES:
        command = shlex.join([str(program), bare.call, "0"])
        words = (
            f"file={program} offset={_offset(kernel, program, bare)} returns={bool(bare.after):d}"
        )
        text = f"set -e; {command}; insmod {module} {words}; {command}; rmmod bare"
        result = machine.run(["sh", "-c", f"{text}; dmesg | tail -1"])
        output = result.stdout.decode().splitlines()
        name = f"{line(kernel)}, bare uprobe, {bare.name}"
        if result.status or not output[-1].endswith(f"{COUNTED} hits"):
            yield Row(f"{name} failed: {result.stderr.decode().strip()[:200]}", 0.0, "instr")
            continue
        yield Row(name, _figure(output[1]) - _figure(output[0]), "instr")


def _offset(kernel: Kernel, program: Path, bare: Bare) -> int:
    """Find where the place is in the file, as a session of ours has it."""
    script = f"{_point(program, bare.call, bare.after)} {{ println() }}"
    words = [sys.executable, "-m", "stapy", "-p3", "-r", kernel.release, "-e", script]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    (found,) = re.findall(r"\.offset = (\d+)", done.stdout)
    return int(found)


def _figure(output: str) -> float:
    """Read what the program said of one call."""
    found = re.search(r"^\w+ ([\d.]+)$", output, re.MULTILINE)
    return float(found[1]) if found else float("nan")
