"""Functions that act on the machine, which no script of the library's own may call in passing."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.vm.machine import PANIC, Machine, consumer_command
from tests.vm.harness import build
from tests.vm.test_consumer import output, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

ACTS = """
probe begin {
    t = gettimeofday_us(); udelay(300); one = gettimeofday_us() - t
    t = gettimeofday_us(); mdelay(3); two = gettimeofday_us() - t
    printf("delays %d %d\\n", one >= 70, two >= 700)
    printk(4, "said by printk")
    ftrace("said by ftrace")
    dump_stack()
    system("echo shell says $((40 + 2)); echo done >told")
}
probe timer.ms(100) { if (n++ > 300) exit() }
global n
"""
FILES = """
probe begin { println("first") }
probe timer.ms(20) { if (++n == 10) switch_file() if (n < 30) println("more") else exit() }
global n
"""


def test_what_reaches_the_kernel_and_a_shell(guest: Machine, release: str, tmp_path: Path) -> None:
    """udelay(), mdelay(), printk(), ftrace(), dump_stack() and system().

    Delays count cycles, of which a guest that booted on a busy host may know four times too few
    in a second: a quarter of what was asked for is enough here.
    """
    made = build(release, ["-g", "-m", "acts", "-e", ACTS], tmp_path)
    assert made.module, made.stderr
    text = """
    mountpoint -q /sys/kernel/tracing || mount -t tracefs none /sys/kernel/tracing
    $run -c 'sh -c "while [ ! -e told ]; do sleep 0.1; done; sleep 0.3"' $acts
    grep -c 'said by ftrace' /sys/kernel/tracing/trace
    """
    result = shell(guest, {"acts": made.module}, text)
    assert output(result) == ["delays 1 1", "shell says 42", "1"], result.stderr
    assert "said by printk" in result.dmesg
    assert "Call Trace:" in result.dmesg


def test_a_script_switches_its_file(guest: Machine, release: str, tmp_path: Path) -> None:
    """switch_file() is what SIGUSR2 is."""
    made = build(release, ["-m", "files", "-e", FILES], tmp_path)
    assert made.module, made.stderr
    text = """
    $run -o out -S 1 $files; echo status $?
    ls; cat out.0 out.1 | sort | uniq -c | tr -d ' '
    """
    result = shell(guest, {"files": made.module}, text)
    assert output(result) == ["status 0", "out.0", "out.1", "1first", "29more"], result.stderr


def test_panic(release: str, tmp_path: Path) -> None:
    """panic() is the end of the machine, with the script's words."""
    made = build(release, ["-g", "-e", 'probe begin { panic("as was asked") }'], tmp_path)
    assert made.module, made.stderr
    with Machine(release) as machine:
        result = machine.run([*consumer_command(), machine.push(made.module)], timeout=240)
    assert result.kind == PANIC
    assert "Kernel panic - not syncing: as was asked" in result.dmesg
