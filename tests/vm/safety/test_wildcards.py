"""Hundreds of places at once, armed and disarmed under load."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stapy.vm.machine import Machine
from tests.vm.safety.support import figures, make, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

# Counting only: what is tested is the number of places.
COUNT = """global n probe %s { n++ }
probe begin { println("armed") }
probe end { printf("hits=%%d\\n", n) }
"""
WILDCARDS = {
    "vfs": ('kernel.function("vfs_*")', 40),
    "vfs_return": ('kernel.function("vfs_*").return', 40),
    "security": ('kernel.function("security_*")', 150),
    "tcp_return": ('kernel.function("tcp_*").return', 150),
    "ext4": ('kernel.function("ext4_*")', 350),
    # Written in assembler, all that may be probed; some of them are only there on one kernel.
    "assembler": (", ".join(f'kernel.function("{name}")?' for name in (
        "clear_page_*", "copy_page*", "csum_partial_copy_generic", "*clear_user*", "*sw_hweight*",
        "copy_mc_*", "copy_to_nontemporal", "rep_stos_alternative", "*msr_safe_regs",
        "this_cpu_cmpxchg16b_emu", "blake2s_compress_*", "__iowrite32_copy", "__memmove",
        "__memset", "__efi_call", "swsusp_arch_*")), 20),
    "mixed": ('kernel.function("__x64_sys_*"), kernel.function("*_page*"), '
              'kernel.function("sched_*").return', 700),
}  # fmt: skip


# What only the debug package tells of.
BY_DWARF = {
    "file": ('kernel.function("*@fs/read_write.c")', 100),
    "statements": ('kernel.statement("*@fs/open.c:*")', 750),  # 2,000 sites share them
}


@pytest.mark.parametrize("name", WILDCARDS)
def test_wildcard(name: str, guest: Machine, release: str, tmp_path: Path) -> None:
    point, at_least = WILDCARDS[name]
    found = arm_and_run(point, at_least, guest, release, tmp_path)
    assert found["hits"] > 0 or name == "ext4", found  # a guest has no such file system


@pytest.mark.parametrize("name", BY_DWARF)
def test_wildcard_by_dwarf(
    name: str, guest: Machine, release: str, package: None, tmp_path: Path
) -> None:
    point, at_least = BY_DWARF[name]
    found = arm_and_run(point, at_least, guest, release, tmp_path)
    assert found["hits"] > 0, found


def arm_and_run(
    point: str, at_least: int, guest: Machine, release: str, tmp_path: Path
) -> dict[str, int]:
    """Count the hits of a point, loaded by hand and then once more under load."""
    words = ("-DSTP_NO_OVERLOAD", "-DMAXSKIPPED=1000000000", "-e", COUNT % point)
    modules = make(release, tmp_path, many=words)
    text = """
    # Without the consumer, for the time that the module itself needs.
    insmod $many; exec 3<>/proc/stapy_many/control
    t=$(now); echo 'start 0' >&3; echo arm=$(($(now) - t))0
    probes >/dev/null; echo armed=$(grep -vc DISABLED /sys/kernel/debug/kprobes/list)
    echo fentry=$(wc -l </sys/kernel/tracing/enabled_functions)
    t=$(now); stop_by_hand; echo disarm=$(($(now) - t))0
    exec 3>&-; rmmod many
    echo left=$(probes)
    $run -c 'sh -c "ls -lR /etc >/dev/null; echo x >f; sync f; cat f"' $many
    echo left=$(probes)
    """
    mount = "mountpoint -q /sys/kernel/tracing || mount -t tracefs none /sys/kernel/tracing\n"
    lines, result = shell(guest, modules, mount + text, 180)
    found = figures(lines)
    errors = result.stderr.decode()
    # ftrace has the entries and returns, and leaves their kprobes disabled or does without.
    places = found["armed"] + found["fentry"]
    print(f"\n{point}: {places} places, arm {found['arm']} ms, disarm {found['disarm']} ms")
    assert places >= at_least, found
    assert found["left"] == 0
    assert lines.count("left=0") == 2, lines
    assert "armed" in lines and "x" in lines
    assert "ERROR" not in errors, errors
    # The host may be busy; what remains for each is the kernel's look at a return probe's place.
    assert found["arm"] + found["disarm"] < 10_000 + 100 * places, found
    for line in errors.splitlines():
        assert re.match(
            r"WARNING: (probe \S+ registration error|Number of errors: 0|Skipped)|note: |  |help: ",
            line,
        ), errors
    return found


# Thousands at once, registered one by one before ftrace or the kernel's text is asked.
LONG_TO_ARM = {
    "returns": 'kernel.function("[a-c]*").return',
    "statements": 'kernel.statement("*@fs/open.c:*"), kernel.statement("*@fs/read_write.c:*")',
}


@pytest.mark.parametrize("name", LONG_TO_ARM)
def test_a_signal_while_probes_are_armed(
    name: str, guest: Machine, release: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """The session ends in a part of the time that arming takes, and nothing stays."""
    if name == "statements":
        request.getfixturevalue("package")
    words = ("-DSTP_NO_OVERLOAD", "-DMAXSKIPPED=1000000000", "-e", COUNT % LONG_TO_ARM[name])
    modules = make(release, tmp_path, many=words)
    text = """
    mountpoint -q /sys/kernel/tracing || mount -t tracefs none /sys/kernel/tracing
    traced() { wc -l </sys/kernel/tracing/enabled_functions; }
    insmod $many; exec 3<>/proc/stapy_many/control
    t=$(now); echo 'start 0' >&3; full=$(($(now) - t)); echo full=${full}0
    echo places=$(($(traced) + $(probes))); stop_by_hand; exec 3>&-; rmmod many
    pause=$(printf '%d.%02d' $((full / 800)) $((full / 8 % 100)))
    for signal in INT TERM KILL; do
        $run $many >out 2>err & victim=$!
        wait_for '[ "$(state many)" = running ] && [ -s out ]'; sleep $pause
        t=$(now); kill -$signal $victim; wait $victim 2>/dev/null; echo $signal.status=$?
        wait_for '[ $(loaded many) = 0 ]'; echo $signal.end=$(($(now) - t))0
        echo $signal.left=$(($(traced) + $(probes) + $(folders))); echo "$(cat out)"
        grep -v "registration error\\|[Ss]kipped\\|$accounts" err
    done
    """
    lines, result = shell(guest, modules, text, 400)
    found = figures(lines)
    print(f"\n{found['places']} places, arm {found['full']} ms", *lines)
    assert found["places"] >= 700, (found, result.stderr)
    for signal, status in (("INT", 0), ("TERM", 0), ("KILL", 137)):
        assert found[f"{signal}.status"] == status, (lines, result.stderr)
        assert found[f"{signal}.left"] == 0, lines
        assert found[f"{signal}.end"] < found["full"] / 2, lines
    rest = [line for line in lines if "=" not in line]
    assert rest == ["armed"] * 3, lines  # which begin probes say
