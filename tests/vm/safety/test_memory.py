"""Arrays, strings and buffers that are too large: refused with their sizes, at nobody's cost."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stapy.record import Record
from stapy.vm.machine import Machine
from tests.vm.harness import run_script
from tests.vm.safety.support import figures, make, shell

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
    Large("strings", 'global a[9000] probe begin { a[pp()]=pp() exit() }', "array 'a' [0-9]{4} MB",
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


ELEMENTS = 1_000_000
TOLD = """
global big[%d], texts[200], all
probe begin { big[1] = 2 texts[pp()] = pp() all <<< 1 println("up") }
"""


def test_what_is_told_is_what_is_taken(guest: Machine, release: str, tmp_path: Path) -> None:
    """-v: two sessions that differ in one array differ by what the kernel has less of."""
    modules = make(release, tmp_path, small=TOLD % 1000, large=TOLD % (ELEMENTS + 1000))
    text = """
    free() { sed -n 's/^MemFree: *\\([0-9]*\\) kB/\\1/p' /proc/meminfo; }
    for name in small large small large; do
        eval "module=\\$$name"; echo 3 >/proc/sys/vm/drop_caches; before=$(free)
        $run -v $module >out 2>err & run_pid=$!
        wait_for '[ -s out ]' $run_pid; echo 3 >/proc/sys/vm/drop_caches
        echo $name=$((before - $(free))); kill -INT $run_pid; wait $run_pid
        sed -n "s/^.*memory: \\([0-9,]*\\)\\.[0-9] KiB/$name \\1/p" err
    done
    """
    lines, result = shell(guest, modules, text, 120)
    taken = figures(lines)  # the second time of each: what is made once is there
    told = {}
    for line in lines:
        if found := re.fullmatch(r"(small|large) ([\d,]+) (\w+) (.*)", line):
            told[found[1], found[3], found[4]] = int(found[2].replace(",", ""))
    assert {("large", "array", "'texts'"), ("large", "statistic", "'all'"),
            ("large", "module", "'large'"), ("large", "output", "buffers"),
            ("large", "strings", "of functions and handlers")} <= set(told), lines  # fmt: skip
    assert (
        told["large", "array", "'texts'"]
        == told["small", "array", "'texts'"]
        >= 200 * 128 * 2 / 1024
    )
    more = told["large", "array", "'big'"] - told["small", "array", "'big'"]
    # A key and a value of eight bytes, and what finds them.
    assert 16 * ELEMENTS < more * 1024 < 128 * ELEMENTS, lines
    # The kernel gives pages back late, those of the session before as well.
    assert abs(taken["large"] - taken["small"] - more) < more / 3, (lines, result.stderr)
