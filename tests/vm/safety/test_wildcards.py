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
    "mixed": ('kernel.function("__x64_sys_*"), kernel.function("*_page*"), '
              'kernel.function("sched_*").return', 700),
}  # fmt: skip


@pytest.mark.parametrize("name", WILDCARDS)
def test_wildcard(name: str, guest: Machine, release: str, tmp_path: Path) -> None:
    point, at_least = WILDCARDS[name]
    words = ("-DSTP_NO_OVERLOAD", "-DMAXSKIPPED=1000000000", "-e", COUNT % point)
    modules = make(release, tmp_path, many=words)
    text = """
    # Twice without the consumer, for the time that the module itself needs.
    for round in 1 2; do
        insmod $many; exec 3<>/proc/stapy_many/control
        t=$(now); echo 'start 0' >&3; echo arm=$(($(now) - t))0
        echo places=$(probes); echo functions=$(sort -u /sys/kernel/debug/kprobes/list | wc -l)
        echo fentry=$(wc -l </sys/kernel/tracing/enabled_functions)
        t=$(now); echo stop >&3; echo disarm=$(($(now) - t))0
        exec 3>&-; rmmod many
        echo left=$(probes)
    done
    $run -c 'sh -c "ls -lR /etc >/dev/null; echo x >f; sync f; cat f"' $many
    echo left=$(probes)
    """
    mount = "mountpoint -q /sys/kernel/tracing || mount -t tracefs none /sys/kernel/tracing\n"
    lines, result = shell(guest, modules, mount + text, 120)
    found = figures(lines)
    errors = result.stderr.decode()
    places = max(found["places"], found["fentry"])
    print(f"\n{point}: {places} places, arm {found['arm']} ms, disarm {found['disarm']} ms")
    assert places >= at_least, found
    assert found["left"] == 0
    assert lines.count("left=0") == 3, lines
    assert "armed" in lines and "x" in lines
    assert found["hits"] > 0 or name == "ext4", found  # a guest has no such file system
    assert "ERROR" not in errors, errors
    # The host may be busy; what remains for each is the kernel's look at a return probe's place.
    assert found["arm"] + found["disarm"] < 10_000 + 100 * places, found
    for line in errors.splitlines():
        assert re.match(
            r"WARNING: (probe \S+ registration error|Number of errors: 0|Skipped)", line
        ), errors
