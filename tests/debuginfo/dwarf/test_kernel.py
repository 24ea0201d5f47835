"""The index and the facade over a small program that stands for a kernel."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from stapy.debuginfo import ctypes as c
from stapy.debuginfo.dwarf import constants as k
from stapy.debuginfo.dwarf.index.build import build
from stapy.debuginfo.dwarf.index.reader import DwarfIndex
from stapy.debuginfo.dwarf.query.dwarf_file import DwarfFile
from stapy.debuginfo.dwarf.query.spec import parse
from stapy.debuginfo.dwarf.read.ranges import contains, entry_address, ranges_of
from stapy.debuginfo.elf import ElfFile
from stapy.debuginfo.errors import DebuginfoError

from .samples import damaged, line_of
from .test_reader import all_entries, read


def opened(path: Path) -> DwarfFile:
    elf = ElfFile.open(path)
    return DwarfFile(path, DwarfIndex(build(elf)), elf)


def optimised(dwarf: DwarfFile) -> bool:
    return "-O0" not in str(dwarf.info.unit(0).root.values[0x25])


def lines(dwarf: DwarfFile, text: str, nearest: bool = False) -> list[int]:
    spec = parse(text)
    assert spec is not None
    return sorted({place.line for place in dwarf.find(spec, allow_nearest=nearest).places})


def test_index_finds_every_function_and_instance(sample: Path) -> None:
    """The fast walk against decoding every entry."""
    dwarf = opened(sample)
    entries = all_entries(read(sample)).values()
    expected = {
        (e.offset, entry_address(e), e.tag == k.INLINED_SUBROUTINE)
        for e in entries
        if e.tag in (k.SUBPROGRAM, k.INLINED_SUBROUTINE) and entry_address(e)
    }
    rows = list(dwarf.index.functions("*"))
    assert {(s.entry, s.pc, s.inlined) for row in rows for s in row.sites} == expected
    assert sum(len(row.sites) for row in rows) == len(expected)
    names = {row.name for row in rows}
    assert names == {
        "leaf", "looped", "framed", "jumping", "first", "_start", "twice", "other",
    }  # fmt: skip
    for row in rows:
        assert row.file == {"twice": "inlined.h", "other": "second.c"}.get(row.name, "sample.c")
        if row.file == "sample.c":
            assert row.line == line_of(f" {row.name}(")


@pytest.mark.parametrize(
    ("name", "file", "found"),
    [
        ("f*", "", {"framed", "first"}),
        ("*", "second.c", {"other"}),
        ("*", "inlined.h", {"twice"}),
        ("*", "s*.c", {"leaf", "looped", "framed", "jumping", "first", "_start", "other"}),
        ("first", "second.c", set()),
        ("*irs[st]", "", {"first"}),
    ],
)
def test_patterns(sample: Path, name: str, file: str, found: set[str]) -> None:
    index = opened(sample).index
    assert {row.name for row in index.functions(name, file)} == found


def test_statements(sample: Path) -> None:
    dwarf = opened(sample)
    sink = line_of("sink = value;")
    assert lines(dwarf, f"leaf@sample.c:{sink}") == [sink]
    assert lines(dwarf, f"*@sample.c:{sink}") == [sink]
    start = line_of("int leaf(")
    assert lines(dwarf, f"leaf@sample.c+{sink - start}") == [sink]
    both = lines(dwarf, f"leaf@sample.c:{sink}-{sink + 1}")
    assert both == [sink, sink + 1]
    assert {sink, sink + 1} <= set(lines(dwarf, "leaf@sample.c:*"))
    assert lines(dwarf, "leaf@sample.c:1") == []
    assert lines(dwarf, "leaf@sample.c:1", nearest=True)
    spec = parse(f"leaf@sample.c:{start + 1}00")
    assert spec is not None
    assert dwarf.find(spec).near_lines
    for text in (f"leaf@sample.c:{sink}", "leaf@sample.c"):
        spec = parse(text)
        assert spec is not None
        (place,) = dwarf.find(spec).places
        assert place.symbol == "leaf"
        assert place.is_exact == (place.offset == 0)
        assert contains(ranges_of(dwarf.info.entry(place.entry)), place.address)


def statements_by_definition(dwarf: DwarfFile, path: str) -> set[tuple[str, int, int]]:
    """Find (function, line, address) of a file of one unit, by trying everything."""
    scopes = [
        (row.name, ranges_of(dwarf.info.entry(site.entry)), dwarf.info.number_of(site.entry))
        for row in dwarf.index.functions("*", path)
        for site in row.sites
    ]
    found: set[tuple[str, int, int]] = set()
    for unit in {unit for *_, unit in scopes}:
        files, rows = dwarf.line_table(unit)
        own = [(r.line, r.address) for r in rows if files[r.file] == path and not r.ends_sequence]
        here = [(name, ranges) for name, ranges, number in scopes if number == unit]
        for line in {line for line, _ in own if line}:
            at = [address for number, address in own if number == line]
            inside = [[a for a in at if contains(ranges, a)] for _, ranges in here]
            for address in {min(some) for some in inside if some}:
                found |= {(name, line, address) for name, rs in here if contains(rs, address)}
    return found


def test_all_statements_are_those_of_each_line(sample: Path) -> None:
    dwarf = opened(sample)
    for path in ("sample.c", "inlined.h", "second.c"):
        spec = parse(f"*@{path}:*")
        assert spec is not None
        found = {(p.function, p.line, p.address) for p in dwarf.find(spec).places}
        expected = statements_by_definition(dwarf, path)
        first = min(row.line for row in dwarf.index.functions("*", path))
        # Nothing can be said of an address without a symbol of a name of its own before it.
        assert found == {
            one for one in expected if one[1] >= first and dwarf.index.anchor(one[2]) is not None
        }
        alone = {line for _, line, _ in found}
        assert all(lines(dwarf, f"*@{path}:{line}") == [line] for line in alone)


def test_a_line_names_the_function_that_it_is_in(sample: Path) -> None:
    dwarf = opened(sample)
    sink = line_of("sink = value;")
    start = line_of("int leaf(")
    for text in (f"*@sample.c:{sink}", f"leaf@sample.c:{start}", "leaf@sample.c+1",
                 f"leaf@*.c:1,{sink}"):  # fmt: skip
        spec = parse(text)
        assert spec is not None
        (place,) = dwarf.find(spec, lines_as_functions=True).places
        assert (place.function, place.line, place.is_exact) == ("leaf", start, True)
    outside = parse("leaf@sample.c:1")
    assert outside is not None
    assert not dwarf.find(outside, lines_as_functions=True).places


def test_lines_of_inlined_code_are_the_inlined_functions(sample: Path) -> None:
    dwarf = opened(sample)
    last = line_of("return looped(&origin") + 1
    assert max(lines(dwarf, "first@sample.c:*")) <= last
    inline = list(dwarf.find(parse("twice@inlined.h:*")).places)  # type: ignore[arg-type]
    assert {p.line for p in inline} <= set(range(4, 11))
    assert any(p.inlined for p in inline) == optimised(dwarf)


def test_variables(sample: Path) -> None:
    dwarf = opened(sample)
    spec = parse("looped@sample.c")
    assert spec is not None
    (place,) = dwarf.find(spec).places
    found = {v.name: v for v in dwarf.variables(place)}
    assert {"p", "count", "total"} <= set(found)
    assert {v.name for v in found.values() if v.is_parameter} == {"p", "count"}
    assert c.c_name(found["p"].type) == "struct point *"
    if not optimised(dwarf):
        assert found["p"].ops and found["p"].ops[0].name == "frame"
        assert [op.name for op in dwarf.frame_base(place)] == ["cfa"]
        return
    known = found["p"].ops or found["count"].ops  # clang knows what the only caller passes
    assert known is not None
    assert (known[0].name, known[0].first) in (("register", 5), ("register", 4), ("const", 5))
    step = line_of("int step = ")
    spec = parse(f"looped@sample.c:{step}")
    assert spec is not None
    inside = {v.name for v in dwarf.variables(dwarf.find(spec).places[0])}
    assert {"step", "i"} <= inside
    if "clang" not in str(dwarf.info.unit(0).root.values[0x25]):  # it gives up small blocks
        assert "step" not in found  # its block has not begun
    assert dwarf.lines_with(place, found["total"])


def test_variables_of_an_inlined_instance(sample: Path) -> None:
    dwarf = opened(sample)
    if not optimised(dwarf):
        pytest.skip("nothing is inlined without optimisation")
    spec = parse("twice@inlined.h")
    assert spec is not None
    places = [p for p in dwarf.find(spec).places if p.inlined]
    assert len(places) >= 4
    for place in places:
        names = [v.name for v in dwarf.variables(place)]
        assert names == ["what", "doubled"]


def test_a_local_array_is_found_by_its_frame(sample: Path) -> None:
    dwarf = opened(sample)
    line = line_of("text[n & 63]")
    spec = parse(f"framed@sample.c:{line}")
    assert spec is not None
    place = dwarf.find(spec).places[0]
    text = next(v for v in dwarf.variables(place) if v.name == "text")
    assert text.ops is not None and text.ops[0].name == "frame"
    row = dwarf.frame(place)
    assert row is not None and isinstance(row.address, tuple)
    assert row.address[0] in (6, 7) and row.address[1] > 0
    assert c.size_of(text.type) == 64


def test_globals_and_types(sample: Path) -> None:
    dwarf = opened(sample)
    symbols = {s.name: s.value for s in ElfFile.open(sample).symbols()}
    for name in ("origin", "hidden", "sink"):
        found = dwarf.global_variable(name)
        assert found is not None
        assert found[1] == symbols[name]
    assert dwarf.global_variable("hidden", "sample.c") is not None
    assert dwarf.global_variable("hidden", "second.c") is None
    assert dwarf.global_variable("absent") is None
    point = dwarf.type("struct point")
    assert isinstance(point, c.Struct)
    assert point.size == 48
    shape = {m.name: (m.bit_offset, m.bit_size, c.size_of(m.type)) for m in point.members()}
    assert shape == {
        "x": (0, 0, 4), "y": (32, 0, 4), "next": (64, 0, 8), "low": (128, 3, 4),
        "high": (131, 5, 4), "name": (136, 0, 16), "u": (288, 0, 4), "call": (320, 0, 8),
    }  # fmt: skip
    assert c.c_name(point.members()[5].type) == "byte[2][8]"
    colour = dwarf.type("enum colour")
    assert isinstance(colour, c.Enum)
    assert [(v.name, v.value) for v in colour.values] == [("RED", 1), ("GREEN", -2)]


def test_damage_is_an_error_and_no_crash(sample: Path) -> None:
    """Bytes of the debug sections are changed one at a time."""
    good = sample.read_bytes()
    chance = random.Random(1)
    failures = 0
    for _ in range(60):
        data = damaged(good, chance)
        try:
            elf = ElfFile(data, "damaged")
            dwarf = DwarfFile(sample, DwarfIndex(build(elf)), elf)
            spec = parse("*@*:*")
            assert spec is not None
            for place in dwarf.find(spec).places:
                dwarf.variables(place)
                dwarf.frame(place)
        except DebuginfoError:
            failures += 1
    assert failures
