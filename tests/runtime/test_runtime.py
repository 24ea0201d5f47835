"""The runtime in a guest: what test scripts print, and a clean kernel log afterwards."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stapy.vm.machine import VmResult, consumer_command
from tests.runtime.conftest import HERE, SCRIPTS, Bench

SPIN = "while :; do dd if=/dev/zero of=/dev/null bs=1 count=20000 2>/dev/null; done"
TWO = f"({SPIN}) & ({SPIN}) & trap 'kill %1 %2' EXIT; wait"

# A module whose control file was closed frees its memory and has itself removed.
GONE = """for i in $(seq 3000); do [ -d /sys/module/{module} ] || break; sleep 0.1; done
        [ -d /sys/module/{module} ] && echo still there"""


def clean(result: VmResult, status: int = 0) -> str:
    """Return standard output of a run that must end well."""
    assert result.kind == "exited", f"{result.kind}: {result.dmesg[-3000:]}"
    assert result.status == status, result.stderr.decode()
    return result.stdout.decode("latin-1")


@pytest.mark.build
@pytest.mark.parametrize("script", SCRIPTS)
def test_builds_without_warnings(modules: Path, script: str) -> None:
    assert (modules / f"stapy_test_{script}.ko").exists()


@pytest.mark.vm
@pytest.mark.parametrize("script", ["hello", "data", "formats"])
def test_output(bench: Bench, script: str) -> None:
    assert clean(bench.play(script)) == (HERE / f"{script}.expected").read_text("latin-1")


@pytest.mark.vm
def test_errors_end_the_session(bench: Bench) -> None:
    result = bench.play("errors")
    assert clean(result, status=1) == "10000 statements\ntick\ntick\nerror after 2\n"
    told = result.stderr.decode().splitlines()
    assert told[6].startswith("note: what the probes did")
    assert told[:6] == [
        "ERROR: MAXACTION exceeded near keyword at t.stp:1:9 in probe begin",
        "ERROR: division by 0 near operator '/' at t.stp:2:9 in probe timer.ms(10)",
        "ERROR: division by 0 near operator '/' at t.stp:2:9 in probe timer.ms(10)",
        "WARNING: a warning with a",
        "line and a \\",
        "WARNING: Number of errors: 3, skipped probes: 0",
    ]


@pytest.mark.vm
def test_probes_of_all_families(bench: Bench) -> None:
    result = bench.play("probes", TWO)
    first, *report = clean(result).splitlines()
    assert first == ("entries 1 stacks 1 returns 1 values 1 events 1 ticks 50 jiffies 1 absent 0")
    assert report[0] == "----- probe hit report: "
    assert sum(bool(re.search(r"hits: \d+, cycles: \d+min/", line)) for line in report) == 6
    assert 'probe kernel.function("nowhere") registration error (rc -2)' in result.stderr.decode()


@pytest.mark.vm
def test_locks_lose_no_update(bench: Bench) -> None:
    assert clean(bench.play("locks", TWO)) == "hits 1 equal 1 1 free 1\n"


def account(text: str) -> tuple[dict[int, list[int]], dict[int, int], dict[int, int]]:
    """Sort out line numbers, lost bytes and totals of each CPU; fail on a torn line."""
    lines: dict[int, list[int]] = {}
    lost: dict[int, int] = {}
    totals: dict[int, int] = {}
    for line in text.splitlines():
        if found := re.fullmatch(r"cpu (\d{3}) line (\d{18})", line):
            lines.setdefault(int(found[1]), []).append(int(found[2]))
        elif found := re.fullmatch(r"\[lost (\d+) bytes on cpu (\d+): reader [a-z, ]+\]", line):
            lost[int(found[2])] = lost.get(int(found[2]), 0) + int(found[1])
        elif found := re.fullmatch(r"total (\d+) (\d+)", line):
            totals[int(found[1])] = int(found[2])
        else:
            raise AssertionError(f"torn line {line!r}")
    return lines, lost, totals


@pytest.mark.vm
def test_flood_accounts_for_every_byte(bench: Bench) -> None:
    result = bench.play("flood", TWO, "> /tmp/flood; sleep 0")
    clean(result)
    text = clean(bench.shell("cat /tmp/flood; rm /tmp/flood"))
    lines, lost, totals = account(text)
    assert sum(lost.values()) > 0, "the reader kept up: nothing was tested"
    width = len("cpu 000 line 000000000000000000\n")
    for cpu, numbers in lines.items():
        assert numbers == sorted(numbers)
        assert len(numbers) * width + lost.get(cpu, 0) == totals[cpu] * width
    assert "transport failures. Try stap -s to increase the buffer size from" in (
        result.stderr.decode()
    )


@pytest.mark.vm
def test_kernel_that_checks_the_types_of_calls(bench: Bench) -> None:
    result = bench.play("typed")
    assert clean(result, status=1) == ""
    assert "ERROR: tracepoints cannot be probed on this kernel" in result.stderr.decode()


@pytest.mark.vm
def test_sizes_beyond_32_bits(bench: Bench) -> None:
    """A print into a ring of 6 GB is no reason for the kernel to warn; a loss is told whole."""
    module = bench.module("sizes")
    run = " ".join([*consumer_command(), "-T", "1", str(module)])
    text = clean(bench.shell(run))
    lost = [int(number) for number in re.findall(r"^\[lost (\d+) bytes", text, re.M)]
    assert sum(lost) == (5 << 32) + 7, text
    assert re.findall("^(?:large 1|end)$", text, re.M) == ["large 1", "end"], text


@pytest.mark.vm
def test_killed_consumer_leaves_nothing(bench: Bench) -> None:
    module = bench.module("flood")
    files = f"/proc/stapy_{module.stem}"
    script = f"""
    ({SPIN}) & load=$!
    for i in 1 2 3 4 5; do
        insmod {module} || exit 1
        (exec 3<>{files}/control; echo start 0 >&3; exec cat {files}/output >/dev/null) &
        consumer=$!
        sleep 0.$i; kill -9 $consumer; wait $consumer 2>/dev/null
        {GONE.format(module=module.stem)}
        [ -d {files} ] && echo still in proc
    done
    kill $load
    exit 0
    """
    assert clean(bench.shell(script)) == ""


@pytest.mark.vm
def test_loads_and_unloads_under_load(bench: Bench) -> None:
    module = bench.module("probes")
    script = f"""
    ({TWO}) & load=$!
    for i in $(seq 20); do
        insmod {module} && exec 3<>/proc/stapy_{module.stem}/control || exit 1
        echo start 0 >&3; exec 3>&-
        {GONE.format(module=module.stem)}
    done
    kill $load
    exit 0
    """
    clean(bench.shell(script))


@pytest.mark.vm
def test_modules_and_cpus_may_come_and_go(bench: Bench) -> None:
    online = "/sys/devices/system/cpu/cpu1/online"
    script = f"""
    echo 0 > {online}
    {" ".join(consumer_command())} {bench.module("late")} > /tmp/late & run=$!
    while ! grep -q cpu /tmp/late; do sleep 0.1; done
    modprobe dummy numdummies=1; rmmod dummy; modprobe dummy numdummies=1; rmmod dummy
    echo 1 > {online}
    taskset 2 sleep 0.3; echo 0 > {online}; echo 1 > {online}
    kill -INT $run; wait $run || exit 1
    grep -c '^cpu 1$' /tmp/late >&2
    tail -1 /tmp/late; rm /tmp/late
    """
    result = bench.shell(script)
    assert clean(result) == "setups 2 returns 2\n"
    assert int(result.stderr.split()[-1]) > 0
