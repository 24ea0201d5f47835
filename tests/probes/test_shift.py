"""Which breakpoints are moved behind the ``endbr64`` of a function, and where rows say so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stapy.elaborate.assemble.binaries import take_along
from stapy.probes.families import by_name
from tests.debuginfo.user.sources import compiled
from tests.debuginfo.user.sources import run as command
from tests.elaborate.support import run

pytestmark = pytest.mark.slow

INCLUDE = Path(__file__).parent.parent.parent / "include"
PROGRAM = r"""
#include <stdio.h>
#include <sys/sdt.h>
__attribute__((noipa)) int pushes(int n) { puts("1"); puts("2"); return n; } /* LINE 4 */
__attribute__((noipa)) int leaf(int n) { return n + 1; }
__attribute__((noipa)) int other(int n) { int m = leaf(n); puts("3"); return n + m; }
int main(int argc, char **argv) { return pushes(argc) + other(argc); }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shift")
    options = ("-O2", "-g", "-fcf-protection=full", "-no-pie", "-rdynamic", f"-I{INCLUDE}")
    return compiled(folder, PROGRAM, *options)


def _moved(program: Path, *points: str, before: str = "", **options: Any) -> list[tuple[int, int]]:
    """List for each site how far behind the place that is meant it is armed; with its distance."""
    text = "".join(f'probe process("{program}").{point} {{ println(1) }}\n' for point in points)
    result = run(before + text, **options)
    assert result.program is not None, result.shown()
    take_along(result.program, result.services)
    found = []
    for probe in result.program.probes:
        for site, row in zip(probe.sites, by_name(probe.family).rows(probe, 0), strict=True):
            found.append((int(row["offset"]) - site.offset, int(row["distance"])))
    return found


def _address(program: Path, name: str) -> int:
    rows = (line.split() for line in command("nm", str(program)).splitlines())
    return next(int(row[0], 16) for row in rows if row[-1] == name)


@pytest.mark.parametrize(
    "point",
    [
        'function("pushes")',
        'function("pushes").call',
        'function("pushes").return',
        'function("push*")',
        'function("pushes@*program.c")',
        'function("pushes").exported',
        'function("main").callee("pushes")',
    ],
)
def test_beginnings_are_moved(program: Path, point: str) -> None:
    assert _moved(program, point) == [(4, 4)]


def test_others_stay(program: Path) -> None:
    """Instructions that the script names, and functions without anything to be won."""
    address = _address(program, "pushes")
    stays = ['function("leaf")', f"statement({address:#x})", 'statement("pushes@*program.c:4")']
    for point in stays:
        assert set(_moved(program, point)) == {(0, 0)}, point
    assert _moved(program, f"function({address:#x})") == [(4, 4)]


def test_rows_of_one_place_stay_together(program: Path) -> None:
    """They run in the order of the script, so that one that stays keeps the others."""
    line = 'statement("pushes@*program.c:4")'
    assert _moved(program, line, 'function("pushes")') == [(0, 0), (0, 0)]
    assert _moved(program, 'function("pushes")', 'function("pushes").return') == [(4, 4), (4, 4)]


def test_rows_of_the_place_behind_keep_it(program: Path, tmp_path: Path) -> None:
    """Also by another name of the file: for the kernel it is the same."""
    address = _address(program, "pushes")
    behind = f"statement({address + 4:#x})"
    assert _moved(program, behind, 'function("pushes")') == [(0, 0), (0, 0)]
    other = program.with_name("other-name")
    other.hardlink_to(program)
    text = f'probe process("{other}").{behind} {{ println(1) }}\n'
    assert _moved(program, 'function("pushes")', before=text)[-1] == (0, 0)


def test_it_can_be_turned_off(program: Path) -> None:
    assert _moved(program, 'function("pushes")', defines={"STAPY_NO_SHIFT": "1"}) == [(0, 0)]
