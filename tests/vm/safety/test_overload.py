"""--on-overload: what becomes of the probe that takes most of a processor's time."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stapy.vm.machine import Machine
from tests.vm.safety.support import figures, make, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

# A probe that takes all the time there is, and one that takes little.
SCRIPT = """
global hot, cold, sum, began, busy
probe kernel.function("vfs_read") {
    from = get_cycles()
    for (i = 0; i < 9000; i++) sum += i
    hot++
    busy += get_cycles() - from
}
probe timer.ms(50) { cold++ }
probe begin { began = get_cycles(); println("armed") }
probe end {
    share = busy * 100 / (get_cycles() - began)
    printf("hot=%d\\ncold=%d\\nshare=%d\\n", hot, cold, share)
}
"""
# A fifth of the time, which is looked at every 40 ms or so.
WORDS = ("-DSTP_OVERLOAD_INTERVAL=100000000", "-DSTP_OVERLOAD_THRESHOLD=20000000")
WORDS += ("-DMAXACTION=100000", "-DINTERRUPTIBLE=1")
WARNING = (
    r"^WARNING: probe overhead \(\d+ cycles\) exceeded threshold \(20000000 cycles\) in last \d+ "
    r'cycles; (.*) that took (\d+)% of it: kernel\.function\("vfs_read"\) at \S+:3:1$'
)


@pytest.fixture(scope="module")
def modules(release: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return make(
        release,
        tmp_path_factory.mktemp("modules"),
        rests=(*WORDS, "--on-overload=throttle", "-e", SCRIPT),
        goes=(*WORDS, "--on-overload=disarm", "-e", SCRIPT),
    )


def test_disarmed(guest: Machine, modules: dict[str, Path]) -> None:
    """The session goes on without the probe, which is named and costs nothing any more."""
    text = """
    $run -c 'dd if=/dev/zero of=/dev/null bs=1 count=20000' $goes >out 2>err; echo status=$?
    cat out; cat err >&2
    """
    lines, result = shell(guest, modules, text, 300)
    said = f"{lines}\n{result.stderr.decode()}"
    found = figures(lines)
    assert found["status"] == 0 and 0 < found["hot"] < 20000 and found["cold"] > 0, said
    told = re.findall(WARNING, result.stderr.decode(), re.MULTILINE)
    assert len(told) == 1 and int(told[0][1]) > 50 and told[0][0] == "disarmed is the probe", said
    assert "ERROR" not in said and "Left out" not in said, said
    assert re.search(r'^ .* \d+%  .*  kernel\.function\("vfs_read"\) at ', said, re.MULTILINE), said


def test_throttled(guest: Machine, modules: dict[str, Path]) -> None:
    """Hits are left out, and counted, so that handlers have their share of the time."""
    text = """
    $run -c 'dd if=/dev/zero of=/dev/null bs=1 count=60000' $rests >out 2>err; echo status=$?
    cat out; cat err >&2
    """
    lines, result = shell(guest, modules, text, 300)
    said = f"{lines}\n{result.stderr.decode()}"
    found = figures(lines)
    assert found["status"] == 0 and found["hot"] > 0 and found["cold"] > 0, said
    told = re.findall(WARNING, said, re.MULTILINE)
    assert [what for what, _ in told] == ["hits are left out from now on of the probe"], said
    left = re.search(r'overload: (\d+) hits of kernel\.function\("vfs_read"\) at ', said)
    skipped = re.search(r"skipped probes: (\d+)", said)  # where another processor had the globals
    met = found["hot"] + (int(skipped[1]) if skipped else 0)
    assert left and met + int(left[1]) >= 60000, said
    assert found["share"] < 40, said  # all of the first interval, then a fifth
    assert "ERROR" not in said, said
