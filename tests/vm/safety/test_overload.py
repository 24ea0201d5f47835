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
global hot, cold, sum, began, busy, returned
probe kernel.function("vfs_read") {
    from = get_cycles()
    for (i = 0; i < 9000; i++) sum += i
    hot++
    busy += get_cycles() - from
}
probe timer.ms(50), timer.s(1000) { cold++ }
probe kernel.function("do_nanosleep").return.maxactive(1) { returned++ }
probe begin { began = get_cycles(); println("armed") }
probe end {
    share = busy * 100 / (get_cycles() - began)
    printf("hot=%d\\ncold=%d\\nshare=%d\\nreturned=%d\\n", hot, cold, share, returned)
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


# Two that sleep at once: of the second the kernel can keep no return. Then many reads.
COMMAND = "sh -c 'sleep 3 & sleep 3; wait; dd if=/dev/zero of=/dev/null bs=1 count={reads}'"


@pytest.mark.parametrize(
    ("name", "reads", "what"),
    [
        ("goes", 20000, "disarmed is the probe"),
        ("rests", 60000, "hits are left out from now on of the probe"),
    ],
    ids=["disarmed", "throttled"],
)
def test_the_session_goes_on(
    guest: Machine, modules: dict[str, Path], name: str, reads: int, what: str
) -> None:
    """The probe that takes most is named, and is disarmed or rests; what was skipped is told."""
    text = f"""
    $run -c "{COMMAND.format(reads=reads)}" ${name} >out 2>err; echo status=$?
    cat out; cat err >&2
    """
    lines, result = shell(guest, modules, text, 300)
    said = f"{lines}\n{result.stderr.decode()}"
    found = figures(lines)
    assert found["status"] == 0 and found["hot"] > 0 and found["cold"] > 0, said
    told = re.findall(WARNING, said, re.MULTILINE)
    assert [one for one, _ in told] == [what] and int(told[0][1]) > 50, said
    assert "ERROR" not in said, said
    left = re.search(r'overload: (\d+) hits of kernel\.function\("vfs_read"\) at ', said)
    skipped = int(re.findall(r"skipped probes: (\d+)", said)[0])
    if name == "goes":
        assert found["hot"] < reads and not left, said
    else:
        # Some are skipped where another processor had the globals.
        assert left and found["hot"] + skipped + int(left[1]) >= reads, said
        assert found["share"] < 40, said  # all of the first interval, then a fifth
    check_table(said, skipped)


def check_table(said: str, skipped: int) -> None:
    """Each row names its own point of a list, and all figures together are the warning's."""
    rows = re.findall(r"^ +([\d %]+)  (\S+ at \S+|\(other probes\))$", said, re.MULTILINE)
    points = {where.partition(" at ")[0] for _, where in rows}
    assert 'kernel.function("vfs_read")' in points and "timer.ms(50)" in points, said
    assert "," not in "".join(points), said
    missed = re.search(r"^  and (\d+) that the kernel missed", said, re.MULTILINE)
    assert missed, said
    counted = int(missed[1])
    for text, where in rows:
        figures = list(map(int, text.rpartition("%")[2].split()))
        counted += sum(figures if where == "(other probes)" else figures[:-1])
    assert counted == skipped, said
