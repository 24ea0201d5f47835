"""Points and variables with and without the kernel's debug package, all of a kernel in one run."""

from __future__ import annotations

import re

import pytest

from stapy.cache import Cache
from stapy.debuginfo.find import Debuginfo
from stapy.diagnostics import Diagnostics, SourceMap
from stapy.kernel.target import find_kernel
from stapy.options import Options
from tests.vm.harness import Guests, ScriptResult, run_script
from tests.vm.points import DWARF, LOAD, PLAIN, Row, script

pytestmark = [pytest.mark.build, pytest.mark.vm]

_RESULTS: dict[tuple[str, bool], ScriptResult] = {}


def run(
    guests: Guests, release: str, rows: list[Row], package: bool, **values: str
) -> ScriptResult:
    """All rows of a table in one run; asked for again its result is there."""
    key = release, package
    if key not in _RESULTS:
        words = ["-c", f"sh -c '{LOAD}'", "-DMAXSKIPPED=100000", "-DSTP_NO_OVERLOAD", "-g"]
        text = script(rows, **values)
        _RESULTS[key] = run_script(guests.get(release), text, *words, timeout=120)
    return _RESULTS[key]


def check(row: Row, result: ScriptResult) -> None:
    """One row among the output of all."""
    assert result.status == 0, result.stderr
    said = re.findall(rf"^{re.escape(row.name)}\| (.*)", result.stdout, re.MULTILINE)
    assert any(re.search(row.expect, line) for line in said), (said, result.stderr[-3000:])


@pytest.mark.parametrize("row", PLAIN, ids=lambda row: row.name)
def test_without_package(row: Row, release: str, guests: Guests) -> None:
    check(row, run(guests, release, PLAIN, False))


def addresses(release: str) -> dict[str, str]:
    """An address of a statement, and one inside of its code."""
    diagnostics = Diagnostics(SourceMap())
    kernel = find_kernel(release, diagnostics)
    dwarf = Debuginfo(kernel, Cache.of(Options()), diagnostics).dwarf
    assert dwarf is not None
    (row,) = dwarf.index.functions("vfs_mkdir")
    return {"address": hex(row.sites[0].pc), "inside": hex(row.sites[0].pc + 1)}


@pytest.mark.parametrize("row", PLAIN + DWARF, ids=lambda row: row.name)
def test_with_package(row: Row, release: str, guests: Guests, package: None) -> None:
    if (release, True) not in _RESULTS:
        run(guests, release, PLAIN + DWARF, True, **addresses(release))
    check(row, _RESULTS[release, True])
