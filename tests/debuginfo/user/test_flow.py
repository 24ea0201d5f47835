"""Addresses that may be armed in functions with data in them, and behind it."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.cache import Cache
from stapy.debuginfo.user import boundaries
from stapy.debuginfo.user.flow import Flow
from stapy.debuginfo.user.programs import Programs
from tests.debuginfo.user.sources import built, compiled, run

# The bytes of data begin an instruction of ten bytes, which ends within the second one behind it.
SOURCE = r"""
	.text
	.globl main, skips, cases, wild, locks, tails
	.type skips, @function
skips:	jmp skips_behind
skips_data: .byte 0x48, 0xb8
skips_behind: mov $0x11223344, %eax
skips_second: mov $0x55667788, %ecx
skips_third: ret
	.size skips, .-skips
	.type cases, @function
cases:	lea table(%rip), %rax
	movslq (%rax,%rdi,4), %rdx
	add %rdx, %rax
	jmp *%rax
cases_one: mov $0x11223344, %eax
cases_two: ret
cases_three: xor %eax, %eax
cases_last: ret
	.size cases, .-cases
	.type wild, @function
wild:	jmp *%rax
wild_data: .byte 0x06, 0x48, 0xb8
wild_behind: mov $0x11223344, %eax
	ret
	.size wild, .-wild
	.type locks, @function
locks:	je locks_free
locks_lock: lock
locks_free: incl (%rdi)
locks_back: ret
	.size locks, .-locks
	.type tails, @function
tails:	ret
tails_data: .long 0x90909090
	.size tails, .-tails
	.type main, @function
main:	ret
	.size main, .-main
	.section .rodata
table:	.long cases_one - table, cases_three - table
	.section .note.GNU-stack, "", @progbits
"""
# Labels, bytes behind them, and what a message says; "" where it may be armed.
ROWS = [
    ("skips", 0, ""),
    ("skips_behind", 0, ""),
    ("skips_second", 0, ""),
    ("skips_third", 0, ""),
    ("skips_data", 0, "there may be data before it"),
    ("skips_data", 1, "there may be data before it"),
    ("skips_second", 3, "is not the beginning of an instruction"),
    ("cases_one", 0, ""),
    ("cases_two", 0, ""),
    ("cases_last", 0, ""),
    ("cases_one", 2, "is not the beginning of an instruction"),
    ("wild_behind", 0, "there may be data before it"),
    ("wild_behind", 3, "there may be data before it"),
    ("locks_lock", 0, ""),
    ("locks_free", 0, "is not the beginning of an instruction"),
    ("locks_back", 0, ""),
]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("flow")
    (folder / "flow.s").write_text(SOURCE)
    return built(folder / "flow", str(folder / "flow.s"))


@pytest.mark.parametrize(("label", "behind", "why"), ROWS)
def test_data_in_code(program: Path, tmp_path: Path, label: str, behind: int, why: str) -> None:
    symbols = {row.split()[-1]: row.split()[0] for row in run("nm", str(program)).splitlines()}
    programs = Programs(Cache(tmp_path / "cache"), pytest.fail)
    file = programs.open(str(program))
    address = int(symbols[label], 16) + behind
    if not why:
        boundaries.check(file, programs.functions(file), address)
        return
    with pytest.raises(boundaries.NoBoundary, match=why):
        boundaries.check(file, programs.functions(file), address)


SWITCH = r"""
#include <stdio.h>
__attribute__((noipa)) int chosen(int n)
{
	switch (n) {
	case 0: puts("0"); return 3; case 1: return 7; case 2: puts("two"); return 4;
	case 3: puts("three"); return 9; case 4: puts("four"); return 8; case 5: return puts("5");
	}
	return puts("other") + n;
}
int main(int argc, char **argv) { return chosen(argc); }
"""


def test_all_instructions_of_a_compiler(tmp_path: Path) -> None:
    """Those of a table of cases are come to by no jump that tells where it leads."""
    path = compiled(tmp_path, SWITCH, "-O2")
    programs = Programs(Cache(tmp_path / "cache"), pytest.fail)
    file = programs.open(str(path))
    table = programs.functions(file)
    (chosen,) = table.named("chosen")
    shown = run("objdump", "-d", "--no-show-raw-insn", str(path)).splitlines()
    begins = {int(line.split(":")[0], 16) for line in shown if line.startswith("  ")}
    inside = range(chosen.address, chosen.address + chosen.size)
    accepted = set()
    for address in inside:
        try:
            boundaries.check(file, table, address)
        except boundaries.NoBoundary:
            continue
        accepted.add(address)
    assert accepted == begins & set(inside)


def test_a_function_that_begins_with_no_instruction(tmp_path: Path) -> None:
    """Damaged programs have such: no address of it is proven."""
    (tmp_path / "bad.s").write_text(
        ".text\n.globl main, bad\nmain: ret\n.type bad, @function\nbad: .byte 0x06, 0x06\n"
        'nop\nret\n.size bad, .-bad\n.section .note.GNU-stack, "", @progbits\n'
    )
    path = built(tmp_path / "bad", str(tmp_path / "bad.s"))
    programs = Programs(Cache(tmp_path / "cache"), pytest.fail)
    file = programs.open(str(path))
    (function,) = programs.functions(file).named("bad")
    flow = Flow(file, function.address, function.address + function.size, is_whole=True)
    assert [bool(flow.why_not(function.address + row)) for row in range(4)] == [True] * 4
