"""Watchpoints, samples and stacks: dense, on two processors, armed and disarmed under load."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.vm.machine import Machine
from tests.vm.safety.support import LONG, figures, make, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

ROUNDS = 200 if LONG else 4
LIMITS = "MAXSKIPPED=1000000000 STP_NO_OVERLOAD MAXACTION=100000 MAXERRORS=1000000"
OPTIONS = ["-g", *(f"-D{limit}" for limit in LIMITS.split())]

# What is watched and sampled is used by handlers as well, and by all that carries their output.
EVENTS = """
global hits, seen%[500], watched, executed, sampled
function work() {
    hits++
    seen[hits % 400, execname()] <<< gettimeofday_ns() % 100
    printf("%s %d %s %s\\n", execname(), cpu(), symdata(addr()), symfileline(addr()))
    if (!(hits % 8)) print_backtrace()
    try { kernel_string(hits % 3 ? hits << 3 : -4096) } catch { }
    try { println(callers(hits % 30), stack(hits % 40)) } catch { }
}
probe kernel.data("jiffies_64").write { watched++; work() }
probe kernel.data("pid_max").rw { watched++; work() }
probe kernel.data("nr_threads").rw { watched++; work() }
probe kernel.data("_raw_spin_lock").execute { if (!(executed++ % 100)) work() }
probe perf.sw.cpu_clock.sample(5000000) { sampled++; work() }
probe perf.sw.context_switches.sample(20), perf.sw.page_faults.sample(50) { sampled++; work() }
probe timer.profile { sampled++; work() }
probe end { printf("watched=%d\\nexecuted=%d\\nsampled=%d\\n", watched, executed, sampled) }
"""

# Any number may be asked for its symbol or for its task's stack.
NUMBERS = """
global n
function ask(x) {
    n++
    list = symname(x) . symdata(x) . symfile(x) . symline(x) . symfileline(x) . task_backtrace(x)
    try { list = list . modname(x) } catch { }
    print_syms(sprintf("%x %x", x, -x))
    return strlen(list)
}
function near(x) {
    for (i = -3; i < 4; i++) { ask(x + i); ask(x + (i << 12)) }
    for (i = 0; i < 64; i += 3) { ask(x ^ (1 << i)); ask(1 << i) }
}
probe kernel.function("vfs_read") if (n < 3000) { near(task_current()); near(addr()) }
probe timer.ms(7) if (n < 3000) { near(task_current()); near(addr()); near(randint(1 << 62)) }
probe perf.sw.context_switches.sample(5) {
    task = randint(2) ? pid2task(1 + randint(300)) : task_parent(task_current())
    if (task && strlen(task_backtrace(task)) > 10) stacks++
}
global stacks
probe timer.ms(100) { if (n > 1500 && stacks) exit() }
probe end { printf("numbers=%d\\nstacks=%d\\n", n, stacks) }
"""


def test_dense_events(pair: Machine, release: str, tmp_path: Path) -> None:
    modules = make(release, tmp_path, dense=(*OPTIONS, "-e", EVENTS))
    text = f"""
    storm 2; rounds=0; failures=0
    while [ $rounds -lt {ROUNDS} ]; do
        insmod $dense || failures=$((failures + 1))
        (echo "start 0" >&3; dd if=/dev/zero of=/dev/null bs=1 count=500
         echo 40000 >/proc/sys/kernel/pid_max; stop_by_hand) \\
            3>/proc/stapy_dense/control 2>/dev/null || failures=$((failures + 1))
        rmmod dense || failures=$((failures + 1))
        rounds=$((rounds + 1))
    done
    $run -c 'sh -c "ls -l /etc >/dev/null; echo 40000 >/proc/sys/kernel/pid_max"' $dense \\
        >out 2>err || {{ failures=$((failures + 1)); cat err; }}
    calm
    grep -a '^\\(watched\\|executed\\|sampled\\)=' out
    echo rounds=$rounds; echo failures=$failures; echo loaded=$(loaded dense)
    """
    lines, result = shell(pair, modules, text, 120 + 10 * ROUNDS)
    found = figures(lines)
    print(f"\n{found}")
    assert found["failures"] == found["loaded"] == 0, (lines, result.stderr)
    assert found["watched"] > 0, found
    assert found["executed"] > 1000, found
    assert found["sampled"] > 0, found


def test_symbols_and_stacks_of_any_number(pair: Machine, release: str, tmp_path: Path) -> None:
    modules = make(release, tmp_path, numbers=(*OPTIONS, "-e", NUMBERS))
    text = "storm 1; $run $numbers >out 2>err; calm; tail -n 2 out; cat err"
    lines, result = shell(pair, modules, text)
    found = figures(lines)
    assert found["numbers"] > 1000, (lines, result.stderr)
    assert found["stacks"] > 0, lines
    assert not [line for line in lines if line.startswith("ERROR")], lines
