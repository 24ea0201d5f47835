"""The report at the end of a session about programs: hits, what is missing, nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stapy.vm.machine import Machine
from tests.debuginfo.user.sources import compiled
from tests.vm.safety.support import make, shell

pytestmark = [pytest.mark.build, pytest.mark.vm]

DEEP = """
__attribute__((noipa)) int down(int n) { return n ? 1 + down(n - 1) : 0; }
int main(void) { return down(99) == 99 ? 0 : 1; }
"""
RETURNS = """
global kept, plain
probe process("{path}").function("down").return {{ kept += @entry(1) }}
probe process("{path}").function("down").return {{ plain++ }}
probe end {{ println(kept, " ", plain) }}
"""


def test_deep_returns(guest: Machine, release: str, tmp_path: Path) -> None:
    """An entry side is no hit, and the returns that the kernel does not tell of are counted."""
    path = compiled(tmp_path, DEEP, "-O1", "-fno-optimize-sibling-calls")
    one = RETURNS.format(path=path)
    plain = f'probe process("{path}").function("down").return {{ n++ }} global n'
    modules = make(release, tmp_path, both=("-t", "-e", one), plain=("-e", plain))
    lines, result = shell(guest, modules, f"$run -c {path} $both; echo status $?")
    said = result.stderr.decode()
    assert lines[0] == "64 64", said
    assert lines[-1] == "status 0", said
    report = "\n".join(lines)
    assert len(re.findall(r"function\(\"down\"\)\.return, .* hits: 64, ", report)) == 2, report
    assert len(re.findall(r"function\(\"down\"\)\.return, .* entries: 64, ", report)) == 1, report
    text = "72 returns of functions are missing: of each thread the kernel knows those of the "
    assert text + "outermost 64 calls" in said
    assert "skipped" not in said
    lines, result = shell(guest, modules, f"$run -c {path} $plain; echo status $?")
    assert "36 returns of functions are missing" in result.stderr.decode()


def test_scripts_without_stacks_are_not_told_of_stacks(
    guest: Machine, release: str, tmp_path: Path
) -> None:
    """Names are looked for where the mappings are being changed; no stack is walked."""
    script = """
    probe kernel.function("do_mmap") { if (usymname(uaddr()) != "") named++ } global named
    probe end { println(named > 0) }
    """
    stacks = """
    probe kernel.function("do_mmap") { n += strlen(ubacktrace()) } global n
    probe end { println(n) }
    """
    modules = make(release, tmp_path, names=script, stacks=stacks)
    lines, result = shell(guest, modules, "$run -c /bin/true $names; $run -c /bin/true $stacks")
    assert lines[0] == "1", result.stderr.decode()
    said = result.stderr.decode().splitlines()
    # Only the second one walks stacks.
    assert sum("stacks end early" in line for line in said) == 1, said
