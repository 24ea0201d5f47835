"""Sizes, offsets and enums: our BTF and our DWARF against pahole's reading of the same."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from stapy.cache import Cache
from stapy.debuginfo.btf.reader import Btf
from stapy.debuginfo.dwarf.query.dwarf_file import DwarfFile
from stapy.debuginfo.elf import ElfFile
from stapy.debuginfo.facade import Debuginfo
from stapy.diagnostics import Diagnostics, SourceMap
from stapy.kernel import find_kernel, installed_releases

from .dwarf.samples import LINKED, compiled
from .dwarf.test_kernel import opened
from .pahole import Shape, shape_of, shapes

SOURCE = """
typedef unsigned long long u64;
enum kind { NONE, FIRST = 5, NEGATIVE = -3, LAST = 0x7fffffff };
enum big { HIGH = 0xfffffff0u };
struct inner { char c; short s[3]; };
union mixed { int i; char c[7]; struct { u64 a, b; }; struct { char x; } named; };
struct bits { unsigned a : 3, b : 7; int : 0; unsigned c : 1; u64 d : 40; signed char e : 5; };
struct packed { char c; u64 d; } __attribute__((packed));
struct all {
	struct inner in[2];
	union mixed m;
	struct bits b;
	struct packed p;
	enum kind k;
	enum big g;
	int (*call)(struct all *, ...);
	void *(*table[4])(int);
	const volatile struct all *next;
	_Bool flag;
	union { int one; struct { char two; struct { short three : 4, four : 3; }; }; };
	struct { int x, y; } points[3];
	double weight;
	int matrix[2][3];
	char rest[];
};
struct all *whole;
void _start(void) { }
"""
NAMES = ("struct inner", "union mixed", "struct bits", "struct packed", "struct all")
ENUMS = ("kind", "big")


@pytest.mark.parametrize("style", ["-gdwarf-4", "-gdwarf-5"])
def test_types_of_a_program(tmp_path: Path, style: str) -> None:
    path = compiled(tmp_path, "types.c", SOURCE, style, *LINKED)
    dwarf = opened(path)
    if shutil.which("pahole") is None:
        pytest.skip("pahole is not installed")
    subprocess.run(["pahole", "-J", str(path)], check=True, capture_output=True)
    elf = ElfFile.open(path)
    btf = Btf(elf.read(".BTF") or b"", "types")
    compare(shapes(path), NAMES, btf, dwarf)
    enums = shapes(path, *ENUMS)
    assert enums["enum kind"][0].values[2] == ("NEGATIVE", 2**32 - 3)
    compare(enums, tuple(f"enum {name}" for name in ENUMS), btf, dwarf)


def compare(
    theirs: dict[str, list[Shape]],
    names: tuple[str, ...] | list[str],
    btf: Btf,
    dwarf: DwarfFile | None,
) -> None:
    for name in names:
        (expected,) = theirs[name]
        known = btf.type(name)
        assert known is not None, name
        sized = expected.size > 0
        assert shape_of(known).key(sized=sized) == expected.key(), name
        if dwarf is not None:
            found = dwarf.type(name)
            assert found is not None, name
            assert shape_of(found).key(sized=sized) == expected.key(), name
            assert shape_of(found).size == shape_of(known).size


def info_of(folder: Path) -> Debuginfo:
    releases = [name for name in installed_releases() if name.startswith("6.1.")]
    if not releases:
        pytest.skip("no kernel of line 6.1 is installed")
    diagnostics = Diagnostics(SourceMap())
    return Debuginfo(find_kernel(releases[0], diagnostics), Cache(folder), diagnostics)


def of_kernel(info: Debuginfo, folder: Path, dwarf: DwarfFile | None) -> int:
    """Compare some hundred types; how many."""
    btf = info.btf
    assert btf is not None
    raw = folder / "btf"
    raw.write_bytes(btf.raw())
    structs = shapes(raw)
    chance = random.Random(20)
    names = chance.sample(sorted(n for n, found in structs.items() if len(found) == 1), 500)
    compare(structs, names, btf, dwarf)
    tags = chance.sample(sorted(name for name in btf.type_names("e")), 100)
    plain = [tag.rpartition(" ")[2] for tag in tags]
    enums = {name: found for name, found in shapes(raw, *plain).items() if len(found) == 1}
    compare(enums, [name for name in enums if name.startswith("enum ")], btf, dwarf)
    return len(names) + len(enums)


@pytest.mark.build
def test_types_of_a_kernel(tmp_path: Path) -> None:
    assert of_kernel(info_of(tmp_path / "cache"), tmp_path, None) > 550


@pytest.mark.build
def test_types_of_a_kernel_by_dwarf(kernel_info: Debuginfo, tmp_path: Path) -> None:
    assert kernel_info.dwarf is not None
    assert of_kernel(kernel_info, tmp_path, kernel_info.dwarf) > 550
