"""Memory that the kernel denies, wherever it is asked for: an error, and nothing is left behind.

Only a kernel with fault injection can do that: see "A kernel that watches" in CONTRIBUTING.md.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.vm.machine import Machine
from stapy.vm.tree import interpreter
from tests.vm.needs import need
from tests.vm.safety.support import LONG, figures, make, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

ROUNDS = 2000 if LONG else 60
SECONDS = 1800 if LONG else 300
ENDS = 'probe begin { println("begin") } probe end { println("end") }\n'
COUNT = "{ n++ } global n probe never { println(n) }\n"

# What each family asks the kernel for: few places and many, the kernel's own structures and ours.
FAMILIES = {
    "data": """global a[100], s[50], t probe timer.s(900) { a[execname()] = pp(); s[pid()] <<< 1
        t <<< 2; println(a["x"], @count(s[1]), @sum(t), sprintf("%s", tz_ctime(1))) }""",
    "timer": f"probe timer.s(900), timer.jiffies(90000).randomize(100) {COUNT}",
    "kprobe": f'probe kernel.function("vfs_read"), kernel.statement(0)?, '
    f'kernel.function("vfs_write").return {COUNT}',
    "entries": f'probe kernel.function("vfs_f*"), kernel.function("vfs_g*").return {COUNT}',
    "saved": 'probe kernel.function("vfs_read").return { if (@entry(pid()) == 1) println(1) }',
    "tracepoint": f'probe kernel.trace("sched_*") {COUNT}',
    "perf": f"probe perf.sw.context_switches.sample(900000), timer.profile {COUNT}",
    "watchpoint": f'probe kernel.data("jiffies_64").write {COUNT}',
    "netfilter": f"probe netfilter.ip.local_out, netfilter.ip.local_in {COUNT}",
    "processes": f"probe process.begin, process.end, process.thread.end, process.syscall {COUNT}",
    # The process that starts the session is watched: its events are made in its own calls.
    "taskevents": f'probe process("{interpreter()}").data(0x1000).rw, '
    f'perf.type(1).config(2).process("{interpreter()}") {COUNT} '
    f'probe perf.type(1).config(0).process("{interpreter()}").counter("clock") {{}} '
    'probe timer.s(900) { println(@perf("clock")) }',
    "conditions": f'global on probe timer.s(900) {{ on = !on }} '
    f'probe kernel.trace("sched_switch") if (on), kernel.function("vfs_read") if (on) {COUNT}',
}  # fmt: skip
# Programs that points name, which a consumer hands over.
PROGRAMS = {"taskevents": interpreter()}
# These ask for nothing when a session starts.
ALL_AT_LOAD = ("data", "timer")


@pytest.fixture(scope="module")
def modules(release: str) -> dict[str, Path]:
    """Each made when it is asked for first, on kernels that can do it only."""
    need(release, "CONFIG_FAIL_PAGE_ALLOC")
    return {}


# What is asked for at load is the same for all families.
CASES = [(family, phase) for family in FAMILIES for phase in ("start", "stop")]


@pytest.mark.parametrize(("family", "phase"), [("data", "load"), ("entries", "load"), *CASES])
def test_memory_that_is_denied(
    family: str,
    phase: str,
    pair: Machine,
    release: str,
    modules: dict[str, Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    if family not in modules:
        script = ("-s", "1", "-DSTP_NO_OVERLOAD", "-e", ENDS + FAMILIES[family])
        modules |= make(release, tmp_path_factory.mktemp("modules"), **{family: script})
    program = Path(__file__).with_name("inject.py")
    words = f"{phase} ${family} {ROUNDS} {PROGRAMS.get(family, '')}"
    text = f"{interpreter()} -IS {program} {words}; echo probes=$(probes)"
    # The kernel tells of memory that somebody wanted and did not get.
    told = frozenset({"memory"})
    lines, result = shell(pair, {family: modules[family]}, text, SECONDS, told)
    found = figures(lines)
    print(f"\n{found}, {result.seconds:.0f} s")
    assert len(lines) == len(found) == 5, (lines, result.stderr)
    # Not each of them is the same allocation every time; most are, and some must matter.
    assert found["reached"] >= found["rounds"] // 2, found
    if phase == "start" and family in ALL_AT_LOAD:
        assert found["allocations"] == 0, found
    elif phase != "stop":
        assert found["refused"] > 0, found
    assert found["probes"] == 0, found
