"""Arrays, strings and buffers that are too large: refused with their sizes, at nobody's cost."""

from __future__ import annotations

import re

import pytest

from stapy.record import Record
from stapy.vm.machine import Machine
from tests.vm.harness import run_script

pytestmark = [pytest.mark.build, pytest.mark.vm]


class Large(Record):
    """A script, options, and what is said of its largest part."""

    name: str
    script: str
    part: str
    args: tuple[str, ...] = ()


LARGE = [
    Large("array", "global big[30000000], small probe begin { big[1] = 2 small[1] = 1 exit() }",
          "array 'big' [0-9]{4} MB"),
    Large("default_size", "global one, two probe begin { one[1] = 2 two[1] = 1 exit() }",
          "array '(one|two)' [0-9]{4} MB, array '(one|two)' [0-9]{4} MB",
          ("-DMAXMAPENTRIES=20000000",)),
    Large("statistics", "global s[9000000] probe begin { s[1] <<< 2 println(@count(s[1])) exit() }",
          "array 's' [0-9]{4} MB"),
    Large("strings", 'global a[9000] probe begin { a["x"] = "y" exit() }', "array 'a' [0-9]{4} MB",
          ("-DMAXSTRINGLEN=65000",)),
    Large("buffers", "probe begin { println(1) exit() }", "output 'buffers' 2048 MB",
          ("-s", "2048")),
]  # fmt: skip


@pytest.mark.parametrize("large", LARGE, ids=[large.name for large in LARGE])
def test_too_large(large: Large, guest: Machine) -> None:
    result = run_script(guest, large.script, *large.args)
    assert result.status == 1 and not result.stdout, result.stderr
    found = re.search(
        r"^ERROR: not enough memory: the script needs \d+ MB and \d+ MB are free\. The largest "
        rf"parts are {large.part}\b.* -D MAXMAPENTRIES=N.* \(-s MB\)$", result.stderr, re.M,
    )  # fmt: skip
    assert found, result.stderr
    assert "Out of memory" not in result.dmesg and "oom" not in result.dmesg, result.dmesg
    # The machine is as before.
    assert guest.run(["true"]).status == 0


def test_what_fits_is_given(guest: Machine) -> None:
    script = "global a[1000000] probe begin { a[1] = 2 println(a[1]) exit() }"
    result = run_script(guest, script)
    assert result.status == 0 and result.stdout == "2\n", result.stdout + result.stderr
