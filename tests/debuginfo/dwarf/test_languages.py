"""What C++ and Rust have and C has not: compared with pyelftools, and read as C."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stapy.debuginfo import ctypes as c
from stapy.debuginfo.dwarf import constants as k
from stapy.debuginfo.dwarf.index.reader import split_scope
from stapy.debuginfo.dwarf.query.dwarf_file import DwarfFile
from stapy.debuginfo.dwarf.query.spec import parse
from stapy.debuginfo.dwarf.read.lines import LineReader
from stapy.debuginfo.dwarf.read.types import Types

from . import test_reader as reader
from .oracle import opened as oracle
from .oracle import text
from .samples import LINKED, compiled, extracted
from .test_kernel import opened
from .test_scopes import names

SOURCE = """
volatile int sink;
namespace outer {
inline namespace v2 {
struct Base { int first; int hidden; int area(int by); };
struct Other { long second; unsigned low : 3, high : 5; };
struct __attribute__((packed)) Bits { unsigned long a : 7; long b : 40; bool c : 1; };
enum class Colour : unsigned char { Red = 1, Green = 200 };
enum class Signed : short { Low = -3, High = 300 };
template <typename T, int N> struct Box {
	T value[N];
	__attribute__((noinline)) T sum(T by) const { T s = by; for (T i : value) s += i; return s; }
};
struct Derived : Base, private Other {
	long hidden; Colour colour; Signed sign; Bits bits;
	int Base::*member; int (Derived::*method)(int);
	static int made;
	union { int i; float f; };
	struct { char c; short s; };
	Box<int, 4> box; const char *name; int &ref; int &&rref; decltype(nullptr) null;
	Derived(int &r) : ref(r), rref(static_cast<int &&>(r)) {}
	__attribute__((noinline)) int area(int by) { sink = by; return hidden * by + (int)second; }
	__attribute__((noinline)) Derived &operator+=(int n) { hidden += n; return *this; }
	__attribute__((noinline)) bool operator<(const Derived &o) { return hidden < o.hidden; }
	__attribute__((noinline)) operator int() { sink = 2; return hidden; }
	struct Inner {
		int deep;
		__attribute__((noinline)) int get() { sink = deep; return deep; }
	} inner;
};
int Derived::made = 3;
__attribute__((noinline)) int Base::area(int by) { sink = by; return first * by; }
}
namespace {
__attribute__((noinline)) int unseen(int a) { sink = a; return a + 2; }
int secret = 5;
}
__attribute__((noinline)) int over(int a) { sink = a; return a; }
__attribute__((noinline)) int over(const char *a, Colour c) { sink = *a; return (int)c; }
template <typename F> __attribute__((noinline)) int apply(F f) { return f(3); }
}
struct Virtual : virtual outer::Base { int own; };
static inline int used(Virtual *p) { sink = p->own; return p->first + p->own; }
extern "C" int drive(int n)
{
	int local = n;
	outer::Derived d(local);
	Virtual v;
	auto add = [&local, n](int x) { sink = x; return x + local + n; };

	d += n;
	sink = d.area(n) + d.Base::area(n) + (int)d + (d < d) + d.inner.get() + d.box.sum(n);
	sink = outer::over(1) + outer::over("x", outer::Colour::Green) + outer::unseen(n);
	sink = outer::secret + used(&v) + outer::Derived::made;
	return outer::apply(add);
}
extern "C" void *_ZTTN7VirtualE, *memset(void *, int, unsigned long);
extern "C" void _start() { sink = drive(sink); }
"""
CPP = {f"g++ {style}": tuple(style.split()) for style in (
    "-gdwarf-4 -O2", "-gdwarf-5 -O2", "-gdwarf-5 -O0")}  # fmt: skip
RUST = {"rust -gdwarf-4": "dwarf4", "rust -gdwarf-5": "dwarf5"}
_MADE: dict[str, Path] = {}


def made(style: str, factory: pytest.TempPathFactory) -> Path:
    if style not in _MADE:
        folder = factory.mktemp("language")
        if style in RUST:
            extracted("rust-enums", folder)
            _MADE[style] = folder / RUST[style] / "rust"
        else:
            flags = ("-std=c++17", "-ffreestanding", "-fno-exceptions", "-fno-rtti",
                     "-Wl,--unresolved-symbols=ignore-all", *CPP[style], *LINKED)  # fmt: skip
            _MADE[style] = compiled(folder, "names.cc", SOURCE, *flags)
    return _MADE[style]


@pytest.fixture(scope="module", params=[*CPP, *RUST])
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(request.param, tmp_path_factory)


@pytest.fixture(scope="module", params=CPP)
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> DwarfFile:
    return opened(made(request.param, tmp_path_factory))


@pytest.fixture(scope="module", params=RUST)
def rust(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> DwarfFile:
    return opened(made(request.param, tmp_path_factory))


# --- against pyelftools ---------------------------------------------------------


def test_entries_and_ranges(path: Path) -> None:
    reader.test_entries(path)
    reader.test_aranges(path)


def test_location_lists(path: Path) -> None:
    reader.test_location_lists(path)


def described(die: Any, wanted: str = "") -> Any:
    """Find the entry that has an attribute, else the one that stands in the scope."""
    for _ in range(4):
        if wanted in die.attributes:
            return die
        for name in ("DW_AT_abstract_origin", "DW_AT_specification"):
            if name in die.attributes:
                die = die.get_DIE_from_attribute(name)
                break
        else:
            return die
    return die


def qualified(die: Any) -> str:
    die = described(die)
    parts = [text(die.attributes["DW_AT_name"].value)] if "DW_AT_name" in die.attributes else []
    around = die.get_parent()
    while around is not None:
        if around.tag[7:] in ("namespace", "class_type", "structure_type", "union_type"):
            parts.append(text(around.attributes["DW_AT_name"].value)
                         if "DW_AT_name" in around.attributes else "")  # fmt: skip
        around = around.get_parent()
    return "::".join(part for part in reversed(parts) if part)


def test_names(path: Path) -> None:
    """Every function and inlined instance, by its name with scopes, file and line."""
    dwarf = opened(path)
    mine = {
        (site.entry, row.qualified, row.line, site.inlined)
        for row in dwarf.index.functions("*")
        for site in row.sites
    }
    expected = set()
    with oracle(path) as other:
        for offset, die in reader.oracle_entries(other).items():
            inlined = die.tag == "DW_TAG_inlined_subroutine"
            has_code = {"DW_AT_low_pc", "DW_AT_ranges"} & set(die.attributes)
            if (die.tag == "DW_TAG_subprogram" and has_code) or inlined:
                line = described(die, "DW_AT_decl_line").attributes.get("DW_AT_decl_line")
                expected.add((offset, qualified(die), line.value if line else 0, inlined))
    assert mine == expected
    assert len(mine) > 6
    for _, name, _, _ in mine:
        scope, own = split_scope(name)
        assert name == (f"{scope}::{own}" if scope else own)


def oracle_members(die: Any) -> Iterator[tuple[str, int]]:
    for child in die.iter_children():
        values = child.attributes
        if child.tag == "DW_TAG_variant_part":
            for variant in child.iter_children():
                yield from oracle_members(variant) if variant.tag == "DW_TAG_variant" else ()
        if child.tag != "DW_TAG_member" or "DW_AT_declaration" in values:
            continue
        name = text(values["DW_AT_name"].value) if "DW_AT_name" in values else ""
        place = values.get("DW_AT_data_member_location")
        bits = values.get("DW_AT_data_bit_offset")
        size = values.get("DW_AT_bit_size")
        start = bits.value if bits else place.value * 8 if place else 0
        if name and not (size and not bits):  # DWARF 4 counts bits from the other end
            yield name, start


def test_members(path: Path) -> None:
    info, types, seen = reader.read(path), Types(), 0
    with oracle(path) as other:
        for offset, die in reader.oracle_entries(other).items():
            if die.tag not in ("DW_TAG_structure_type", "DW_TAG_class_type", "DW_TAG_union_type"):
                continue
            entry = info.entry(offset)
            type = types.type(entry)
            assert isinstance(type, c.Struct)
            expected = dict(oracle_members(die))
            found = {name: c.find_member(type, name) for name in expected}
            assert {name: row and row[1] for name, row in found.items()} == expected
            assert type.name == ("" if not entry.name() else qualified(die))
            seen += len(expected)
    assert seen > 20


def test_lines(path: Path) -> None:
    info = reader.read(path)
    lines = LineReader(info.sections)
    with oracle(path) as other:
        for number, unit in enumerate(other.iter_CUs()):
            root = info.unit(number).root
            folder = str(root.values[k.AT_COMP_DIR])
            program = lines.program(root.number(k.AT_STMT_LIST), folder, root.name())
            expected = [
                (s.address, s.file, s.line)
                for s in (e.state for e in other.line_program_for_CU(unit).get_entries())
                if s is not None and not s.end_sequence
            ]
            assert [row[:3] for row in lines.rows(program) if not row.ends_sequence] == expected


def test_every_type_and_variable_can_be_told(path: Path) -> None:
    """Printed as C they are at least something, with a size that fits."""
    dwarf = opened(path)
    spec = parse("*@*:*")
    assert spec is not None
    shown: set[str] = set()
    for place in dwarf.find(spec).places:
        shown.add(c.c_name(dwarf.prototype(place)))
        for variable in dwarf.variables(place):
            shown.add(c.c_name(variable.type, variable.name))
            inner = c.strip(variable.type)
            for member in inner.members() if isinstance(inner, c.Struct) else ():
                shown.add(c.c_name(member.type))
                assert member.bit_offset // 8 + c.size_of(member.type) <= c.size_of(inner)
    assert "<unknown>" not in " ".join(shown)
    assert len(shown) > 20


# --- C++ --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("Derived::operator<", {"outer::v2::Derived::operator<"}),
        ("v2::Derived::operator+=", {"outer::v2::Derived::operator+="}),
        ("operator int", {"outer::v2::Derived::operator int"}),
        ("Derived::area", {"outer::v2::Derived::area"}),
        ("Base::area", {"outer::v2::Base::area"}),
        ("Derived::Inner::get", {"outer::v2::Derived::Inner::get"}),
        ("Box<int, 4>::sum", {"outer::v2::Box<int, 4>::sum"}),
        ("outer::over", {"outer::over"}),
        ("unseen", {"outer::unseen"}),
    ],
)
def test_functions(program: DwarfFile, pattern: str, expected: set[str]) -> None:
    assert names(program, pattern) == expected


def test_overloaded_functions_are_several_places(program: DwarfFile) -> None:
    spec = parse("outer::over")
    assert spec is not None
    places = program.find(spec).places
    assert sorted(c.c_name(program.prototype(place)) for place in places) == [
        "int (const char *, enum outer::v2::Colour)", "int (int)",
    ]  # fmt: skip


def test_this_reaches_what_is_inherited(program: DwarfFile) -> None:
    spec = parse("Derived::area")
    assert spec is not None
    (place,) = program.find(spec).places
    this = next(v for v in program.variables(place) if v.name == "this")
    pointer = c.strip(this.type)
    assert isinstance(pointer, c.Pointer)
    members = {
        name: (found[1], c.c_name(found[0].type))
        for name in ("first", "second", "hidden", "i", "s", "ref", "member", "method", "low")
        if (found := c.find_member(pointer.target, name))
    }
    assert members == {
        "first": (0, "int"), "second": (64, "long int"), "low": (128, "unsigned int"),
        "hidden": (192, "long int"), "member": (384, "int outer::v2::Base::*"),
        "method": (448, "int (outer::v2::Derived::*)(struct outer::v2::Derived *, int)"),
        "i": (576, "int"), "s": (624, "short int"), "ref": (832, "int *"),
    }  # fmt: skip


def test_types(program: DwarfFile) -> None:
    for name in ("enum outer::v2::Signed", "outer::v2::Signed"):
        signed = program.type(name)
        assert isinstance(signed, c.Enum) and signed.size == 2
        assert [(v.name, v.value) for v in signed.values] == [("Low", -3), ("High", 300)]
    for name in ("struct outer::v2::Box<int, 4>", "class outer::v2::Box<int, 4>"):
        box = program.type(name)
        assert isinstance(box, c.Struct) and box.size == 16
    bits = program.type("outer::v2::Bits")
    assert isinstance(bits, c.Struct)
    shape = {member.name: (member.bit_offset, member.bit_size) for member in bits.members()}
    assert shape == {"a": (0, 7), "b": (7, 40), "c": (47, 1)}
    assert c.size_of(program.type("unsigned long") or c.Void()) == 8
    found = program.global_variable("outer::v2::Derived::made")
    assert found is not None and c.c_name(found[0]) == "int"


def test_a_virtual_base_has_no_place(program: DwarfFile) -> None:
    found = program.type("struct Virtual")
    assert isinstance(found, c.Struct)
    assert [member.name for member in found.members()] == ["_vptr.Virtual", "own"]
    assert c.find_member(found, "first") is None


@pytest.mark.parametrize(
    ("version", "expected"),
    [("-gdwarf-5", ("struct pair *", "y", 32)), ("-gdwarf-4", ("struct {...} *", "", 0))],
)
def test_types_in_units_of_their_own(
    tmp_path: Path, version: str, expected: tuple[str, str, int]
) -> None:
    """What ``-fdebug-types-section`` makes; those of DWARF 4 are in a section that is not read."""
    source = (
        "struct pair { int x, y; };\n"
        "__attribute__((noinline)) int f(struct pair *p) { return p->y; }\n"
        "struct pair sink;\n"
        "void _start(void) { sink.x = f(&sink); }\n"
    )
    flags = (version, "-O1", "-fdebug-types-section", "-ffreestanding", *LINKED)
    dwarf = opened(compiled(tmp_path, "a.c", source, *flags))
    spec = parse("f")
    assert spec is not None
    (place,) = dwarf.find(spec).places
    (pointer,) = [variable.type for variable in dwarf.variables(place)]
    assert isinstance(pointer, c.Pointer)
    found = c.find_member(pointer.target, "y")
    shown = (found[0].name, found[1]) if found is not None else ("", 0)
    assert (c.c_name(pointer), *shown) == expected


# --- Rust -------------------------------------------------------------------------


def test_enumerations_with_data(rust: DwarfFile) -> None:
    shape = rust.type("struct names::shapes::Shape")
    assert isinstance(shape, c.Struct) and shape.size == 24
    which, variants = shape.members()
    assert isinstance(which.type, c.Enum)
    assert [(row.name, row.value) for row in which.type.values] == [
        ("Empty", 0), ("Circle", 1), ("Rect", 2), ("Named", 3),
    ]  # fmt: skip
    assert (which.name, which.bit_offset, which.type.size, variants.name) == ("__variant", 0, 2, "")
    rect = c.find_member(shape, "Rect")
    assert rect is not None and c.find_member(rect[0].type, "w") is not None
    assert c.size_of(variants.type) == 24
    only = rust.type("names::shapes::One")
    assert isinstance(only, c.Struct)
    assert [member.name for member in only.members()] == [""]  # nothing to tell it by
    assert c.member_names(only) == ["Only"]
    plain = rust.type("enum names::shapes::Plain")
    assert isinstance(plain, c.Enum) and plain.signed
    assert [(row.name, row.value) for row in plain.values] == [("Less", -1), ("Two", 100)]


def test_a_variant_that_stands_for_all_others(rust: DwarfFile) -> None:
    """``Option<&T>`` is a pointer: 0 is one variant, and everything else the other."""
    maybe = rust.type("struct core::option::Option<&u32>")
    assert isinstance(maybe, c.Struct) and maybe.size == 8
    which = maybe.members()[0]
    assert isinstance(which.type, c.Enum) and which.type.size == 8
    assert [(row.name, row.value) for row in which.type.values] == [("None", 0)]
    assert c.member_names(maybe) == ["__variant", "None", "Some"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("Point::moved", {"names::shapes::Point::moved"}),
        ("shapes::{impl#*}::area", {"names::shapes::{impl#1}::area"}),
        ("inner::inlined", {"names::shapes::inner::inlined"}),
        ("closures::{closure#0}", {"names::closures::{closure#0}"}),
        ("Pair<u8>::first*", {"names::shapes::Pair<u8>::first<u8>"}),
    ],
)
def test_rust_functions(rust: DwarfFile, pattern: str, expected: set[str]) -> None:
    assert names(rust, pattern) == expected


def test_rust_values(rust: DwarfFile) -> None:
    spec = parse("slices")
    assert spec is not None
    (place,) = rust.find(spec).places
    types = {v.name: c.c_name(v.type) for v in rust.variables(place) if v.is_parameter}
    assert types == {
        "bytes": "struct &[u8]", "text": "struct &str", "array": "u16[4]",
        "maybe": "struct core::option::Option<&u32>",
        "plain": "struct core::option::Option<u64> *", "shape": "struct &dyn names::shapes::Area",
        "tuple": "struct (u8, i64)", "either": "union names::Either", "letter": "char",
        "kind": "enum names::shapes::Plain", "one": "struct names::shapes::One",
    }  # fmt: skip
    text = next(v for v in rust.variables(place) if v.name == "text")
    assert c.member_names(text.type) == ["data_ptr", "length"]
    assert [op.name for op in text.ops or ()] == ["register", "piece", "register", "piece"]
