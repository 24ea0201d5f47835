"""The table of places that a kernel patches, in a program made to have one."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from stapy.debuginfo.dwarf.jumplabels import jump_labels
from stapy.debuginfo.elf import ElfFile

SOURCE = """
void _start(void)
{
	__asm__ volatile("here: nop\\n there: nop\\n"
		".pushsection .data, \\"aw\\"\\n .balign 8\\n first:\\n"
		".long here - ., there - .\\n .quad 0\\n"
		".long there - ., here - .\\n .quad 0\\n last:\\n .popsection\\n"
		".globl here, there, first, last");
}
"""


def test_addresses_of_patched_code(tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    (tmp_path / "a.c").write_text(SOURCE)
    command = ["gcc", "-nostdlib", "-static", "-no-pie", "-o", "a", "a.c"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    elf = ElfFile.open(tmp_path / "a")
    at = {symbol.name: symbol.value for symbol in elf.symbols()}
    found = jump_labels(elf, at["first"], at["last"])
    assert found == {at["here"], at["there"]}
    assert jump_labels(elf, at["first"], None) == frozenset()
    assert jump_labels(elf, 1, 2) == frozenset()
