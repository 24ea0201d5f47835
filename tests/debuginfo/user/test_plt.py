"""Stubs of calls to other files, against objdump; thread-local blocks."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from stapy.debuginfo.user import plt, tls
from stapy.debuginfo.user.file import UserFile
from tests.debuginfo.user.sources import built, compiled, run

pytestmark = pytest.mark.slow
CALLS = r"""
#include <stdio.h>
#include <stdlib.h>
static __thread int one = 1;
__thread long two;
int main(int argc, char **argv)
{
	char *text = malloc(argc);
	puts(argv[0]);
	free(text);
	return one + two;
}
"""
STYLES = {
    "lazy": ["-Wl,-z,lazy"],
    "bound": ["-Wl,-z,now"],
    "fixed": ["-no-pie"],
    "tracked": ["-fcf-protection", "-Wl,-z,ibtplt"],
}


@pytest.mark.parametrize("style", STYLES)
def test_stubs_are_those_of_objdump(tmp_path: Path, style: str) -> None:
    if shutil.which("objdump") is None:
        pytest.skip("needs objdump")
    path = compiled(tmp_path, CALLS, "-O0", *STYLES[style])
    text = run("objdump", "-d", str(path))
    expected = {
        (found[2], int(found[1], 16))
        for found in re.finditer(r"^([0-9a-f]+) <(\w+)@plt>:", text, re.MULTILINE)
    }
    found = plt.stubs(UserFile.open(path))
    assert {name for name, _ in found} >= {"malloc", "puts", "free"}
    assert {tuple(stub) for stub in found} == expected


def test_files_without_stubs(tmp_path: Path) -> None:
    path = compiled(tmp_path, CALLS, "-fno-plt", "-O0")
    names = {stub.name for stub in plt.stubs(UserFile.open(path))}
    assert not names & {"malloc", "puts", "free"}


def test_blocks_of_threads(tmp_path: Path) -> None:
    program = tls.block_of(UserFile.open(compiled(tmp_path, CALLS, "-O0")))
    assert program == tls.TlsBlock(tls.BASE, 0, -16)
    (tmp_path / "lib.c").write_text("__thread int own; int *get(void) { return &own; }")
    library, static = tmp_path / "lib.so", tmp_path / "static.so"
    described = tmp_path / "described.so"
    built(library, "-shared", "-fPIC", str(tmp_path / "lib.c"))
    static_words = ("-shared", "-fPIC", "-ftls-model=initial-exec", str(tmp_path / "lib.c"))
    built(static, *static_words)
    built(described, "-shared", "-fPIC", "-mtls-dialect=gnu2", str(tmp_path / "lib.c"))
    for path, how, kind, word in (
        (library, tls.NUMBER, "R_X86_64_DTPMOD64", 0),
        (static, tls.DISTANCE, "R_X86_64_TPOFF64", 0),
        (described, tls.DESCRIPTOR, "R_X86_64_TLSDESC", 8),
    ):
        block = tls.block_of(UserFile.open(path))
        assert block is not None
        rows = [line.split() for line in run("readelf", "-rW", str(path)).splitlines()]
        slots = [int(row[0], 16) + word for row in rows if kind in row]
        assert (block.how, [block.slot]) == (how, slots)
    # Another file may define a variable of that name, too, and be the one that is meant.
    (tmp_path / "both.c").write_text(
        "__thread int own; static __thread int hidden; int get(void) { return own + hidden++; }"
    )
    for dialect, kind, word in (("gnu", "DTPMOD64", 0), ("gnu2", "TLSDESC", 8)):
        built(library, "-shared", "-fPIC", f"-mtls-dialect={dialect}", str(tmp_path / "both.c"))
        block = tls.block_of(UserFile.open(library))
        rows = [line.split() for line in run("readelf", "-rW", str(library)).splitlines()]
        rows = [row for row in rows if f"R_X86_64_{kind}" in row]
        assert sorted("own" in row for row in rows) == [False, True]
        slots = [int(row[0], 16) + word for row in rows if "own" not in row]
        assert block is not None
        assert [block.slot] == slots
    (tmp_path / "none.c").write_text("int main(void) { return 0; }")
    built(tmp_path / "none", str(tmp_path / "none.c"))
    assert tls.block_of(UserFile.open(tmp_path / "none")) is None
