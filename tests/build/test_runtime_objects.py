"""The runtime's objects are made when a module needs them, and only then."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.build.kit import open_kit
from stapy.build.modpost import global_names
from stapy.build.runtime_objects import RuntimeObjects, owners
from stapy.cache import Cache
from stapy.debuginfo.elf import ElfFile
from stapy.debuginfo.facade import Debuginfo
from stapy.debuginfo.facts import kernel_facts
from stapy.diagnostics import Diagnostics, SourceMap
from stapy.kernel import find_kernel
from stapy.options import Options
from stapy.paths import data_dir
from tests.build import small
from tests.build.conftest import Builder

BROKEN = '#include "stapy.h"\nint stapy_unused(int x)\n{\n\treturn not_there(x);\n}\n'
UNUSED = small.source(small.SCRIPT.replace("stapy_helper", "stapy_unused"), name="stapy_more")


def made_units(cache: Cache) -> set[str]:
    """Find what the cache knows of the runtime, by the names that it defines."""
    found = set()
    for path in cache.root.glob("unit/*/*"):
        if not path.name.endswith(".sum"):
            found |= global_names(ElfFile.open(path)).defined
    return found


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("int stapy_a(int x)\n{\n", {"stapy_a"}),
        ("struct stapy_a *\nstapy_b(void)\n", {"stapy_b"}),
        ("const struct stapy_family stapy_x = {\n", {"stapy_x"}),
        ("DEFINE_PER_CPU(struct stapy_a, stapy_cpus);\n", {"stapy_cpus"}),
        ("static int stapy_a(int x)\n{\n\tstapy_b();\n}\n", set()),
        ("/* stapy_a */\n * stapy_b\n#define stapy_c\n", set()),
        ("module_init(stapy_init);\n", {"stapy_init", "init_module", "cleanup_module"}),
    ],
)
def test_owners(tmp_path: Path, text: str, names: set[str]) -> None:
    (tmp_path / "a.c").write_text(text)
    assert owners(tmp_path, ["a.c"]) == {name: ["a.c"] for name in names}


@pytest.mark.build
def test_a_further_need_compiles_just_that(newest: Builder, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    assert newest(cache=cache).made.origin == "kit"
    first = made_units(cache)
    assert {"init_module", "stapy_helper"} <= first
    assert "stapy_unused" not in first
    before = {path: path.stat().st_mtime_ns for path in cache.root.glob("unit/*/*")}
    assert newest(UNUSED, cache=cache).made.origin == "kit"
    assert made_units(cache) == first | {"stapy_unused"}
    assert all(path.stat().st_mtime_ns == time for path, time in before.items() if not path.suffix)


@pytest.mark.build
@pytest.mark.parametrize("damage", [b"", b"\x7fELF", None])
def test_damaged_object_is_made_again(
    newest: Builder, tmp_path: Path, damage: bytes | None
) -> None:
    cache = Cache(tmp_path / "cache")
    newest(cache=cache)
    for path in cache.root.glob("unit/*/*"):
        if path.suffix:
            continue
        if damage is None:
            path.unlink()
        else:
            path.write_bytes(damage)
    made = newest(small.source(name="stapy_again"), cache=cache).made
    assert made.origin == "kit"
    assert "stapy_helper" in {s.name for s in ElfFile.open(made.path).symbols()}


@pytest.mark.build
def test_definition_that_looks_like_none_is_found(newest: Builder, tmp_path: Path) -> None:
    hidden = '#include "stapy.h"\n#define N(x) stapy_##x\nint N(helper)(int x)\n{\n\treturn x;\n}\n'
    runtime = small.write_runtime(tmp_path / "runtime", helper=hidden)
    assert newest(runtime=runtime).made.origin == "kit"


@pytest.mark.build
def test_refusal_is_remembered(newest: Builder, tmp_path: Path) -> None:
    runtime = small.write_runtime(tmp_path / "runtime", unused=BROKEN)
    cache = Cache(tmp_path / "cache")
    for name in ("stapy_one", "stapy_two"):
        source = small.source(UNUSED.files["small.c"], name=name)
        assert newest(source, runtime=runtime, cache=cache).codes == ["E0405"]
    refused = [p for p in cache.root.glob("unit/*/*") if p.read_bytes().startswith(b"refused")]
    assert len(refused) == 1


@pytest.mark.build
def test_the_real_runtime_is_described_whole(kernel: small.Kernel, tmp_path: Path) -> None:
    target = find_kernel(kernel.release, Diagnostics(SourceMap()))
    cache = Cache.of(Options())

    def facts() -> str:
        data = Debuginfo(target, cache, Diagnostics(SourceMap()))
        return kernel_facts(target, data.btf, target.exports)

    runtime = data_dir("runtime")
    kit = open_kit(target, runtime, cache, tmp_path, facts)
    objects = RuntimeObjects(kit, runtime, cache, tmp_path)
    whole = {unit.name for unit in objects.units()}
    objects.provide_all()
    assert not objects.broken
    # A unit whose files cannot be compiled together comes apart: slower, and without a word.
    assert {unit.name for unit in objects.units()} == whole
    for name, members in objects.owners.items():
        # Static calls belong to the one file that makes them.
        if name.startswith(("__pfx_", "__SCK__", "__SCT__")) or name == "__this_module":
            continue
        assert set(kit.owners.get(name, [])) & {
            member for unit in objects.owners_of([name]) for member in unit.members
        }, f"{name} of {members}"


def test_a_compiler_that_failed_says_nothing_of_a_file(tmp_path: Path) -> None:
    """kbuild, which may have better luck, is to compile such a file; not one with a mistake."""
    objects = RuntimeObjects.__new__(RuntimeObjects)
    objects.broken = {
        "map.c": "map.c:3:1: error: unknown type name 'u128'\n",
        "print.c": "fatal error: malformed or corrupted AST file: 'x'\n",
        "stat.c": "gcc-12: fatal error: Killed signal terminated program cc1\n",
    }
    assert objects.refused() == {"map.c"}
