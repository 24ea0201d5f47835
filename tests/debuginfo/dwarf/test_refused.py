"""The tables of instructions that refuse probes, in a program made to have them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from stapy.debuginfo.dwarf.refused import refused
from stapy.debuginfo.elf import ElfFile

SOURCE = """
void _start(void)
{
	__asm__ volatile("here: nop\\n there: nop\\n trap: ud2\\n call: nop\\n"
		".pushsection .data, \\"aw\\"\\n .balign 8\\n"
		"__start___jump_table:\\n"
		".long here - ., there - .\\n .quad 0\\n"
		".long there - ., here - .\\n .quad 0\\n"
		"__stop___jump_table:\\n"
		"__start_static_call_sites:\\n .long call - ., 0\\n __stop_static_call_sites:\\n"
		"__start___bug_table:\\n .long trap - ., BUGS\\n .short 1, 2\\n __stop___bug_table:\\n"
		".popsection\\n");
}
"""


@pytest.mark.parametrize(
    ("more", "traps"),
    [("0", {"trap": "the trap of a WARN or BUG"}), ("0, 0, 0, 0", {})],
)
def test_tables(tmp_path: Path, more: str, traps: dict[str, str]) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    (tmp_path / "a.c").write_text(SOURCE.replace("BUGS", more))
    command = ["gcc", "-nostdlib", "-static", "-no-pie", "-o", "a", "a.c"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    elf = ElfFile.open(tmp_path / "a")
    at = {symbol.name: symbol.value for symbol in elf.symbols()}
    jumps = {"here": "a jump label", "there": "a jump label"}
    expected = {**jumps, "call": "a static call", **traps}
    assert refused(elf, at.get) == {at[name]: what for name, what in expected.items()}
    assert refused(elf, {}.get) == {}
