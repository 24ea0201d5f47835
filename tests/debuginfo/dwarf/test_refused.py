"""The tables of instructions that refuse probes, in a program made to have them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from stapy.debuginfo.dwarf.query.refused import refused, refused_in_module
from stapy.debuginfo.dwarf.read.relocate import layout
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


MODULE = """
static int before = 1;
__attribute__((section(".init.text"))) int early(void) { return before; }
void work(void)
{
	__asm__ volatile("here: nop\\n trap: ud2\\n call: nop\\n"
		".pushsection __jump_table, \\"aw\\"\\n .balign 8\\n .long here - ., 0\\n .quad 0\\n"
		".long early - ., 0\\n .quad 0\\n .popsection\\n"
		".pushsection .static_call_sites, \\"aw\\"\\n .long call - ., 0\\n .popsection\\n"
		".pushsection __bug_table, \\"aw\\"\\n .long trap - ., 0\\n .short 1, 2\\n .popsection");
}
"""


def test_tables_of_a_module(tmp_path: Path) -> None:
    if shutil.which("gcc") is None or shutil.which("objcopy") is None:
        pytest.skip("gcc or objcopy is not installed")
    (tmp_path / "m.c").write_text(MODULE)
    for command in (
        ["gcc", "-c", "-g", "-ffunction-sections", "-o", "m.debug", "m.c"],
        ["objcopy", "--strip-debug", "m.debug", "m.ko"],
        ["objcopy", "--only-keep-debug", "m.debug", "m.debug"],
    ):
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    module, debug = ElfFile.open(tmp_path / "m.ko"), ElfFile.open(tmp_path / "m.debug")
    addresses = layout(debug)
    at = {
        symbol.name: addresses[symbol.section] + symbol.value
        for symbol in debug.symbols()
        if symbol.name in ("here", "early", "call", "trap")
    }
    assert refused_in_module(module, debug) == {
        at["here"]: "a jump label",
        at["early"]: "a jump label",
        at["call"]: "a static call",
        at["trap"]: "the trap of a WARN or BUG",
    }
