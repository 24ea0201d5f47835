"""The debug file of a real kernel, from the distribution's debug package."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from stapy.debuginfo.dwarf import constants as k
from stapy.debuginfo.dwarf.query.spec import parse
from stapy.debuginfo.dwarf.read.ranges import entry_address
from stapy.debuginfo.facade import Debuginfo
from stapy.diagnostics import Diagnostics, SourceMap
from stapy.probes.listing import scan

from .oracle import opened, text
from .test_kernel import statements_by_definition

pytestmark = pytest.mark.build


@pytest.fixture
def info(kernel_info: Debuginfo) -> Debuginfo:
    return kernel_info


def test_an_index_opens_quickly(info: Debuginfo, debug_root: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SYSTEMTAP_DEBUGINFO_PATH", str(debug_root))
        made = Debuginfo(info.kernel, info.cache, Diagnostics(SourceMap()))
        assert made.loaded.build_id
        start = time.process_time()
        assert made.dwarf is not None
        assert time.process_time() - start < 0.1


@pytest.mark.parametrize(
    "text",
    [
        'kernel.function("*read*")',
        'kernel.function("__x64_sys_[a-m]*")',
        'kernel.function("mem*").return',
        'kernel.function("*@mm/*.c").inline',
        'kernel.function("*@fs/*.c").exported',
    ],
)
def test_lists_are_what_resolving_gives(info: Debuginfo, text: str) -> None:
    from tests.probes.test_listed import point_of, resolved, services

    asked = services(info)
    found = scan.lines(point_of(text), asked)
    assert found is not None
    assert sorted(set(found)) == resolved(text, asked)


def test_functions_of_some_units(info: Debuginfo) -> None:
    """Every function and inlined instance of some units, as pyelftools sees them."""
    dwarf = info.dwarf
    assert dwarf is not None
    known = {s.entry: s for row in dwarf.index.functions("*") for s in row.sites}
    symbols = dict(dwarf.index.anchors())
    replaced: set[str] = set()
    seen = 0
    with opened(Path(dwarf.path)) as oracle:
        for name in ("fs/read_write.c", "lib/sort.c", "kernel/events/core.c"):
            row = next(r for r in dwarf.index.functions("*", name) if r.sites)
            unit = dwarf.info.headers[dwarf.info.number_of(row.entry)]
            for die in oracle.get_CU_at(unit.offset).iter_DIEs():
                if die.is_null() or die.tag not in (
                    "DW_TAG_subprogram",
                    "DW_TAG_inlined_subroutine",
                ):
                    continue
                if not {"DW_AT_low_pc", "DW_AT_ranges", "DW_AT_entry_pc"} & set(die.attributes):
                    assert die.offset not in known
                    continue
                seen += 1
                entry = dwarf.info.entry(die.offset)
                if die.offset not in known:  # the code of a weak function, which has no symbol
                    assert entry_address(entry) not in symbols
                    replaced.add(entry.name())
                    continue
                assert known[die.offset].pc == entry_address(entry)
                assert known[die.offset].inlined == (entry.tag == k.INLINED_SUBROUTINE)
                if "DW_AT_name" in die.attributes:
                    assert entry.name() == text(die.attributes["DW_AT_name"].value)
    assert seen > 500
    assert replaced == {"arch_perf_update_userpage", "perf_event_print_debug"}


def test_lookups_are_quick(info: Debuginfo) -> None:
    dwarf = info.dwarf
    assert dwarf is not None
    list(dwarf.index.functions("vfs_write"))
    best = 1.0
    for _ in range(5):
        start = time.perf_counter()
        (row,) = dwarf.index.functions("vfs_read")
        best = min(best, time.perf_counter() - start)
    assert row.file == "fs/read_write.c"
    assert best < 0.001


def test_places(info: Debuginfo) -> None:
    (site,) = info.functions("vfs_read@fs/read_write.c")
    assert (site.source, site.place.symbol, site.place.offset) == ("DWARF", "vfs_read", 0)  # type: ignore[union-attr]
    assert site.type is not None  # by BTF
    assert [p.name for p in site.type.params] == ["file", "buf", "count", "pos"]
    assert info.places("vfs_read@fs/open.c").sites == []
    all_of_open = info.functions("*@fs/open.c")
    assert {"vfs_open", "do_sys_openat2"} <= {s.name for s in all_of_open}
    assert any(s.place is not None and s.place.inlined for s in all_of_open)


def test_statements_of_a_file(info: Debuginfo) -> None:
    """Find as many statements as SystemTap makes of a file's lines, asked for one by one."""
    dwarf, spec = info.dwarf, parse("*@fs/open.c:*")
    assert dwarf is not None and spec is not None
    places = dwarf.find(spec).places
    found = {(place.function, place.line, place.address) for place in places}
    assert found == statements_by_definition(dwarf, "fs/open.c")
    assert len(found) == 2004 or info.kernel.release != "6.1.0-56-cloud-amd64"
    # What is inlined belongs to the functions around it, too.
    inner = {p.address for p in places if p.function == "build_open_how" and p.inlined}
    assert inner and inner <= {p.address for p in places if p.function != "build_open_how"}
    # A function asked for by name has the lines of its own source only.
    (row,) = dwarf.index.functions("vfs_write")
    own = {site.place.line for site in info.functions("vfs_write@fs/read_write.c:*") if site.place}
    assert all(row.line <= line < dwarf.following_line(row) for line in own) and len(own) > 15


def test_every_statement_of_a_function_has_its_parameters_somewhere(info: Debuginfo) -> None:
    dwarf = info.dwarf
    spec = parse("vfs_read@fs/read_write.c:*")
    assert dwarf is not None and spec is not None
    places = dwarf.find(spec).places
    assert len(places) > 5
    for place in places:
        names = [v.name for v in dwarf.variables(place)]
        assert names[:5] == ["file", "buf", "count", "pos", "ret"]
        assert dwarf.frame(place) is not None
    first = {v.name: v for v in dwarf.variables(places[0])}
    assert first["file"].ops is not None


def test_globals(info: Debuginfo) -> None:
    dwarf = info.dwarf
    assert dwarf is not None
    found = dwarf.global_variable("linux_banner", "init/version.c") or dwarf.global_variable(
        "linux_banner"
    )
    assert found is not None
    assert dwarf.index.anchor(found[1]) is not None
