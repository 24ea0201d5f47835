"""Entries, ranges, lines, locations and frames, each compared with pyelftools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stapy.debuginfo.dwarf import constants as k
from stapy.debuginfo.dwarf.read.expressions import location_list
from stapy.debuginfo.dwarf.read.frames import Frames, Saved
from stapy.debuginfo.dwarf.read.lines import LineReader
from stapy.debuginfo.dwarf.read.ranges import arange_units, ranges_of
from stapy.debuginfo.dwarf.read.sections import Sections
from stapy.debuginfo.dwarf.read.units import Die, Info
from stapy.debuginfo.elf import ElfFile

from .oracle import opened, text


def read(path: Path) -> Info:
    return Info(Sections(ElfFile.open(path)))


def all_entries(info: Info) -> dict[int, Die]:
    found: dict[int, Die] = {}

    def walk(entry: Die) -> None:
        found[entry.offset] = entry
        for child in entry.children():
            walk(child)

    for number in range(len(info.headers)):
        walk(info.unit(number).root)
    return found


def oracle_entries(dwarf: Any) -> dict[int, Any]:
    entries = (die for unit in dwarf.iter_CUs() for die in unit.iter_DIEs())
    return {die.offset: die for die in entries if not die.is_null()}


def test_entries(sample: Path) -> None:
    mine = all_entries(read(sample))
    with opened(sample) as dwarf:
        theirs = oracle_entries(dwarf)
        assert mine.keys() == theirs.keys()
        assert len(mine) > 60
        for offset, die in theirs.items():
            entry = mine[offset]
            assert entry.name() == text(
                die.attributes["DW_AT_name"].value
                if "DW_AT_name" in die.attributes
                else entry.name()
            )
            assert len(entry.values) == len(die.attributes)
            for name in ("DW_AT_type", "DW_AT_abstract_origin"):
                if name in die.attributes:
                    number = {"DW_AT_type": k.AT_TYPE}.get(name, k.AT_ABSTRACT_ORIGIN)
                    other = entry.refer(number)
                    assert other is not None
                    assert other.offset == die.get_DIE_from_attribute(name).offset


def test_ranges(sample: Path) -> None:
    seen = 0
    info = read(sample)
    with opened(sample) as dwarf:
        lists = dwarf.range_lists()
        for offset, die in oracle_entries(dwarf).items():
            if "DW_AT_ranges" not in die.attributes:
                continue
            seen += 1
            base = die.cu.get_top_DIE().attributes["DW_AT_low_pc"].value
            expected = []
            rows = lists.get_range_list_at_offset(die.attributes["DW_AT_ranges"].value, die.cu)
            for row in rows:
                if not hasattr(row, "begin_offset"):
                    base = row.base_address
                    continue
                start = 0 if row.is_absolute else base
                if row.begin_offset != row.end_offset:
                    expected.append((start + row.begin_offset, start + row.end_offset))
            assert ranges_of(info.entry(offset)) == expected
    functions = [e for e in all_entries(info).values() if e.tag == k.SUBPROGRAM]
    sized = [e for e in functions if k.AT_HIGH_PC in e.values]
    assert len(sized) >= 5
    for entry in sized:
        ((start, end),) = ranges_of(entry)
        assert 0 < end - start < 4096


def test_aranges(sample: Path) -> None:
    info = read(sample)
    rows = arange_units(info)
    assert {unit for _, _, unit in rows} == {header.offset for header in info.headers}
    for entry in all_entries(info).values():
        if entry.tag == k.SUBPROGRAM:
            for start, end in ranges_of(entry):
                home = entry.unit.header.offset
                assert any(a <= start and end <= b and unit == home for a, b, unit in rows)


def test_lines(sample: Path) -> None:
    info = read(sample)
    reader = LineReader(info.sections)
    with opened(sample) as dwarf:
        for number, unit in enumerate(dwarf.iter_CUs()):
            root = info.unit(number).root
            offset, folder = root.number(k.AT_STMT_LIST), str(root.values[k.AT_COMP_DIR])
            program = reader.program(offset, folder, root.name())
            expected = [
                (s.address, s.file, s.line, s.is_stmt, s.end_sequence)
                for s in (e.state for e in dwarf.line_program_for_CU(unit).get_entries())
                if s is not None
            ]
            rows = reader.rows(program)
            # At the end of a sequence the file and line mean nothing.
            assert [(r[0], r[4]) for r in rows] == [(r[0], r[4]) for r in expected]
            assert [r[1:4] for r in rows if not r.ends_sequence] == [
                r[1:4] for r in expected if not r[4]
            ]
            assert root.name() in program.files
            assert "inlined.h" in program.files


def test_location_lists(sample: Path) -> None:
    info = read(sample)
    seen = 0
    with opened(sample) as dwarf:
        lists = dwarf.location_lists()
        for offset, die in oracle_entries(dwarf).items():
            found = die.attributes.get("DW_AT_location")
            if found is None or found.form not in ("DW_FORM_sec_offset", "DW_FORM_loclistx"):
                continue
            seen += 1
            base = die.cu.get_top_DIE().attributes["DW_AT_low_pc"].value
            expected = []
            for row in lists.get_location_list_at_offset(found.value, die):
                if hasattr(row, "begin") or not hasattr(row, "loc_expr"):
                    base = getattr(row, "base_address", base)
                    continue
                start = 0 if row.is_absolute else base
                ends = start + row.begin_offset, start + row.end_offset
                expected.append((*ends, bytes(row.loc_expr)))
            assert location_list(info.entry(offset), k.AT_LOCATION) == expected
    producer = str(info.unit(0).root.values[0x25])
    assert bool(seen) == ("-O0" not in producer)


def test_frame_addresses(sample: Path) -> None:
    frames = Frames(Sections(ElfFile.open(sample)))
    seen = 0
    with opened(sample) as dwarf:
        for entry in dwarf.CFI_entries():
            if "initial_location" not in entry.header:
                continue
            start, size = entry["initial_location"], entry["address_range"]
            table = entry.get_decoded().table
            for row, following in zip(table, [*table[1:], {"pc": start + size}]):
                rule = row["cfa"].reg, row["cfa"].offset
                saved = {
                    register: Saved("frame", rule.arg)
                    for register, rule in row.items()
                    if isinstance(register, int) and rule.type == "OFFSET"
                }
                for address in (row["pc"], following["pc"] - 1):
                    assert frames.row(address) == (rule, saved)
                    seen += 1
            assert frames.row(start + size + 4096) is None
    assert seen > 10
