"""Damage of an index file: what is noticed at once, and what only shows in use."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from stapy.cache import Cache
from stapy.debuginfo import pack
from stapy.debuginfo.dwarf.constants import AT_COMP_DIR
from stapy.debuginfo.dwarf.index.build import build
from stapy.debuginfo.dwarf.index.reader import DwarfIndex
from stapy.debuginfo.dwarf.query.opener import open_first
from stapy.debuginfo.elf import ElfFile
from stapy.debuginfo.errors import DamagedIndexError, DebuginfoError

from .samples import STYLES, make


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("program"), STYLES[1])


@pytest.fixture(scope="module")
def content(program: Path) -> bytes:
    return build(ElfFile.open(program))


def parts_of(content: bytes) -> dict[str, bytes]:
    return {name: content[start:end] for name, (start, end) in pack.decode(content).items()}


def test_every_part_is_needed_in_its_size(content: bytes) -> None:
    parts = parts_of(content)
    DwarfIndex(content)
    for name, data in parts.items():
        rest = {other: text for other, text in parts.items() if other != name}
        with pytest.raises(DebuginfoError, match=f"no {name}"):
            DwarfIndex(pack.encode(rest))
        if not name.endswith("_text") and name not in ("in_parts", "scope_start", "folder_start"):
            for changed in (data[:-1], data + data[:8], b""):
                with pytest.raises(DebuginfoError, match="damaged index"):
                    DwarfIndex(pack.encode({**parts, name: changed}))


@pytest.mark.parametrize("name", ["name_first", "function_site", "function_inline"])
def test_damage_that_shows_in_use_drops_the_file(content: bytes, tmp_path: Path, name: str) -> None:
    parts = parts_of(content)
    data = bytearray(parts[name])
    data[4:8] = b"\xff\xff\xff\x7f"
    kept = tmp_path / "index"
    kept.write_bytes(pack.encode({**parts, name: bytes(data)}))
    index = DwarfIndex(kept.read_bytes(), kept)
    with pytest.raises(DamagedIndexError, match="run the command again"):
        list(index.functions("*"))
    assert not kept.exists()


def test_any_damage_is_an_error_or_a_wrong_answer_but_no_crash(content: bytes) -> None:
    chance = random.Random(4)
    for _ in range(300):
        data = bytearray(content)
        at = chance.randrange(len(data))
        data[at : at + 4] = chance.randbytes(4)
        try:
            index = DwarfIndex(bytes(data))
            list(index.functions("*", "*.c"))
            list(index.functions("leaf"))
            index.things("s", "point")
            index.anchor(0x401000)
            index.function_at(0x401000)
            index.folder(0x100)
        except DebuginfoError:
            pass


def test_folders_of_units_stand_in_the_index(program: Path, content: bytes, tmp_path: Path) -> None:
    """No entry has to be read for them, nor is any section of the file unpacked."""
    dwarf, _ = open_first([program], "", None, Cache(tmp_path), print)
    assert dwarf is not None
    entries = {site.entry for row in dwarf.index.functions("*") for site in row.sites}
    told = {entry: dwarf.folder_of(entry) for entry in entries}
    assert dwarf._info is None
    for entry, folder in told.items():
        root = dwarf.info.unit(dwarf.info.number_of(entry)).root
        assert folder == root.values[AT_COMP_DIR] != ""
    assert dwarf.index.folder(max(header.end for header in dwarf.info.headers)) is None
    parts = {**parts_of(content), "unit_start": b"", "unit_end": b"", "unit_folder": b""}
    dwarf.index = DwarfIndex(pack.encode(parts))  # as of units that could not be read
    assert {entry: dwarf.folder_of(entry) for entry in entries} == told


def test_a_folder_that_is_not_there_drops_the_file(content: bytes, tmp_path: Path) -> None:
    parts, kept = parts_of(content), tmp_path / "index"
    parts["unit_folder"] = b"\x07" * len(parts["unit_folder"])
    kept.write_bytes(pack.encode(parts))
    index = DwarfIndex(kept.read_bytes(), kept)
    with pytest.raises(DamagedIndexError, match="run the command again"):
        index.folder(int.from_bytes(parts["unit_start"][:4], "little"))
    assert not kept.exists()


def test_a_name_with_a_newline_keeps_the_others(program: Path) -> None:
    data = program.read_bytes().replace(b"first\0", b"fi\nst\0")
    names = {row.name for row in DwarfIndex(build(ElfFile(data, "damaged"))).functions("*")}
    assert {"fi?st", "leaf", "other"} <= names


@pytest.mark.parametrize("damage", ["cut", "zeros", "other"])
def test_a_damaged_file_in_the_cache_is_made_anew(
    program: Path, tmp_path: Path, damage: str
) -> None:
    cache = Cache(tmp_path)
    first, _ = open_first([program], "", None, cache, print)
    assert first is not None
    (kept,) = (p for p in tmp_path.rglob("*") if p.is_file() and p.stat().st_size > 1000)
    good = kept.read_bytes()
    bad = {"cut": good[: len(good) // 2], "zeros": bytes(len(good)), "other": good[::-1]}
    kept.write_bytes(bad[damage])
    again, problems = open_first([program], "", None, cache, print)
    assert again is not None and not problems
    assert [row.name for row in again.index.functions("le*")] == ["leaf"]
    assert kept.read_bytes() == good


WEAK = """
static inline __attribute__((always_inline)) int inner(int x) { return x * 3; }
__attribute__((weak)) int replaced(int x) { return inner(x) + 1; }
__attribute__((weak)) int kept(int x) { return x + 2; }
int only_here(int x) { return inner(x); }
"""
STRONG = """
int replaced(int x) { return x - 1; }
int kept(int);
int only_here(int);
int main(void) { return replaced(1) + kept(2) + only_here(3); }
"""


def test_code_of_weak_functions_that_were_replaced_is_left_out(tmp_path: Path) -> None:
    for name, text in (("weak.c", WEAK), ("strong.c", STRONG)):
        (tmp_path / name).write_text(text)
    command = ["gcc", "-g", "-O2", "-o", "program", "weak.c", "strong.c"]
    subprocess.run(command, cwd=tmp_path, check=True)
    index = DwarfIndex(build(ElfFile.open(tmp_path / "program")))
    found = {row.name: (Path(row.file).name, len(row.sites)) for row in index.functions("*")}
    assert found == {
        "inner": ("weak.c", 1),
        "kept": ("weak.c", 1),
        "main": ("strong.c", 1),
        "only_here": ("weak.c", 1),
        "replaced": ("strong.c", 1),
    }
