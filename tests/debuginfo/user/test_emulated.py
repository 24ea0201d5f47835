"""How far behind a function's beginning its breakpoint may lie, by the code of real files."""

from __future__ import annotations

from pathlib import Path
from struct import pack_into, unpack_from

import pytest

from stapy.cache import Cache
from stapy.debuginfo.user.emulated import Entries
from stapy.debuginfo.user.file import UserFile
from stapy.debuginfo.user.programs import Programs
from stapy.debuginfo.user.reached import ENDBR64, Reached
from tests.debuginfo.user.sources import BEHIND_ENDBR64, built, compiled, run

# By name the code of a function, and how far behind its beginning it may be armed.
CASES = {
    "pushes": ("endbr64; push %rbp; pop %rbp; ret", 4),
    "pushes_r12": ("endbr64; push %r12; pop %r12; ret", 4),
    "goes_to_another": ("endbr64; push %rbp; pop %rbp; jmp pushes", 4),
    "goes_by_a_slot": ("endbr64; push %rbp; pop %rbp; jmp *pointer(%rip)", 4),
    "has_a_part": ("endbr64; push %rbp; je .Lpart; pop %rbp; ret", 4),
    # Nothing to be won, or nothing that the kernel emulates.
    "pushes_at_once": ("push %rbp; pop %rbp; ret", 0),
    "subtracts": ("endbr64; sub $8, %rsp; add $8, %rsp; ret", 0),
    "pushes_a_word": ("endbr64; pushw %bx; popw %bx; ret", 0),
    "long_nop": ("endbr64; nopl 8(%rax); push %rbp; pop %rbp; ret", 0),
    "endbr32_first": ("endbr32; push %rbp; pop %rbp; ret", 0),
    # What tracers patch at run time, or what a shadow stack knows of.
    "jumps_on": ("endbr64; jmp 1f; 1: ret", 0),
    "calls": ("endbr64; call pushes; ret", 0),
    "tests_nothing": ("endbr64; jne 1f; nop; 1: ret", 0),
    "patchable": ("endbr64; .skip 5, 0x90; push %rbp; pop %rbp; ret", 0),
    # Something else comes by there.
    "hides_a_jump": ("endbr64; 1: push %rbp; pop %rbp; jmp 2f; .byte 0x48,0xb8; 2: dec %edi;"
                     " jne 1b; nop; nop; nop; nop; nop; nop; nop; ret", 0),
    "by_a_transaction": ("endbr64; push %rbp; pop %rbp; ret", 0),
    "transacts": ("xbegin by_a_transaction + 4; xend; ret", 0),
    "from_afar": ("endbr64; push %rbp; pop %rbp; ret", 0),
    "untyped_name": ("endbr64; fast: push %rbp; pop %rbp; ret", 0),
    "in_a_table": ("endbr64; push %rbp; pop %rbp; ret", 0),
    "named_part": ("endbr64; push %rbp; je named_part.cold; pop %rbp; ret", 0),
    "falls_out": ("endbr64; push %rbp; pop %rbp", 0),
    "loops": ("endbr64; 1: push %rbp; pop %rbp; dec %edi; jne 1b; ret", 0),
    "loops_far": ("endbr64; 1: push %rbp; pop %rbp; .skip 200, 0x90; dec %edi; jne 1b; ret", 0),
    "is_reached": ("endbr64; push %rbp; pop %rbp; ret", 0),
    "reaches": ("jmp is_reached + 4", 0),
    "is_called": ("endbr64; push %rbp; pop %rbp; ret", 0),
    "calls_it": ("call is_called + 4; ret", 0),
    "part_loops": ("endbr64; .Lagain: push %rbp; je .Lback; pop %rbp; ret", 0),
    "by_a_table": ("endbr64; push %rbp; pop %rbp; jmp *(%rdi)", 0),
    "by_a_register": ("endbr64; push %rbp; pop %rbp; notrack jmp *%r10", 0),
    "part_by_a_table": ("endbr64; push %rbp; je .Lwild; pop %rbp; ret", 0),
    "has_data": ("endbr64; push %rbp; pop %rbp; ret; .byte 0x06, 0x06", 0),
    "two_names": ("endbr64; second: push %rbp; pop %rbp; ret", 0),
    "by_a_word_of_code": ("endbr64; push %rbp; pop %rbp; ret", 0),
    "computes_it": ("lea by_a_word_of_code + 4(%rip), %rax; jmp *%rax", 0),
    "by_a_short_transaction": ("endbr64; push %rbp; pop %rbp; ret", 0),
    "transacts_shortly": (".byte 0x66, 0xc7, 0xf8; .short by_a_short_transaction + 4 - . - 2;"
                          " xend; ret", 0),
    "by_a_thunk": ("endbr64; push %rbp; pop %rbp; jmp __x86_indirect_thunk_rax", 0),
    "__x86_indirect_thunk_rax": ("call 1f; 2: pause; lfence; jmp 2b; 1: mov %rax, (%rsp); ret", 0),
    "by_a_nameless_thunk": ("endbr64; push %rbp; pop %rbp; jmp .Lthunk", 0),
    "by_its_own_return": ("endbr64; push %rbp; pop %rbp; call 1f; 1: mov %rax, (%rsp); ret", 0),
    "calls_the_next": ("endbr64; push %rbp; call is_next; pop %rbp; ret; is_next: nop; ret", 4),
    "shortly_before": ("jmp 1f; ret; .Lnear: nop; 1: jmp .Lthere", 0),
    "is_near": ("endbr64; .Lthere: push %rbp; pop %rbp; ret", 0),
}  # fmt: skip
PARTS = """
	.type is_next, @function
	.section .far, "ax"
	jmp from_afar + 4
	.globl fast
	.section .text.unlikely, "ax"
.Lpart:	call abort
	ud2
.Lback:	pop %rbp
	jmp .Lagain
.Lwild:	jmp *(%rax)
.Lthunk: call 1f
2:	pause
	jmp 2b
1:	mov %rax, (%rsp)
	ret
	.type named_part.cold, @function
named_part.cold: jmp *(%rax)
	.size named_part.cold, .-named_part.cold
	.section .near, "ax"
	.globl at_the_start
	.type at_the_start, @function
at_the_start: endbr64
	push %rbp
	pop %rbp
	ret
	.size at_the_start, .-at_the_start
	jmp at_the_start + 4
	.globl second
	.type second, @function
	.data
pointer: .quad 0
	.quad in_a_table + 4
	.section .note.GNU-stack, "", @progbits
"""


def _source() -> str:
    rows = ["\t.text\n\t.globl main\nmain: ret\n"]
    for name, (code, _) in CASES.items():
        rows.append(f"\t.globl {name}\n\t.type {name}, @function\n{name}: {code}\n")
        rows.append(f"\t.size {name}, .-{name}\n")
        if name != "shortly_before":
            rows.append("\t.skip 300, 0xcc\n")
    return "".join(rows) + PARTS


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("entries")
    (folder / "cases.s").write_text(_source())
    places = "-Wl,--section-start=.far=0x600000,--section-start=.near=0x700000"
    return built(folder / "cases", str(folder / "cases.s"), "-pie", places)


def _programs(folder: Path) -> Programs:
    return Programs(Cache(folder / "cache"), lambda text: pytest.fail(text))


def _distance(programs: Programs, path: Path, name: str) -> int:
    file = programs.open(str(path))
    (function,) = programs.functions(file).named(name)
    return programs.distance(file, function.address)


@pytest.mark.parametrize("name", CASES)
def test_what_is_proven(cases: Path, tmp_path: Path, name: str) -> None:
    assert _distance(_programs(tmp_path), cases, name) == CASES[name][1]


def test_a_short_jump_to_the_first_function_of_a_segment(cases: Path, tmp_path: Path) -> None:
    """Before it nothing is in memory."""
    assert _distance(_programs(tmp_path), cases, "at_the_start") == 0


HELD = (
    BEHIND_ENDBR64
    + """\
	.type g, @function
g:	endbr64
	push %rbp
	pop %rbp
	ret
	.size g, .-g
	.skip 300, 0xcc
main:	{code}
	ret
	.data
	.balign 8
	.quad {word}
	.section .note.GNU-stack, "", @progbits
"""
)


@pytest.mark.parametrize(
    ("code", "word", "options"),
    [
        ("nop", "f + 4", ("-no-pie",)),
        ("mov $f + 4, %edi", "0", ("-no-pie",)),
        ("nop", "f + 4", ("-shared",)),
        ("nop", "f + 4", ("-pie", "-Wl,-z,pack-relative-relocs")),
    ],
    ids=["constant", "constant in code", "symbol of others", "packed relocation"],
)
def test_addresses_that_something_has(
    tmp_path: Path, code: str, word: str, options: tuple[str, ...]
) -> None:
    """That of one function's second instruction; the other's is nobody's."""
    (tmp_path / "held.s").write_text(HELD.format(code=code, word=word))
    path = built(tmp_path / "held", str(tmp_path / "held.s"), *options)
    programs = _programs(tmp_path)
    assert (_distance(programs, path, "f"), _distance(programs, path, "g")) == (0, 4)


def _split(tmp_path: Path, text: str) -> Path:
    """Build a program whose symbols are in a file of their own."""
    (tmp_path / "split.s").write_text(text)
    path = built(tmp_path / "split", str(tmp_path / "split.s"), "-pie")
    run("objcopy", "--only-keep-debug", str(path), f"{path}.debug")
    run("objcopy", "--strip-all", f"--add-gnu-debuglink={path}.debug", str(path))
    return path


def test_names_of_a_debug_file(tmp_path: Path) -> None:
    text = HELD.format(code="nop", word="0").replace("\tpush", "fast:\tpush", 1)
    path = _split(tmp_path, text)
    programs = _programs(tmp_path)
    assert (_distance(programs, path, "f"), _distance(programs, path, "g")) == (0, 4)


def test_a_file_without_sections(tmp_path: Path) -> None:
    """Nobody knows what its loader writes; the names come from elsewhere."""
    path = _split(tmp_path, HELD.format(code="nop", word="0"))
    programs = _programs(tmp_path)
    file = programs.open(str(path))
    functions, debug = programs.functions(file), programs.debug_file(file)
    bare = bytearray(path.read_bytes())
    bare[0x28:0x30] = bytes(8)  # where its table is
    bare[0x3A:0x40] = bytes(6)
    path.write_bytes(bare)
    bare_file = UserFile.open(path)
    reached = Reached(bare_file, debug, Cache(tmp_path / "cache"))
    assert Entries(bare_file, functions, reached).distance(functions.named("g")[0].address) == 0


def test_damaged_relocations_are_told_of(tmp_path: Path) -> None:
    (tmp_path / "held.s").write_text(HELD.format(code="nop", word="0"))
    path = built(tmp_path / "held", str(tmp_path / "held.s"), "-pie")
    file = UserFile.open(path)
    number = next(n for n, row in enumerate(file.elf.sections) if row.name == ".rela.dyn")
    data = bytearray(path.read_bytes())
    (table,) = unpack_from("<Q", data, 0x28)
    pack_into("<Q", data, table + 64 * number + 0x20, 1 << 40)  # its size
    path.write_bytes(data)
    told: list[str] = []
    assert _distance(Programs(Cache(tmp_path / "cache"), told.append), path, "g") == 0
    assert len(told) == 1 and ".rela.dyn" in told[0]


def test_jumps_of_a_file_are_kept(cases: Path, tmp_path: Path) -> None:
    """What another command has found of this build is not looked for again."""
    assert _distance(_programs(tmp_path), cases, "is_reached") == 0
    again = _programs(tmp_path)
    file = again.open(str(cases))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("stapy.debuginfo.user.reached.Reached._made", lambda _: pytest.fail("made"))
        assert _distance(again, cases, "is_reached") == 0
        assert _distance(again, cases, "pushes") == len(ENDBR64)
    again.forget(file)


C = r"""
#include <stdio.h>
#include <stdlib.h>
__attribute__((noipa)) int gone(int n) { if (n > 100) abort(); puts("x"); return n + 1; }
__attribute__((noipa)) int chosen(int n)
{
	puts("chosen");
	switch (n) {
	case 0: return gone(1); case 1: return gone(7); case 2: puts("two"); return 4;
	case 3: puts("three"); return gone(9); case 4: puts("four"); return 8; case 5: abort();
	}
	return gone(n) + gone(n + 1);
}
int main(int argc, char **argv) { return gone(argc) + chosen(argc); }
"""


def test_code_of_a_compiler(tmp_path: Path) -> None:
    """With a part for what is unlikely; a table of cases does not tell where it leads."""
    path = compiled(tmp_path, C, "-O2", "-fcf-protection=full")
    programs = _programs(tmp_path)
    assert (_distance(programs, path, "gone"), _distance(programs, path, "chosen")) == (4, 0)
