"""How the runtime's files are put together for the compiler."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from stapy.build.units import RuntimeUnit, alone, joined, units
from stapy.paths import data_dir

# What a line that begins with "static" defines.
_STATIC = re.compile(
    r"^static (?:(?:DEFINE|DECLARE)_\w+\()?(?:__printf\([^)]*\) )?"
    r"[^;={(]*?(\w+)(?:\)|\(|\[| =|;|,)",
    re.MULTILINE,
)


def runtime_members() -> list[str]:
    runtime = data_dir("runtime")
    return sorted(path.relative_to(runtime).as_posix() for path in runtime.rglob("*.c"))


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ([], []),
        (["other.c"], [("other", ["other.c"])]),
        (["probes/x.c"], [("probes_x", ["probes/x.c"])]),
        (["map.c", "map_sort.c", "x.c"], [("maps", ["map.c", "map_sort.c"]), ("x", ["x.c"])]),
        (["x.c", "text.c"], [("texts", ["text.c"]), ("x", ["x.c"])]),
    ],
)
def test_units(members: list[str], expected: list[tuple[str, list[str]]]) -> None:
    assert [(unit.name, unit.members) for unit in units(members)] == expected


@pytest.mark.parametrize("way", [units, joined])
def test_every_file_of_the_runtime_is_in_one_unit(
    way: Callable[[list[str]], list[RuntimeUnit]],
) -> None:
    members = runtime_members()
    found = way(members)
    assert sorted(member for unit in found for member in unit.members) == members
    assert len({unit.name for unit in found}) == len(found)


def test_kbuild_starts_the_compiler_less_often() -> None:
    members = runtime_members()
    assert len(joined(members)) <= len(units(members)) * 0.6


def test_what_only_some_scripts_use_is_not_in_the_core() -> None:
    core = next(unit for unit in units(runtime_members()) if unit.name == "core")
    optional = ("map.c", "regex.c", "symbols.c", "probes/kprobe.c", "probes/timer.c")
    assert not set(core.members) & set(optional)


@pytest.mark.parametrize(
    "unit",
    [
        *(unit for unit in units(runtime_members()) if len(unit.members) > 1),
        *(unit for unit in joined(runtime_members()) if len(unit.members) > 1),
    ],
    ids=lambda u: f"{u.name}-{len(u.members)}",
)
def test_files_of_a_unit_can_be_compiled_together(unit: RuntimeUnit) -> None:
    # A name used twice would not break anything, but make the kit slower without a word.
    names: Counter[str] = Counter()
    for member in unit.members:
        text = (data_dir("runtime") / member).read_text()
        found = _STATIC.findall(text)
        names.update(set(found) | set(re.findall(r"^#define (\w+)", text, re.MULTILINE)))
    assert len(names) > len(unit.members)
    assert not [name for name, times in names.items() if times > 1]


def test_source_of_one_file_is_that_file(tmp_path: Path) -> None:
    folder = tmp_path / "never-made"
    assert alone("a/b.c").source(Path("/r"), folder) == Path("/r/a/b.c")


def test_source_of_several_files_includes_them_in_order(tmp_path: Path) -> None:
    path = RuntimeUnit("both", ["b.c", "a/c.c"]).source(Path("/r"), tmp_path)
    assert path.parent == tmp_path
    assert path.read_text() == '#include "/r/b.c"\n#include "/r/a/c.c"\n'


def test_apart() -> None:
    unit = RuntimeUnit("both", ["b.c", "a/c.c"])
    assert [part.name for part in unit.apart()] == ["b", "a_c"]
