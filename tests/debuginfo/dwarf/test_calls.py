"""What calls pass and which addresses variables are somewhere at, against pyelftools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stapy.debuginfo.dwarf import constants as k
from stapy.debuginfo.dwarf.read.calls import calls
from stapy.debuginfo.dwarf.read.expressions import decode, location
from stapy.debuginfo.dwarf.read.ranges import ranges_of
from stapy.debuginfo.dwarf.read.sections import Sections
from stapy.debuginfo.dwarf.read.units import Info
from stapy.debuginfo.elf import ElfFile
from stapy.debuginfo.facade import Debuginfo

from . import samples
from .oracle import opened

SITES = ("DW_TAG_call_site", "DW_TAG_GNU_call_site")
PARAMETERS = ("DW_TAG_call_site_parameter", "DW_TAG_GNU_call_site_parameter")
# The second of these functions is called with what it does not look at.
SOURCE = r"""
volatile int sink;
__attribute__((noinline)) static int without(int used, int unused)
{
	sink = used;
	return used + 1;
}
__attribute__((noinline)) int with(int value)
{
	sink = 1;
	return without(value * 3, value) + without(7, 9) + sink;
}
void _start(void)
{
	sink = with(sink);
}
"""


def first(die: Any, *names: str) -> Any:
    """Return the value of the first attribute that there is, else None."""
    return next((die.attributes[n].value for n in names if n in die.attributes), None)


def reference(die: Any, *names: str) -> int:
    """Return the entry that the first attribute that there is refers to, 0 without one."""
    name = next((n for n in names if n in die.attributes), None)
    return int(die.get_DIE_from_attribute(name).offset) if name else 0


def sites_below(die: Any) -> list[Any]:
    """List the call sites of a function, those of what is inlined into it too."""
    found = []
    for child in die.iter_children():
        if child.tag in SITES:
            found.append(child)
        elif child.tag in ("DW_TAG_lexical_block", "DW_TAG_inlined_subroutine"):
            found += sites_below(child)
    return found


def check_calls(info: Info, unit: Any) -> int:
    """Check every call of a unit; return how many arguments there were."""
    seen = 0
    for die in unit.get_top_DIE().iter_children():
        if die.tag != "DW_TAG_subprogram":
            continue
        function = info.entry(die.offset)
        ours = list(calls(function))
        theirs = sites_below(die)
        assert len(ours) == len(theirs)
        for call, site in zip(ours, theirs):
            assert call.back == (first(site, "DW_AT_call_return_pc", "DW_AT_low_pc") or 0)
            origin = reference(site, "DW_AT_call_origin", "DW_AT_abstract_origin")
            assert (call.target.offset if call.target else 0) == origin
            passed = [child for child in site.iter_children() if child.tag in PARAMETERS]
            assert len(call.arguments) == len(passed)
            for argument, child in zip(call.arguments, passed):
                value = first(child, "DW_AT_call_value", "DW_AT_GNU_call_site_value")
                place = first(child, "DW_AT_location")
                for ops, block in ((argument.value, value), (argument.location, place)):
                    assert ops == (decode(bytes(block), function.unit) if block else [])
                meant = reference(child, "DW_AT_call_parameter", "DW_AT_abstract_origin")
                assert argument.parameter == meant
                seen += 1
    return seen


@pytest.mark.parametrize("style", samples.STYLES[:2])
def test_calls_of_a_sample(style: str, tmp_path: Path) -> None:
    path = samples.compiled(tmp_path, "calls.c", SOURCE, "-O2", "-static", *style.split())
    info = Info(Sections(ElfFile.open(path)))
    seen = 0
    with opened(path) as oracle:
        for unit in oracle.iter_CUs():
            seen += check_calls(info, unit)
    assert seen >= 3


def covering_at(rows: list[Any], base: int, address: int) -> list[bytes]:
    """List the expressions of a location list that hold at an address."""
    found = []
    for row in rows:
        if not hasattr(row, "loc_expr"):
            base = getattr(row, "base_address", base)
            continue
        offset = 0 if row.is_absolute else base
        if offset + row.begin_offset <= address < offset + row.end_offset and row.loc_expr:
            found.append(bytes(row.loc_expr))
    return found


UNITS = ("fs/read_write.c", "fs/namei.c", "fs/proc/base.c")


@pytest.mark.build
def test_calls_of_a_kernel(kernel_info: Debuginfo) -> None:
    dwarf = kernel_info.dwarf
    assert dwarf is not None
    with opened(Path(dwarf.path)) as oracle:
        seen = 0
        for name in UNITS:
            row = next(r for r in dwarf.index.functions("*", name) if r.sites)
            unit = dwarf.info.headers[dwarf.info.number_of(row.entry)]
            seen += check_calls(dwarf.info, oracle.get_CU_at(unit.offset))
    assert seen > 1000


@pytest.mark.build
def test_coverage_of_variables(kernel_info: Debuginfo) -> None:
    """At some addresses of each function: is a variable anywhere, and where?"""
    from elftools.dwarf.locationlists import LocationParser

    dwarf = kernel_info.dwarf
    assert dwarf is not None
    somewhere = nowhere = 0
    with opened(Path(dwarf.path)) as oracle:
        lists = LocationParser(oracle.location_lists())
        row = next(r for r in dwarf.index.functions("*", UNITS[0]) if r.sites)
        unit = dwarf.info.headers[dwarf.info.number_of(row.entry)]
        cu = oracle.get_CU_at(unit.offset)
        base = first(cu.get_top_DIE(), "DW_AT_low_pc") or 0
        for die in cu.iter_DIEs():
            if die.tag not in ("DW_TAG_variable", "DW_TAG_formal_parameter"):
                continue
            where = die.attributes.get("DW_AT_location")
            parent = dwarf.info.entry(die.get_parent().offset)
            if where is None or not ranges_of(parent):
                continue
            entry = dwarf.info.entry(die.offset)
            found = lists.parse_from_attribute(where, cu["version"], die)
            for start, end in ranges_of(parent):
                for address in range(start, end, max(1, (end - start) // 5)):
                    ops, _ = location(entry, k.AT_LOCATION, address)
                    if not isinstance(found, list):
                        assert ops == decode(bytes(found.loc_expr), entry.unit)
                        continue
                    covering = covering_at(found, base, address)
                    assert ops == (decode(covering[0], entry.unit) if covering else None)
                    somewhere += bool(covering)
                    nowhere += not covering
    assert somewhere > 1000 and nowhere > 500
