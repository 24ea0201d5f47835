"""Points and variables with and without the kernel's debug package, all of a kernel in one run."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from stapy.cache import Cache
from stapy.debuginfo.facade import Debuginfo
from stapy.diagnostics import Diagnostics, SourceMap
from stapy.kernel.target import find_kernel
from stapy.options import Options
from stapy.vm import kernels
from tests.vm import waiter
from tests.vm.harness import Guests, ScriptResult, releases, run_script
from tests.vm.points import DWARF, PLAIN, VALUES, Row, command, script, wrong
from tests.vm.proofs import LOAD, PROVEN

pytestmark = [pytest.mark.build, pytest.mark.vm]

ALL = PLAIN + DWARF + VALUES + PROVEN
OTHERS = [release for release in releases() if release not in kernels.lines()]
_RESULTS: dict[tuple[str, bool], ScriptResult] = {}


def run(
    guests: Guests, release: str, rows: list[Row], package: bool, **values: str
) -> ScriptResult:
    """All rows of a table in one run; asked for again its result is there."""
    key = release, package
    if key not in _RESULTS:
        guest = guests.get(release)
        before = waiter.command() if package else ()
        with tempfile.TemporaryDirectory() as folder:
            load = Path(folder) / "load.sh"
            load.write_text(command(rows, LOAD + waiter.WAKE if package else ""))
            words = ["-c", f"sh {guest.push(load)}"]
        words += ["-DMAXSKIPPED=100000", "-DSTP_NO_OVERLOAD", "-g"]
        _RESULTS[key] = run_script(
            guest, script(rows, **values), *words, timeout=120, before=before
        )
    return _RESULTS[key]


def check(row: Row, result: ScriptResult) -> None:
    """One row among the output of all."""
    assert result.status == 0, result.stderr
    why = wrong(row, result.stdout)
    assert not why, (why, result.stderr[-3000:])


@pytest.mark.parametrize("row", PLAIN, ids=lambda row: row.name)
def test_without_package(row: Row, release: str, guests: Guests) -> None:
    check(row, run(guests, release, PLAIN, False))


def addresses(release: str) -> dict[str, str]:
    """Find an address of a statement, and one inside of its code."""
    diagnostics = Diagnostics(SourceMap())
    kernel = find_kernel(release, diagnostics)
    dwarf = Debuginfo(kernel, Cache.of(Options()), diagnostics).dwarf
    assert dwarf is not None
    (row,) = dwarf.index.functions("vfs_mkdir")
    return {"address": hex(row.sites[0].pc), "inside": hex(row.sites[0].pc + 1)}


@pytest.mark.parametrize("row", ALL, ids=lambda row: row.name)
def test_with_package(row: Row, release: str, guests: Guests, package: None) -> None:
    if release in OTHERS:
        pytest.skip("the table is for the kernels of this machine's lines")
    if (release, True) not in _RESULTS:
        run(guests, release, ALL, True, **addresses(release))
    check(row, _RESULTS[release, True])


if OTHERS:  # without any, there is nothing to skip either

    @pytest.mark.parametrize("row", VALUES, ids=lambda row: row.name)
    @pytest.mark.parametrize("release", OTHERS, indirect=True)
    def test_values_on_other_kernels(row: Row, release: str, guests: Guests, package: None) -> None:
        """What other compilers make of the same functions."""
        check(row, run(guests, release, VALUES, True))
