"""Variables of user programs: in the registers of the hit, in the memory of the process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stapy.ir import program as p
from stapy.ir.dump import expression
from stapy.ir.scope import TargetScope
from stapy.ir.walk import walk
from stapy.probes.families import by_name
from tests.debuginfo.user.sources import compiled
from tests.debuginfo.user.sources import run as command
from tests.elaborate.support import Result, run
from tests.vm.test_user_variables import PROGRAM

pytestmark = pytest.mark.slow
STYLES = {"optimised": ["-O2", "-pie", "-fPIE"], "fixed": ["-O2", "-no-pie"], "plain": ["-O0"]}


@pytest.fixture(scope="module", params=STYLES)
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(str(request.param))
    return compiled(folder, PROGRAM, "-g", *STYLES[request.param])


def probe(path: Path, tail: str, body: str = "println(1)", **options: Any) -> Result:
    return run(f'probe process("{path}").{tail} {{ {body} }}', **options)


def scope_of(path: Path, tail: str) -> TargetScope:
    result = probe(path, tail)
    assert result.program is not None, result.shown()
    (site,) = result.program.probes[0].sites
    scope = by_name("uprobe").scope(site, result.services)
    assert scope is not None
    return scope


def text(value: p.Expr | None) -> str:
    assert value is not None
    return expression(value)


def test_parameters_are_where_callers_put_them(path: Path) -> None:
    scope = scope_of(path, 'function("walk")')
    found = scope.variables
    assert (scope.module, scope.user) == (str(path), True)
    assert text(found["$n"].value) == "@program_register(5):u64"
    assert text(found["$depth"].value) == "@program_register(4):s32"
    assert text(found["$c"].value) == "@program_register(2):s8"
    assert [text(part) for part in found["$both"].parts] == [
        "@program_register(8):u64",
        "@program_register(9):u64",
    ]
    assert text(found["$large"].address) == "(@program_register(7):u64) + 8"
    assert text(found["$seven"].value) == "@user_s64((@program_register(7):u64) + 32)"
    assert text(found["$eight"].value) == "@user_u8((@program_register(7):u64) + 40)"
    assert all(variable.user for variable in found.values())
    names = ["$n", "$depth", "$text", "$c", "$both", "$large", "$seven", "$eight"]
    assert scope.groups["$$parms"] == names


def test_nothing_of_the_kernel_is_in_them(path: Path) -> None:
    """Neither its registers nor its memory: every value and everything behind a pointer."""
    body = 'println($n->next->value, $text, $large->c, $counter, $hidden, $n$, @var("root")->value)'
    result = probe(path, 'function("walk")', body)
    assert result.program is not None, result.shown()
    handler = result.program.probes[0].handler
    reads = [node for node in walk(handler.body) if isinstance(node, p.MemoryRead)]
    registers = [node.name for node in walk(handler.body) if isinstance(node, p.ContextValue)]
    assert len(reads) > 4
    assert all(node.user for node in reads)
    assert set(registers) == {"program_register", "address"}


def test_globals_are_moved_as_far_as_the_program(path: Path) -> None:
    scope = scope_of(path, 'function("walk")')
    rows = (line.split() for line in command("nm", str(path)).splitlines())
    symbols = {row[2]: int(row[0], 16) for row in rows if len(row) == 3}
    assert scope.outside is not None and scope.everywhere is not None
    for find, name in ((scope.outside, "hidden"), (scope.everywhere, "counter@program.c")):
        found = find(name)
        assert found is not None
        offset = symbols[name.partition("@")[0]] - symbols["walk"]
        assert text(found[1]) == f"(@address(0):u64) + {offset}"
    assert scope.everywhere("nothing") is None


def test_results_and_what_was_passed(path: Path) -> None:
    scope = scope_of(path, 'function("made").return')
    assert [text(part) for part in scope.variables["$return"].parts] == [
        "@program_register(0):u64",
        "@program_register(1):u64",
    ]
    assert scope.entry is not None
    assert text(scope.entry.variables["$n"].value) == "@program_register(5):s64"
    byte = scope_of(path, 'function("byte").return')
    assert text(byte.variables["$return"].value) == "@program_register(0):u8"
    assert "$return" not in scope_of(path, 'function("half").return').variables


def test_without_debug_information_it_is_said(tmp_path: Path) -> None:
    path = compiled(tmp_path, PROGRAM, "-O2")
    shown = probe(path, 'function("walk")', "println($n)")
    notes = "\n".join(shown.diagnostics.items[0].notes)
    assert "need its debug information" in notes


def test_wrong_names_get_the_nearest(path: Path) -> None:
    result = probe(path, 'function("walk")', "println($deepth)")
    item = result.diagnostics.items[0]
    assert "alternatives: $depth" in item.message
    result = probe(path, 'function("walk")', "println($n->valu)")
    assert "unable to find member 'valu' for struct node" in result.diagnostics.items[0].message
