"""Names in namespaces and classes: C++ and Rust."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.debuginfo import ctypes as c
from stapy.debuginfo.dwarf.index.reader import scope_matches, split_scope
from stapy.debuginfo.dwarf.query import addresses
from stapy.debuginfo.dwarf.query.dwarf_file import DwarfFile
from stapy.debuginfo.dwarf.query.spec import parse
from stapy.debuginfo.elf import ElfFile

from .samples import LINKED, compiled, extracted
from .test_kernel import opened

SOURCE = """
volatile int sink;
namespace outer {
int counter = 4;
struct point { int x, y; };
struct shaded : point { unsigned char shade; static int made; };
int shaded::made;
namespace inner {
class Shape {
	int sides;
public:
	explicit Shape(int n) : sides(n) { sink = n; }
	__attribute__((noinline)) int area(point &p, shaded &&s) { return sides * p.x + s.shade; }
	inline int twice() { sink = sides; return sides * 2; }
	struct Part { long size; } part;
};
__attribute__((noinline)) int area(int a) { sink = a; return a + 1; }
}
template <typename T> __attribute__((noinline)) T larger(T a, T b) { return a > b ? a : b; }
}
static __attribute__((noinline)) int area(const char *text) { sink = text[0]; return sink; }
extern "C" void _start()
{
	outer::inner::Shape shape(sink);
	outer::point p = { sink, sink };
	outer::shaded s = { { 1, 2 }, 3 };
	shape.part.size = sink;
	sink = shape.area(p, static_cast<outer::shaded &&>(s)) + shape.twice()
		+ outer::inner::area(outer::counter) + area("x") + outer::larger<int>(sink, 3)
		+ shape.part.size;
}
"""


@pytest.fixture(scope="module", params=["-gdwarf-4", "-gdwarf-5"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> DwarfFile:
    folder = tmp_path_factory.mktemp("scopes")
    flags = ("-O2", "-ffreestanding", "-fno-exceptions", *LINKED)
    return opened(compiled(folder, "a.cc", SOURCE, request.param, *flags))


def names(dwarf: DwarfFile, pattern: str) -> set[str]:
    spec = parse(pattern)
    assert spec is not None
    return {place.function for place in dwarf.find(spec).places}


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("area", {"area", "outer::inner::area", "outer::inner::Shape::area"}),
        ("inner::area", {"outer::inner::area"}),
        ("Shape::area", {"outer::inner::Shape::area"}),
        ("outer::inner::Shape::ar*", {"outer::inner::Shape::area"}),
        ("outer::*::area", {"outer::inner::area"}),
        ("*::*::area", {"outer::inner::area", "outer::inner::Shape::area"}),
        ("inner::*", {"outer::inner::area"}),
        ("Shape::twice@a.cc", {"outer::inner::Shape::twice"}),
        ("other::area", set()),
        ("outer::area", set()),
        ("larger<int>", {"outer::larger<int>"}),
        ("_start", {"_start"}),
    ],
)
def test_patterns(program: DwarfFile, pattern: str, expected: set[str]) -> None:
    assert names(program, pattern) == expected


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_ZN5outer5inner4areaEi", "outer::inner::area"),
        ("_ZN5outer5inner5Shape4area", "outer::inner::Shape::area"),
        ("_ZL4areaPKc", "area"),
    ],
)
def test_addresses(program: DwarfFile, symbol: str, name: str) -> None:
    symbols = ElfFile.open(program.path).symbols()
    start = next(item.value for item in symbols if item.name.startswith(symbol))
    statement = addresses.statement_at(program, start)
    assert statement is not None and statement.place.function == name
    around = addresses.function_at(program, start + 1, inlined=False)
    assert around is not None
    assert (around.function, around.address, around.is_exact) == (name, start, True)


def test_types(program: DwarfFile) -> None:
    shaded = program.type("struct outer::shaded")
    assert isinstance(shaded, c.Struct)
    assert (shaded.name, shaded.size) == ("outer::shaded", 12)
    # What it inherits are its members, too; static ones are not in it.
    found = c.find_member(shaded, "y")
    assert found is not None and found[1] == 32
    assert c.find_member(shaded, "made") is None
    part = program.type("struct outer::inner::Shape::Part")
    assert isinstance(part, c.Struct) and part.size == 8
    assert program.type("struct Part") is None
    symbols = [symbol.name for symbol in ElfFile.open(program.path).symbols()]
    mangled = next(name for name in symbols if name.startswith("_ZN5outer5inner5Shape4area"))
    place = program.place_of(mangled)
    assert place is not None and place.function == "outer::inner::Shape::area"
    types = [c.c_name(p.type) for p in program.prototype(place).params]
    assert types[1:] == ["struct outer::point *", "struct outer::shaded *"]
    assert types[0].startswith("struct outer::inner::Shape *")


def test_variables(program: DwarfFile) -> None:
    found = program.global_variable("outer::counter")
    assert found is not None and c.c_name(found[0]) == "int"
    assert program.global_variable("counter") is None
    assert program.global_variable("sink") is not None


def test_rust(tmp_path: Path) -> None:
    """What rustc 1.63 made of lib.rs, which lies beside it."""
    extracted("rust", tmp_path)
    dwarf = opened(tmp_path / "rust")
    assert names(dwarf, "area") == {"lib::shapes::Point::area"}
    assert names(dwarf, "inner::of") == {"lib::shapes::inner::of"}
    assert any(name.startswith("lib::shapes::inner::larger<") for name in names(dwarf, "larger*"))
    assert len(names(dwarf, "twice")) == 1  # inlined only
    point = dwarf.type("struct lib::shapes::Point")
    assert isinstance(point, c.Struct)
    assert sorted(m.name for m in point.members()) == ["x", "y"]
    found = dwarf.global_variable("lib::SINK")
    assert found is not None and c.size_of(found[0]) == 4
    spec = parse("inner::of@lib.rs:*")
    assert spec is not None
    assert dwarf.find(spec).places


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("f", ("", "f")),
        ("a::f", ("a", "f")),
        ("a::b::f", ("a::b", "f")),
        ("f<a::b>", ("", "f<a::b>")),
        ("n::f<a::b<c::d>>", ("n", "f<a::b<c::d>>")),
        ("<a::b as c::d>::f", ("<a::b as c::d>", "f")),
        ("::f", ("", "f")),
    ],
)
def test_split(text: str, parts: tuple[str, str]) -> None:
    assert split_scope(text) == parts


@pytest.mark.parametrize(
    ("scope", "pattern", "matches"),
    [
        ("a::b", "b", True),
        ("a::b", "a::b", True),
        ("a::b", "a", False),
        ("a::b", "x::a::b", False),
        ("a::b", "*::b", True),
        ("b", "*::b", False),
        ("", "a", False),
        ("a::{impl#0}", "a::*", True),
    ],
)
def test_scope_matches(scope: str, pattern: str, matches: bool) -> None:
    assert scope_matches(scope, pattern) == matches
