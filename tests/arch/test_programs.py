"""Programs of arm64 in pass 2: places, arguments, variables and marks, without a guest."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.arch import ARM64, X86_64
from stapy.cache import Cache
from stapy.debuginfo import ctypes as c
from stapy.debuginfo.user import tls
from stapy.debuginfo.user.programs import Programs
from stapy.ir.dump import dump_program
from stapy.probes import abi
from stapy.services import Services
from tests.elaborate.support import BIG, INT, LONG, FakeDebuginfo, function, run, struct
from tests.vm import arm64_programs

FLOAT, DOUBLE = c.Float("float", 4), c.Float("double", 8)
POINT = struct("point", 24, ("x", DOUBLE, 0), ("y", DOUBLE, 8), ("z", DOUBLE, 16))
ROUND = struct("round", 16, ("at", c.Array(FLOAT, 2), 0), ("more", c.Array(FLOAT, 2), 8))
HALF = struct("half", 16, ("n", LONG, 0), ("x", DOUBLE, 8))
EITHER = struct("either", 16, ("x", DOUBLE, 0), ("both", c.Array(DOUBLE, 2), 0), kind="union")
COMPLEX = c.Float("complex double", 16)
QUAD = c.Float("long double", 16)


def registers(*types: c.CType) -> dict[str, list[str]]:
    """Tell in what each parameter is passed, by the name of the context's value."""
    params = [(f"p{number}", type) for number, type in enumerate(types)]
    found = {}
    for row in abi.parameters(function(LONG, *params), ARM64, with_vectors=True):
        parts = row.parts or [row.value or row.address]
        found[row.name] = [f"{part.name}{part.index}" for part in parts]  # type: ignore[union-attr]
    return found


@pytest.mark.parametrize(
    ("types", "found"),
    [
        ((INT, DOUBLE, LONG), {"$p0": ["arg0"], "$p2": ["arg1"]}),
        ((POINT, INT), {"$p1": ["arg0"]}),
        ((ROUND, EITHER, INT), {"$p2": ["arg0"]}),
        ((COMPLEX, QUAD, INT), {"$p2": ["arg0"]}),
        ((HALF, INT), {"$p0": ["arg0", "arg1"], "$p1": ["arg2"]}),  # not divided
        ((BIG, INT), {"$p0": ["arg0"], "$p1": ["arg1"]}),
        # Numbers that find no vector register are on the stack, before those that find no other.
        ((*[DOUBLE] * 9, *[LONG] * 8, INT),
         {**{f"$p{n + 9}": [f"arg{n}"] for n in range(8)}, "$p17": ["stack_arg1"]}),
    ],
)  # fmt: skip
def test_floating_point_arguments_take_no_general_register(
    types: tuple[c.CType, ...], found: dict[str, list[str]]
) -> None:
    assert registers(*types) == found


@pytest.mark.parametrize("type", [DOUBLE, FLOAT, POINT, ROUND, EITHER, COMPLEX, QUAD])
def test_results_in_vector_registers(type: c.CType) -> None:
    prototype = function(type)
    assert abi.result(prototype, ARM64, with_vectors=True) is None
    assert "vector registers" in abi.unknown_result(prototype, ARM64)["$return"]()
    assert "vector registers" not in str(abi.unknown_result(prototype, X86_64))


@pytest.mark.parametrize("type", [LONG, HALF])
def test_results_in_general_registers(type: c.CType) -> None:
    assert abi.result(function(type), ARM64, with_vectors=True) is not None
    assert not abi.unknown_result(function(type), ARM64)


class OfArm64(FakeDebuginfo):
    """Tables of a kernel of arm64."""

    def __init__(self, folder: Path) -> None:
        self.programs = Programs(Cache(folder), pytest.fail, ARM64)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    if not arm64_programs.compiler():
        pytest.skip("there is no compiler for arm64: apt-get install gcc-12-aarch64-linux-gnu")
    return arm64_programs.made(tmp_path_factory.mktemp("programs"))


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Services, "machine", ARM64)


def program(tmp_path: Path, point: str, body: str = "") -> str:
    """Elaborate a probe, and print what it became."""
    result = run(f"probe {point} {{ {body} println(1) }}", debuginfo=OfArm64(tmp_path))
    assert result.program is not None, result.shown()
    assert not result.diagnostics.items, result.shown()
    return dump_program(result.program, with_bodies=True)


@pytest.mark.parametrize("kind", ["functions", "bare"])
def test_places(programs: dict[str, Path], tmp_path: Path, kind: str) -> None:
    path = programs[kind]
    text = program(tmp_path, f'process("{path}").function("factorial").return')
    assert "factorial" in text
    text = program(tmp_path, f'process("{path}").function("*")')
    assert all(name in text for name in ("add", "many", "mixed", "run"))


@pytest.mark.parametrize(
    ("function", "value", "found"),
    [
        ("add", "$a", "program_register[0]"),
        ("add", "$p->b", "program_register[4]"),
        ("mixed", "$last", "program_register[1]"),
        ("mixed", "$c", "program_register[2]"),
        ("many", "$i", "program_register[31]"),
    ],
)
def test_variables(
    programs: dict[str, Path], tmp_path: Path, function: str, value: str, found: str
) -> None:
    point = f'process("{programs["functions"]}").function("{function}")'
    assert found in program(tmp_path, point, f"println({value})").replace("(", "[").replace(
        ")", "]"
    )


@pytest.mark.parametrize(
    ("point", "value"), [("mixed", "$d"), ("mixed", "$at->y"), ('real").return #', "$return")]
)
def test_variables_in_vector_registers(
    programs: dict[str, Path], tmp_path: Path, point: str, value: str
) -> None:
    name, _, more = point.partition('"')
    text = f'process("{programs["functions"]}").function("{name}"){more.strip(")# ")}'
    result = run(f"probe {text} {{ println({value}) }}", debuginfo=OfArm64(tmp_path))
    (error,) = result.diagnostics.items
    assert any("vector register" in note for note in error.notes), error.notes


def test_marks(programs: dict[str, Path], tmp_path: Path) -> None:
    text = program(tmp_path, f'process("{programs["marks"]}").mark("operands")', "println($$vars)")
    assert all(f"$arg{number}=" in text for number in range(1, 6))


def test_where_thread_local_variables_are(programs: dict[str, Path], tmp_path: Path) -> None:
    file = OfArm64(tmp_path).programs.open(str(programs["functions"]))
    block = tls.block_of(file)
    assert block is not None
    assert (block.how, block.distance) == (tls.BASE, 16)
