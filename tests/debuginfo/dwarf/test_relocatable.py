"""Debug files of modules are not linked: what they tell must be what they tell once linked."""

from __future__ import annotations

import random
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest

from stapy.debuginfo.dwarf.index.build import build
from stapy.debuginfo.dwarf.index.reader import DwarfIndex
from stapy.debuginfo.dwarf.query.dwarf_file import DwarfFile
from stapy.debuginfo.dwarf.query.spec import parse
from stapy.debuginfo.dwarf.read.relocate import Relocations, layout
from stapy.debuginfo.dwarf.read.sections import Sections
from stapy.debuginfo.elf import ElfFile
from stapy.debuginfo.errors import DebuginfoError
from stapy.debuginfo.facade import Debuginfo

from ..elfwriter import ElfWriter
from ..world import make_debuginfo, make_kernel
from .samples import LINKED, RELOCATABLE, STYLES, damaged, make
from .test_kernel import opened
from .test_reader import all_entries


@pytest.fixture(scope="module", params=[style for style in STYLES if "-O0" not in style])
def pair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path]:
    """Make the sample, linked and not."""
    folder = tmp_path_factory.mktemp("pair")
    # Functions in sections of their own: each address has to be told from the others.
    style = request.param + " -ffunction-sections"
    linked = make(folder, style, LINKED).rename(folder / "linked")
    return linked, make(folder, style, RELOCATABLE)


def told(dwarf: DwarfFile) -> list[Any]:
    """List all places with their variables, free of addresses."""
    spec = parse("*@*:*")
    assert spec is not None
    found: list[Any] = []
    for place in dwarf.find(spec).places:
        variables = [
            (
                v.name,
                str(v.type),
                v.ops and [(op.name, op.name != "address" and op[1:]) for op in v.ops],
                [(start - place.address, end - place.address) for start, end in v.ranges],
            )
            for v in dwarf.variables(place)
        ]
        found.append(
            (place.function, place.file, place.line, place.symbol, place.offset, place.inlined,
             variables, dwarf.frame(place))
        )  # fmt: skip
    return sorted(found, key=str)


def test_a_file_that_was_not_linked_tells_the_same(pair: tuple[Path, Path]) -> None:
    linked, loose = (opened(path) for path in pair)
    assert ElfFile.open(pair[1]).type == 1
    assert loose.index.in_parts
    expected = told(linked)
    assert len(expected) > 20
    assert told(loose) == expected
    names = [(e.tag, e.name()) for e in all_entries(linked.info).values()]
    assert [(e.tag, e.name()) for e in all_entries(loose.info).values()] == names


def test_data_is_told_by_symbols(pair: tuple[Path, Path]) -> None:
    dwarf = opened(pair[1])
    for name in ("origin", "hidden", "sink"):
        found = dwarf.global_variable(name)
        assert found is not None
        assert dwarf.index.anchor(found[1]) == (name, 0)
    # Between the sections there is nothing.
    end = max(layout(ElfFile.open(pair[1])))
    assert dwarf.index.anchor(end - 1) is None or dwarf.index.anchor(end - 1)[1] > 0x1000  # type: ignore[index]


def test_relocating_in_parts_gives_the_whole(pair: tuple[Path, Path]) -> None:
    elf = ElfFile.open(pair[1])
    whole, parts = Sections(elf), Sections(elf, in_parts=True)
    data = parts.section("info")
    assert bytes(data) != bytes(whole.section("info"))
    step = 97  # no multiple of anything
    for start in range(0, len(data), step):
        parts.prepare(start, start + step)
    assert bytes(data) == bytes(whole.section("info"))


def loose(rows: bytes, machine: int = 62, kind: int = 4) -> ElfFile:
    e = ElfWriter(1, machine)
    e.section(".text", bytes(16), flags=6)
    e.section(".debug_info", bytes(range(32)))
    e.section(".rela.debug_info" if kind == 4 else ".rel.debug_info", rows, type=kind, info=2)
    e.symbol("f", 4)
    e.symbol("absolute", 7, section=0xFFF1)
    e.symbol("elsewhere", 9, section=0)
    e.symbol("common", 8, section=0xFFF2)
    return ElfFile(e.data(), "loose")


def row(place: int, symbol: int, kind: int, addend: int) -> bytes:
    return struct.pack("<QQq", place, symbol << 32 | kind, addend)


@pytest.mark.parametrize(
    ("rows", "place", "size", "value"),
    [
        (row(0, 1, 1, 3), 0, 8, 0x100007),
        (row(8, 1, 10, -4), 8, 4, 0x100000),
        (row(8, 1, 11, 0), 8, 4, 0x100004),
        (row(8, 1, 2, 0), 8, 4, 0x100004 - 8),
        (row(8, 1, 24, 0), 8, 8, 0x100004 - 8),
        (row(4, 2, 12, 1), 4, 2, 8),
        (row(4, 2, 14, 1), 4, 1, 8),
        (row(4, 3, 1, 5), 4, 8, 5),
        (row(4, 3, 10, -1), 4, 4, 0xFFFFFFFF),
        (row(0, 1, 0, 3), 0, 8, 0x0706050403020100),
    ],
)
def test_kinds(rows: bytes, place: int, size: int, value: int) -> None:
    data = bytes(Sections(loose(rows)).section("info"))
    assert int.from_bytes(data[place : place + size], "little") == value
    rest = bytes(range(32))
    assert data[:place] == rest[:place] and data[place + size :] == rest[place + size :]


@pytest.mark.parametrize(
    ("rows", "machine", "kind", "why"),
    [
        (row(0, 1, 99, 0), 62, 4, "relocation of unknown type 99"),
        (row(0, 4, 1, 0), 62, 4, "symbol 4 is in no section"),
        (row(0, 77, 1, 0), 62, 4, "damaged relocations of .debug_info"),
        (row(30, 1, 1, 0), 62, 4, "damaged relocations of .debug_info"),
        (row(1 << 60, 1, 10, 0), 62, 4, "damaged relocations of .debug_info"),
        (row(0, 1, 1, 0), 62, 9, "relocations without addends"),
        (row(0, 1, 1, 0), 2, 4, "relocations of machine 2 are not supported"),
    ],
)
def test_refused(rows: bytes, machine: int, kind: int, why: str) -> None:
    with pytest.raises(DebuginfoError, match=why):
        Sections(loose(rows, machine, kind)).section("info")


def test_rows_out_of_order_are_noticed() -> None:
    in_order = row(0, 1, 1, 0) + row(8, 1, 1, 0)
    assert Relocations(loose(in_order)).is_sorted(2)
    assert not Relocations(loose(row(8, 1, 1, 0) + row(0, 1, 1, 0))).is_sorted(2)


def test_damage_is_an_error_and_no_crash(pair: tuple[Path, Path]) -> None:
    good = pair[1].read_bytes()
    chance = random.Random(2)
    failures = 0
    for _ in range(40):
        data = damaged(good, chance)
        try:
            elf = ElfFile(data, "damaged")
            told(DwarfFile(pair[1], DwarfIndex(build(elf)), elf))
        except DebuginfoError:
            failures += 1
    assert failures


# --- the facade ---------------------------------------------------------------


def world(folder: Path, monkeypatch: pytest.MonkeyPatch, debug_name: str) -> Debuginfo:
    """Make a kernel with one module ``sample``, stripped, whose debug file lies elsewhere."""
    if shutil.which("objcopy") is None:
        pytest.skip("objcopy is not installed")
    kernel = make_kernel(folder)
    whole = make(folder / "made", STYLES[1], RELOCATABLE)
    modules = kernel.modules_dir
    assert modules is not None
    stripped = modules / "kernel/fs/sample.ko"
    subprocess.run(["objcopy", "--strip-debug", str(whole), str(stripped)], check=True)
    (modules / "modules.dep").write_text("kernel/fs/sample.ko:\nkernel/fs/fuse-x.ko:\n")
    build_id = ElfFile.open(whole).build_id()
    name = debug_name.format(a=build_id[:2], b=build_id[2:], r=kernel.release)
    target = folder / "debug" / name
    target.parent.mkdir(parents=True)
    whole.rename(target)
    monkeypatch.setenv("SYSTEMTAP_DEBUGINFO_PATH", str(folder / "debug"))
    return make_debuginfo(folder, kernel)


@pytest.mark.parametrize(
    "name",
    [
        "lib/modules/{r}/kernel/fs/sample.ko",
        "lib/modules/{r}/kernel/fs/sample.ko.debug",
        "usr/lib/modules/{r}/kernel/fs/sample.ko",
        ".build-id/{a}/{b}.debug",
    ],
)
def test_places_in_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    info = world(tmp_path, monkeypatch, name)
    (site,) = info.places("leaf@sample.c", "sam*").sites
    assert (site.name, site.module, site.source) == ("leaf", "sample", "DWARF")
    assert site.place is not None
    assert (site.place.module, site.place.symbol, site.place.offset) == ("sample", "leaf", 0)
    assert info.dwarf_of("sample") is not None
    assert info.dwarf is None and info.dwarf_of("kernel") is None
    assert len(info.places("leaf@sample.c:*", "sample").sites) > 1
    absent = info.places("leaf@sample.c", "fuse_x")
    assert (absent.sites, absent.is_available) == ([], False)
    assert not info.places("leaf@sample.c").is_available
    assert not info.places("leaf@", "sample").is_valid


def test_a_debug_file_of_another_build_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "lib/modules/{r}/kernel/fs/sample.ko"
    info = world(tmp_path, monkeypatch, name)
    ids = [ElfFile.open(p).build_id() for p in tmp_path.rglob("sample.ko")]
    assert ids[0] == ids[1]
    debug = tmp_path / "debug" / name.format(r=info.kernel.release)
    data = debug.read_bytes()
    debug.write_bytes(data.replace(bytes.fromhex(ids[0]), bytes(20)))
    assert not info.places("leaf@sample.c", "sample").is_available
    (warning,) = info._diagnostics.items
    assert "its build-id is " + "0" * 40 in warning.message
    assert ids[0] in warning.message


@pytest.mark.parametrize("kind", ["zlib-gnu", "zlib-gabi", "zstd"])
def test_compressed_sections(pair: tuple[Path, Path], tmp_path: Path, kind: str) -> None:
    """Of linked files and of others; ``.zdebug_info`` is the oldest form."""
    if shutil.which("objcopy") is None or (kind == "zstd" and shutil.which("zstd") is None):
        pytest.skip("objcopy and zstd are not installed")
    for number, path in enumerate(pair):
        small = tmp_path / str(number)
        option = f"--compress-debug-sections={kind}"
        done = subprocess.run(["objcopy", option, str(path), str(small)], capture_output=True)
        if done.returncode:
            pytest.skip(f"this objcopy does not know {kind}")
        assert any(
            s.flags & 0x800 or s.name.startswith(".zdebug") for s in ElfFile.open(small).sections
        )
        assert told(opened(small)) == told(opened(path))
