"""A kernel of another kind: not installed, with locks that sleep and its drivers in modules."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from stapy.vm.machine import Machine
from tests.program import run_stapy
from tests.vm.conftest import missing
from tests.vm.harness import run_script

pytestmark = [pytest.mark.build, pytest.mark.vm]

# Every way into a handler: interrupts, threads in their place, scheduler, files, system calls.
SCRIPT = """
global hits, longest
probe timer.ms(3).randomize(2) { hits["hrtimer"]++ }
probe timer.jiffies(2).randomize(1) { hits["wheel " . substr(execname(), 0, 7)]++ }
probe timer.ms(40) { hits["stack"]++; longest <<< strlen(sprint_backtrace()) }
probe perf.sw.cpu_clock.sample(9000000) { hits["perf"]++ }
probe kernel.trace("sched_switch") { hits["switch"]++ }
probe kernel.trace("sched_wakeup") { hits["wakeup"]++ }
probe kernel.function("rt_mutex_setprio") ? { hits["boost"]++ }
probe kernel.function("vfs_read").return { hits["read"] += $return >= 0 }
probe syscall.getpriority { if (execname() == "nice") raise(10) }
probe begin { printf("%s\\n", kernel_vr) }
probe end {
    foreach (name+ in hits) printf("%s %d\\n", name, hits[name] > 0)
    printf("backtraces %d\\n", @max(longest) > 0)
}
"""
# nice asks for the priority, and the signal ends what it became.
COMMAND = "sh -c 'nice sleep 5; echo status $?; cat /etc/passwd >/dev/null; sleep 0.2'"


@pytest.fixture(scope="module")
def rt() -> Iterator[Machine]:
    """Boot a machine with Debian's PREEMPT_RT kernel."""
    reason = missing()
    if reason:
        pytest.skip(reason)
    fetched = run_stapy("kernel", "fetch", "6.1-rt")
    if fetched.returncode:
        pytest.skip(f"no rt kernel can be had: {fetched.stderr.strip()[-200:]}")
    with Machine(fetched.stdout.strip(), cpus=2) as machine:
        yield machine


def test_preempt_rt(rt: Machine) -> None:
    words = ("-g", "-DSTP_NO_OVERLOAD", "-DMAXSKIPPED=1000000", "-c", COMMAND)
    result = run_script(rt, SCRIPT.replace("kernel_vr", f'"{rt.release}"'), *words, timeout=180)
    assert result.status == 0, result.stderr
    lines = result.stdout.splitlines()
    for name in ("hrtimer", "wheel ktimers", "stack", "perf", "switch", "wakeup", "read"):
        assert f"{name} 1" in lines, (result.stdout, result.stderr)
    assert lines[0] == rt.release
    assert "backtraces 1" in lines
    assert f"status {128 + signal.SIGUSR1}" in lines


def test_the_watcher_sees_a_lock_that_sleeps(rt: Machine) -> None:
    script = """
    function draw:long() %{ STAP_RETVALUE = get_random_u32(); %}
    probe timer.ms(20) { printf("%d\\n", draw() < 0); if (n++ == 9) exit() }
    global n
    """
    with pytest.raises(AssertionError, match="where nothing may sleep") as found:
        run_script(rt, script, "-g", "-m", "drawing")
    assert "rt_spin_lock" in str(found.value)
    assert "[drawing]" in str(found.value)
