"""Source lines of programs against addr2line, of each version of DWARF; debug files; damage."""

from __future__ import annotations

import itertools
import random
import re
import shutil
from pathlib import Path

import pytest

from stapy.run import lines, usersymbols
from tests.debuginfo.user.sources import built, compiled, run
from tests.linetable import find
from tests.run.test_frames import opened

SOURCE = """
#include "far/inlined.h"
static int counted;

__attribute__((noinline)) int work(int n)
{
	counted += n;

	for (int i = 0; i < n; i++)
		counted = inlined(counted,
				i);
	return counted;
}

int main(int argc, char **argv)
{
	if (argc > 3)
		return work(argc)
			+ work(argc + 1);
	return 1;
}
"""
HEADER = """
static inline __attribute__((always_inline)) int inlined(int a, int b)
{
	a *= b;
	return a ^ (b << 3);
}
"""


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "inlined.h").write_text(HEADER)
    return tmp_path


def told(path: Path) -> dict[int, str]:
    """Find each byte's line in main() and work() by the packed table, as addr2line prints it."""
    file = opened(path)
    source = lines.LineSource.of(file)
    assert source
    blob = lines.packed(*lines.rows_of(file, source), 0)
    found = {}
    for address in addresses(path):
        place = file.code_offset(address)
        assert place is not None
        one = find(blob, place)
        found[address] = f"{one[0]}:{one[1]}" if one else "??:0"
    return found


def addresses(path: Path) -> list[int]:
    rows = re.findall(r"^(\w+) (\w+) T (?:main|work)$", run("nm", "-S", str(path)), re.M)
    assert len(rows) == 2
    return [
        at for start, size in rows for at in range(int(start, 16), int(start, 16) + int(size, 16))
    ]


def truth(path: Path, where: list[int]) -> dict[int, str]:
    printed = run("addr2line", "-e", str(path), *map(hex, where)).splitlines()
    return {at: re.sub(r" \(disc.*", "", line) for at, line in zip(where, printed, strict=True)}


@pytest.mark.parametrize("version", [2, 3, 4, 5])
@pytest.mark.parametrize("more", ["-O0", "-O2", "-gz=zlib"])
def test_against_addr2line(sources: Path, version: int, more: str) -> None:
    """Before DWARF 5 the folder of the compilation is not in the table."""
    path = compiled(sources, SOURCE, f"-gdwarf-{version}", "-g", "-O1", more)
    found, wanted = told(path), truth(path, addresses(path))
    assert found == wanted
    assert any("far/inlined.h" in line for line in found.values())


def test_debug_file(
    sources: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Lines come from the separate file of the build, not from another's in its place."""
    if shutil.which("objcopy") is None:
        pytest.skip("needs objcopy")
    path = compiled(sources, SOURCE, "-g", "-O1", "-Wl,--build-id")
    whole = told(path)
    ident = opened(path).build_id()
    folder = tmp_path_factory.mktemp("debug")
    monkeypatch.setattr(usersymbols, "_DEBUG_FILES", str(folder))
    (folder / ident[:2]).mkdir()
    there = folder / ident[:2] / f"{ident[2:]}.debug"
    run("objcopy", "--only-keep-debug", str(path), str(there))
    names = run("nm", "-S", str(path))
    run("strip", "-g", str(path))
    assert names == run("nm", "-S", str(path))
    assert told(path) == whole
    other = compiled(sources, SOURCE + "int more;", "-g", "-O1", "-Wl,--build-id", name="other")
    run("objcopy", "--only-keep-debug", str(other), str(there))
    assert opened(other).build_id() != ident
    assert lines.LineSource.of(opened(path)) is None
    assert usersymbols.debug_file(opened(path)) is None


def test_damaged(sources: Path) -> None:
    """Bytes that are changed by chance cost rows, never the maker."""
    path = built(sources / "program", "-g", "-O1", "-x", "c", str(_written(sources)))
    file = opened(path)
    source = lines.LineSource.of(file)
    assert source
    chance = random.Random(7)
    rows = 0
    for _ in range(400):
        damaged = bytearray(source.programs)
        for _ in range(chance.randrange(1, 6)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        one = lines.LineSource(bytes(damaged), source.line_strings, source.strings)
        found, names = lines.rows_of(file, one)
        rows += len(found)
        assert all(a[0] < b[0] for a, b in itertools.pairwise(found))
        blob = lines.packed(found, names, 0)
        for row in found[:20]:
            find(blob, row[0])
    assert rows > 400
    huge = bytearray(source.programs)
    huge[:4] = (0xFFFFFFF0).to_bytes(4, "little")
    assert lines.rows_of(file, lines.LineSource(bytes(huge), b"", b"")) == ([], [])


def _written(folder: Path) -> Path:
    path = folder / "written.c"
    path.write_text(SOURCE)
    return path


def test_limits(sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is too long is not read to its end, and the rest stays true."""
    path = compiled(sources, SOURCE, "-g", "-O1")
    monkeypatch.setattr(lines, "_PROGRAMS", 40)
    source = lines.LineSource.of(opened(path))
    assert source and len(source.programs) == 40
    assert lines.rows_of(opened(path), source) == ([], [])
    assert lines.packed([], [], 0) == b""


def test_names_of_files_are_printable() -> None:
    """A program names its sources as it likes, and the terminal would obey."""
    table = lines.packed([(0, 1, 5), (8, 2, 6)], ["/src/a\x1b[2J.c", "/src/é.c"], 0)
    assert table.endswith("/src/a\\033[2J.c\0/src/é.c\0".encode())
