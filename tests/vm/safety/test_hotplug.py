"""CPUs that go and come back: while probes are armed, while they run, and with no memory left."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.vm.machine import Machine
from tests.vm.safety.support import LONG, figures, make, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

LIMITS = ("-DSTP_NO_OVERLOAD", "-DMAXSKIPPED=1000000000")
ROUNDS = 60 if LONG else 6

# Counters of software take the lock of CPU hotplug when they are made, those of tracepoints, too.
COUNTERS = [f"perf.type(1).config({3 + i % 3}).sample({900_000_000 + i})" for i in range(40)]
FORTY = (
    "global n probe "
    + ", ".join(COUNTERS)
    + " { n++ } probe begin { println(1) } probe end { println(n >= 0 ? 2 : 3) }"
)
# What each CPU is hit by, as a table of counts a few times a second.
BACK = """
global clock[8], profile[8], watched[8]
probe perf.sw.cpu_clock.sample(10000000) { clock[cpu()]++ }
probe timer.profile { profile[cpu()]++ }
probe kernel.data("jiffies_64").rw { watched[cpu()]++ }
probe timer.ms(100) { printf("%d %d %d\\n", clock[1], profile[1], watched[1]) }
"""
FAMILIES = """
global n, by[500]
probe kernel.function("vfs_read"), kernel.function("vfs_*").return, kernel.trace("sched_switch"),
    kernel.trace("cpuhp_*"), timer.us(300), timer.jiffies(1), timer.profile,
    perf.sw.context_switches.sample(3), netfilter.ip.local_out
{ n++; by[cpu(), execname()] <<< n; printf("%d %s\\n", cpu(), pp()) }
global flip
probe kernel.function("vfs_write"), perf.sw.cpu_clock.sample(3000000), timer.ms(3) if (flip) { n++ }
probe timer.ms(20) { flip = !flip }
global steps
probe kernel.trace("cpuhp_exit") { steps++ }
probe timer.ms(100) { if (n > 500 && steps > 150) exit() } # CPU 1 has gone or come
probe end { printf("hits=%d\\n", n > 0) }
"""
ONLINE = """
cpu=/sys/devices/system/cpu/cpu1/online
flip() { # CPU 1 goes and comes until the file is gone; each time is a byte of another file
    touch flipping; : >flips
    while [ -e flipping ]; do echo 0 >$cpu && echo 1 >$cpu && printf x >>flips; done & flipper=$!
}
calm_cpus() { rm -f flipping; wait $flipper; echo 1 >$cpu; }
flips() { wc -c <flips; }
"""


@pytest.fixture(scope="module")
def modules(release: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    fast = "-DSTP_ON_THE_FLY_INTERVAL=1000000"
    return make(
        release,
        tmp_path_factory.mktemp("modules"),
        forty=(*LIMITS, "-e", FORTY),
        back=(*LIMITS, "-e", BACK),
        families=(*LIMITS, fast, "-s", "1", "-e", FAMILIES),
        large=(*LIMITS, "-s", "200", "-e", 'probe kernel.function("vfs_write") { println(cpu()) }'),
    )


def test_arming_while_a_cpu_goes_and_comes(pair: Machine, modules: dict[str, Path]) -> None:
    """Forty counters: each is made while the other side wants the lock of CPU hotplug."""
    text = f"""
    {ONLINE}
    flip; rounds=0; armed_over=0
    while [ $rounds -lt {ROUNDS} ] || [ $armed_over -lt 3 -a $rounds -lt {40 * ROUNDS} ]; do
        insmod $forty || echo no
        exec 3<>/proc/stapy_forty/control
        before=$(flips); echo "start 0" >&3
        [ $(flips) = $before ] || armed_over=$((armed_over + 1))
        stop_by_hand; cat <&3 >said; cat /proc/stapy_forty/output >>said; exec 3>&-
        [ "$(tr '\\n' ' ' <said)" = 'started 0 stopped 0 1 2 ' ] || cat said
        rmmod forty; wait_for '[ $(loaded forty) = 0 ]'
        rounds=$((rounds + 1))
    done
    calm_cpus; echo rounds=$rounds; echo armed_over=$armed_over; echo flips=$(flips)
    """
    lines, result = shell(pair, modules, text, 240)
    found = figures(lines)
    print(f"\n{found}")
    # Nothing but the counts: whatever a session said besides is printed, too.
    assert len(lines) == len(found) == 3 and found["rounds"] >= ROUNDS, (lines, result.stderr)
    assert found["armed_over"] >= 3, "CPU 1 stood still while the counters were made"


def test_counters_of_a_cpu_that_came_back(pair: Machine, modules: dict[str, Path]) -> None:
    text = f"""
    {ONLINE}
    $run $back >out 2>err & run_pid=$!
    spin() {{ while :; do :; done; }}
    more() {{ # all three counts of CPU 1 grow
        set -- $(tail -n 1 out) 0 0 0
        wait_for "grown $1 $2 $3" && echo grows
    }}
    grown() {{
        set -- $* $(tail -n 1 out) 0 0 0
        [ $4 -gt $1 ] && [ $5 -gt $2 ] && [ $6 -gt $3 ]
    }}
    keep_busy() {{ # CPU 1, which may be known to be there a little after it came
        trap exit TERM; us=$(sh -c 'echo $PPID')
        wait_for "taskset -p 2 $us >/dev/null 2>&1"; spin
    }}
    wait_for '[ -s out ]'
    (keep_busy) & spinner=$!
    more; kill $spinner; echo 0 >$cpu; sleep 0.3; echo 1 >$cpu
    (keep_busy) & spinner=$!
    more; kill $spinner
    kill -INT $run_pid; wait $run_pid; echo status=$?; cat err
    """
    lines, result = shell(pair, modules, text, 120)
    assert lines[:3] == ["grows", "grows", "status=0"], (lines, result.stderr)


def test_families_while_a_cpu_goes_and_comes(pair: Machine, modules: dict[str, Path]) -> None:
    text = f"""
    {ONLINE}
    storm 1; flip
    for round in 1 2 3; do
        $run $families >out 2>err; echo status=$?; grep -a '^hits=' out; grep ERROR err
    done
    calm_cpus; calm; echo loaded=$(loaded families); echo probes=$(probes)
    echo flips=$(flips)
    """
    lines, result = shell(pair, modules, text, 240)
    found = figures(lines)
    assert found["flips"] > 0, "CPU 1 stood still"
    assert lines.count("status=0") == 3 and lines.count("hits=1") == 3, (lines, result.stderr)
    assert found["loaded"] == found["probes"] == 0, lines


def test_a_cpu_for_which_there_is_no_memory(pair: Machine, modules: dict[str, Path]) -> None:
    """It comes up all the same; what it prints is lost, and that is told."""
    text = f"""
    {ONLINE}
    echo 0 >$cpu; $run $large >out 2>err & run_pid=$!
    wait_for '[ "$(state large)" = running ]'
    mkdir d; mount -t tmpfs -o size=2g none d
    free=$(awk '/^MemAvailable/ {{ print int($2 / 1024) }}' /proc/meminfo)
    dd if=/dev/zero of=d/filler bs=1M count=$((free - 200)) 2>/dev/null
    echo 1 >$cpu && echo up=$(cat $cpu)
    wait_for 'grep -q "CPU 1 has come" err' && echo told
    taskset 2 sh -c 'echo x >d/x'; kill -INT $run_pid; wait $run_pid; echo status=$?
    grep -c 'lost .* on cpu 1' out; grep -c '^1$' out; umount d
    dmesg | grep -ci 'out of memory'
    """
    lines, result = shell(pair, modules, text, 120)
    assert lines == ["up=1", "told", "status=0", "1", "0", "0"], (lines, result.stderr)


def test_more_sessions_than_the_kernel_has_hotplug_states(
    pair: Machine, release: str, tmp_path: Path
) -> None:
    made = make(
        release,
        tmp_path,
        many00=(*LIMITS, "-s", "1", "-e", "global n probe timer.ms(50) { println(n++) }"),
    )
    names = [f"many{number:02}" for number in range(24)]
    image = made["many00"].read_bytes()
    for name in names[1:]:
        (tmp_path / f"{name}.ko").write_bytes(image.replace(b"many00", name.encode()))
    modules = {name: tmp_path / f"{name}.ko" for name in names}
    text = f"""
    {ONLINE}
    all='{" ".join(names)}'
    for name in $all; do
        eval insmod \\$$name || echo no $name
        (echo 'start 0' >&3; echo detach >&3) 3>/proc/stapy_$name/control
    done
    echo running=$(cat /sys/module/many*/parameters/stapy_state | grep -c running)
    echo 0 >$cpu; echo 1 >$cpu
    for name in $all; do rmmod $name || echo no $name; done; echo left=$(loaded many)
    """
    lines, result = shell(pair, modules, text, 180)
    assert lines == ["running=24", "left=0"], (lines, result.stderr)
