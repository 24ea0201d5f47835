"""More messages than there is room for: what the consumer must know arrives all the same."""

from __future__ import annotations

import re

import pytest

from stapy.record import Record
from stapy.vm.machine import Machine
from tests.vm.harness import run_script

pytestmark = [pytest.mark.build, pytest.mark.vm]

WARN = 'for (i = 0; i < 600; i++) warn("w" . sprint(i))'


class Flood(Record):
    """A script that says too much, its exit status and a line that must be on stderr."""

    name: str
    script: str
    status: int
    stderr: str
    args: tuple[str, ...] = ()


FLOODS = [
    Flood("exit", f"probe begin {{ {WARN} exit() }}", 0, "^WARNING: w0$"),
    Flood("exit_of_a_timer", f"probe timer.ms(50) {{ {WARN} exit() }}", 0, "^WARNING: w0$"),
    Flood("error", f'probe begin {{ {WARN} error("the last") }}', 1, "^ERROR: the last"),
    Flood("error_of_a_timer", f'probe timer.ms(50) {{ {WARN} error("the last") }}', 1,
          "^ERROR: the last"),
    Flood("end", f'probe begin {{ exit() }} probe end {{ {WARN} error("the last") }}', 1,
          "^ERROR: the last"),
    # No room even for errors: the status is right without their text.
    Flood("errors", 'probe timer.us(100) { error("one more") } probe timer.ms(900) { exit() }', 1,
          "^WARNING: Number of errors: [1-9]", ("-DMAXERRORS=10000000",)),
    Flood("long_texts", f"probe begin {{ {WARN} exit() }}", 0, "^WARNING: w0$",
          ("-DMAXSTRINGLEN=60000",)),
]  # fmt: skip


@pytest.mark.parametrize("flood", FLOODS, ids=[flood.name for flood in FLOODS])
def test_more_than_fits(flood: Flood, guest: Machine) -> None:
    args = ("-DMAXACTION=100000", "-DMAXSKIPPED=100000000", "-DSTP_NO_OVERLOAD", *flood.args)
    result = run_script(guest, flood.script + ' probe end { println("end") }', *args, timeout=60)
    assert result.status == flood.status, result.stderr[-2000:]
    assert re.search(flood.stderr, result.stderr, re.MULTILINE), result.stderr[-2000:]
    told = len(re.findall("^WARNING: w", result.stderr, re.MULTILINE))
    lost = re.search("^WARNING: ([0-9]+) warnings or errors were lost$", result.stderr, re.M)
    if "warn" in flood.script:
        assert told + (int(lost[1]) if lost else 0) == 600, result.stderr[-2000:]
