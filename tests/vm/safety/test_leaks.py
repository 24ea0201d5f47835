"""Sessions of every family, loaded and unloaded: kmemleak finds nothing that is ours.

Only a kernel with kmemleak can do that: see "A kernel that watches" in CONTRIBUTING.md.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from stapy.vm.machine import Machine
from tests.vm.needs import need
from tests.vm.safety.support import LONG, make, shell
from tests.vm.safety.test_injection import COUNT, ENDS, FAMILIES

pytestmark = [pytest.mark.build, pytest.mark.vm]

ROUNDS = 30 if LONG else 2
# Programs are handed over by the consumer.
SCRIPTS = {
    **FAMILIES,
    "programs": f"""probe process("/bin/bash").function("execute_command_internal"),
        process("/bin/bash").library("libc.so.6").function("fork").return,
        process("/bin/bash").begin {COUNT}""",
}
# Forgets where its memory is: shows that such a thing would be found.
LEAK = """
%{ #include <linux/slab.h> %}
function leak() %{ kmalloc(3000, GFP_ATOMIC); %}
probe begin { leak() leak() leak() exit() }
"""
# Twice, for what was on its way in a register. Whatever is found is in the kernel's log, too.
SCAN = """
for try in 1 2; do sleep 6; echo scan >/sys/kernel/debug/kmemleak; done
cat /sys/kernel/debug/kmemleak
"""


@pytest.fixture
def watched(release: str) -> Iterator[Machine]:
    """Boot a machine of the test's own, since watching costs a lot."""
    need(release, "CONFIG_DEBUG_KMEMLEAK")
    more = os.environ.get("STAPY_TEST_COMMAND_LINE", "")
    with Machine(release, cpus=2, command_line=f"{more} kmemleak=on") as machine:
        yield machine


def test_nothing_leaks(watched: Machine, release: str, tmp_path: Path) -> None:
    modules = make(
        release,
        tmp_path,
        leak=("-g", "-e", LEAK),
        **{name: ("-s", "1", "-e", ENDS + script) for name, script in SCRIPTS.items()},
    )
    text = f"""
    echo clear >/sys/kernel/debug/kmemleak
    for round in $(seq {ROUNDS}); do
        for name in {" ".join(SCRIPTS)}; do
            eval $run -T 0.2 \\$$name >out 2>err && grep -q end out || cat err
        done
    done
    {SCAN}
    """
    lines, result = shell(watched, modules, text, 300)
    assert lines == [], (lines, result.stderr)
    with pytest.raises(AssertionError, match="new suspected memory leaks"):
        shell(watched, modules, f"$run $leak; {SCAN}", 100)
