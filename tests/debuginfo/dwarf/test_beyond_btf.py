"""Functions and types that BTF does not describe are told by DWARF."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.debuginfo import ctypes as c
from stapy.debuginfo.dwarf.query.dwarf_file import DwarfFile
from stapy.debuginfo.dwarf.read.types import Types
from stapy.debuginfo.dwarf.read.variables import in_scope
from stapy.debuginfo.elf import ElfFile
from stapy.debuginfo.facade import Debuginfo
from stapy.probes.values.location import describe
from stapy.record import replace

from .samples import LINKED, RELOCATABLE, compiled
from .test_kernel import opened
from .test_relocatable import world

SOURCE = """
struct point { int x, y; };
volatile int sink;
static __attribute__((noinline)) int reduced(int unused, struct point *p, long factor)
{
	sink = p->x * factor;
	return sink;
}
long whole(struct point *p, char c) { return reduced(1, p, 3) + reduced(c, p, sink); }
long other(struct point *p, char c) __attribute__((alias("whole")));
static int __attribute__((noinline)) twin(int a) { sink = a; return a + 1; }
int one(int a) { return twin(a); }
void _start(void) { struct point p = { sink, sink }; whole(&p, 1); one(sink); }
"""


@pytest.fixture(scope="module", params=[LINKED, RELOCATABLE])
def dwarf(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> DwarfFile:
    folder = tmp_path_factory.mktemp("beyond")
    return opened(compiled(folder, "a.c", SOURCE, "-O2", "-g", *request.param))


def test_a_copy_by_the_compiler(dwarf: DwarfFile) -> None:
    symbols = ElfFile.open(dwarf.path).symbols()
    name = next(s.name for s in symbols if s.name.startswith("reduced."))
    place = dwarf.place_of(name)
    assert place is not None
    assert (place.function, place.symbol, place.offset) == ("reduced", name, 0)
    prototype = dwarf.prototype(place)
    assert [p.name for p in prototype.params] == ["unused", "p", "factor"]
    assert c.c_name(prototype.result) == "int"
    variables = {v.name: v for v in dwarf.variables(place)}
    # What is left of it is not where the calling convention has the third parameter.
    assert variables["factor"].ops is not None
    assert [op[:2] for op in variables["factor"].ops] != [("register", 1)]


@pytest.mark.build
def test_what_a_copy_is_not_passed(kernel_info: Debuginfo) -> None:
    """The location begins behind the call of ``__fentry__``; at the entry the same calls tell."""
    dwarf = kernel_info.dwarf
    place = kernel_info.place_of("netlink_autobind.isra.0")
    assert dwarf is not None and place is not None and place.is_exact
    entry = dwarf.info.entry(place.entry)
    (socket,) = (v for v in in_scope(entry, place.address, Types()) if v.name == "sock")
    assert socket.ops is None and socket.ranges[0][0] > place.address
    (socket,) = (v for v in dwarf.variables(place) if v.name == "sock")
    assert socket.ops is not None and [op.name for op in socket.ops] == ["parameter", "value"]
    assert len(dwarf.calls_with(socket.ops[0].first, place)) > 1
    assert describe(socket, place, dwarf).value is not None
    # A function that is no copy has its parameters where DWARF says, or nowhere.
    (socket,) = (v for v in dwarf.variables(replace(place, symbol="f")) if v.name == "sock")
    assert socket.ops is None


def test_an_alias(dwarf: DwarfFile) -> None:
    names = [dwarf.place_of(name) for name in ("whole", "other")]
    assert all(place is not None and place.function == "whole" for place in names)
    place = names[1]
    assert place is not None
    assert [c.c_name(p.type) for p in dwarf.prototype(place).params] == ["struct point *", "char"]


@pytest.mark.parametrize("name", ["absent", "sink", "", "twi", "reduced.isra"])
def test_no_function(dwarf: DwarfFile, name: str) -> None:
    assert dwarf.place_of(name) is None


def test_the_facade_falls_back_to_dwarf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = world(tmp_path, monkeypatch, "lib/modules/{r}/kernel/fs/sample.ko")
    prototype = info.prototype("looped", "sample")
    assert prototype is not None and [p.name for p in prototype.params] == ["p", "count"]
    place = info.place_of("looped", "sample")
    assert place is not None and info.site_at(place).module == "sample"
    found = info.type("struct point", ["sample", "kernel"])
    assert isinstance(found, c.Struct) and found.size == 48
    assert info.type("struct point", ["kernel"]) is None
    known = info.prototype("vfs_read")
    assert known is not None and known.params[0].name == "fd"  # by BTF
    assert info.prototype("vfs_only_symbol") is None
    assert info.place_of("fuse_open", "fuse_x") is None
