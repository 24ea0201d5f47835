"""Lengths of instructions against objdump, and which addresses may be armed."""

from __future__ import annotations

import os
import random
import re
import shutil
from pathlib import Path

import pytest

from stapy.cache import Cache
from stapy.debuginfo.user import boundaries, x86
from stapy.debuginfo.user.file import UserFile
from stapy.debuginfo.user.programs import Programs
from stapy.debuginfo.user.runs import end_of_run
from tests.debuginfo.user.sources import PROGRAM, compiled, run

LINE = re.compile(r"^\s*([0-9a-f]+):\t((?:[0-9a-f]{2} )+)\s*(.*)$", re.M)
BRANCH = re.compile(r"(?:bnd |notrack |addr32 )?(j\w+|call|loop\w*)\s+([0-9a-f]+)\b")

# What compilers seldom make: VEX, EVEX, XOP, SSE4a, moves of control registers, wide constants.
RARE = r"""
	.text
	.globl main
	.type main, @function
main:	vzeroupper
	vaddps 0x40(%rax,%rbx,4), %ymm1, %ymm2
	vaddps 0x40(%rax,%rbx,4), %zmm1, %zmm2{%k1}
	vpshufd $1, %xmm1, %xmm2
	vpternlogd $5, 0x12345(%rip), %zmm3, %zmm4
	vpalignr $4, %ymm1, %ymm2, %ymm3
	vpinsrw $1, %eax, %xmm1, %xmm2
	kmovw %k1, %eax
	extrq $1, $2, %xmm1
	insertq $1, $2, %xmm1, %xmm2
	vprotb $3, %xmm1, %xmm2
	bextr $0x12345678, %eax, %ebx
	mov %cr0, %rax
	mov %rax, %cr8
	movabs $0x123456789abcdef0, %rax
	movabs 0x123456789abcdef0, %al
	addr32 mov 0x12345678(%eax), %eax
	movw $0x1234, (%rax)
	testb $1, 3(%rax)
	testw $1, 3(%rax)
	testl $1, 3(%rax)
	notl 3(%rax)
	enter $16, $1
	ret $8
	lock cmpxchg %rbx, (%rcx)
	cmpxchg16b (%rdi)
	xbegin .Lhere
.Lhere:	pushw $0x1234
	pushq $0x12345
	imul $0x1234, %ax, %bx
	imul $0x1234567, %eax, %ebx
	shld $3, %eax, %ebx
	pextrw $2, %xmm1, %eax
	crc32b %al, %ebx
	palignr $3, %xmm1, %xmm2
	endbr64
	nopw 0x0(%rax,%rax,1)
	.byte 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0
	jmp *main(,%rax,8)
	notrack jmp *%rax
	call *8(%rsp)
	loop main
	jrcxz main
	ud2
	.size main, .-main
	.section .note.GNU-stack,"",@progbits
"""


def _compare(path: Path, least: int) -> None:
    """Decode every instruction of a file beside objdump."""
    if shutil.which("objdump") is None:
        pytest.skip("needs objdump")
    rows = LINE.findall(run("objdump", "-d", "-w", "-j", ".text", str(path)))
    assert len(rows) > least
    for address, code, text in rows:
        data = bytes.fromhex(code)
        found = x86.decode(data + b"\x90" * 16)
        assert found is not None, text
        assert found.length == len(data), f"{address}: {code} {text}"
        branch = BRANCH.match(text)
        target = None if found.target is None else int(address, 16) + found.target
        if "xbegin" not in text:
            assert target == (int(branch[2], 16) if branch else None), f"{address}: {code} {text}"


def test_lengths_are_those_of_objdump(tmp_path: Path) -> None:
    _compare(compiled(tmp_path, PROGRAM, "-O2", "-static", "-fcf-protection"), 10000)


def test_rare_instructions_have_their_lengths(tmp_path: Path) -> None:
    text = tmp_path / "rare.s"
    text.write_text(RARE)
    run("gcc", "-c", str(text), "-o", str(tmp_path / "rare.o"))
    _compare(tmp_path / "rare.o", 40)


def test_what_is_cut_off_or_no_instruction_is_none() -> None:
    for text in (
        "",
        "66",
        "48",
        "0f",
        "e8 00 00",
        "06",
        "0f 0a",
        "c4",
        "62 f1",
        "8f e8",
        "66" * 16,
    ):
        assert x86.decode(bytes.fromhex(text)) is None, text


@pytest.mark.parametrize(
    ("code", "emulated", "refused"),
    [
        ("90", True, False),
        ("55", True, False),
        ("41 57", True, False),
        ("48 55", False, False),
        ("e8 00 00 00 00", True, False),
        ("66 e8 00 00 00 00", False, True),
        ("66 0f 84 00 00 00 00", False, True),
        ("66 90", False, False),
        ("3e ff e0", False, True),
        ("f2 ff e0", False, False),
        ("64 48 8b 04 25 28 00 00 00", False, False),
        ("36 8b 00", False, True),
        ("8e d0", False, True),
        ("8e d8", False, False),
        ("0f 05", False, False),
        ("0f 38 f0 00", False, False),
        ("c5 f9 6e c6", False, True),  # vmovd
        ("c5 f9 ef c0", False, True),  # vpxor
        ("c5 f8 10 00", False, False),  # vmovups
        ("62 f1 7d 48 6f 00", False, True),  # vmovdqa32
        ("eb 00", True, False),
        ("0f 84 00 00 00 00", True, False),
        ("74 00", True, False),
        ("c3", False, False),
        ("f3 0f 1e fa", False, False),
        ("0f 1f 44 00 00", False, False),
        ("48 83 ec 08", False, False),
        ("f0 0f b1 0a", False, True),
        ("2e 66 0f 1f 84 00 00 00 00 00", False, True),
        ("cc", False, True),
        ("f4", False, True),
    ],
)
def test_what_a_breakpoint_costs_is_known(code: str, emulated: bool, refused: bool) -> None:
    found = x86.decode(bytes.fromhex(code))
    assert found is not None
    assert (found.is_emulated, found.is_refused) == (emulated, refused)


@pytest.mark.parametrize(
    ("code", "mistaken"),
    [
        ("c5 f8 77", True),  # vzeroupper: ja
        ("c5 f9 70 c0 10", True),  # vpshufd: jo, by 16 bytes
        ("c5 f9 eb c0", True),  # vpor: jmp
        ("c5 f9 e8 c0", True),  # vpsubsb: call
        ("c5 f8 90 c8", True),  # kmovw: nop
        ("62 e2 7d 20 7a c6", True),  # vpbroadcastb: jp
        ("8f e8 78 c0 c1 03", True),  # vprotb, which the kernel does not know
        ("c5 f8 10 00", False),
        ("c5 f9 ef c0", False),
        ("0f 77", False),
        ("0f 70 c0 10", False),
        ("e8 00 00 00 00", False),
    ],
)
def test_vectors_that_the_kernel_takes_for_others_are_known(code: str, mistaken: bool) -> None:
    found = x86.decode(bytes.fromhex(code))
    assert found is not None
    assert found.is_mistaken == mistaken


@pytest.mark.parametrize(
    ("code", "nothing"),
    [
        ("90", True),
        ("66 90", True),
        ("0f 1f 44 00 00", True),
        ("66 0f 1f 84 00 00 00 00 00", True),
        ("41 90", False),  # xchg %eax, %r8d
        ("f3 90", False),
        ("2e 66 0f 1f 84 00 00 00 00 00", False),
        ("f3 0f 1e fa", False),
        ("c3", False),
        ("c5 f8 90 c8", False),
    ],
)
def test_what_does_nothing_is_known(code: str, nothing: bool) -> None:
    found = x86.decode(bytes.fromhex(code))
    assert found is not None
    assert found.is_nop == nothing


def test_only_beginnings_of_instructions_may_be_armed(tmp_path: Path) -> None:
    programs = Programs(Cache(tmp_path / "cache"), pytest.fail)
    path = compiled(tmp_path, PROGRAM, "-O2", "-g")
    file = programs.open(str(path))
    table = programs.functions(file)
    (main,) = table.named("main")
    rows = LINE.findall(run("objdump", "-d", "-w", "-j", ".text", str(path)))
    begins = {int(address, 16) for address, _, _ in rows}
    for address in range(main.address, main.address + main.size):
        if address in begins:
            boundaries.check(file, table, address)
        else:
            with pytest.raises(boundaries.NoBoundary, match="not the beginning of an instruction"):
                boundaries.check(file, table, address)
    with pytest.raises(boundaries.NoBoundary, match="is not in it"):
        boundaries.check(file, table, 1 << 40)
    with pytest.raises(boundaries.NoBoundary, match="is not in its code"):
        boundaries.check(file, table, _data(path))


def test_a_function_is_decoded_once_for_all_of_its_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In whatever order they are asked for, the answers are those of one address alone."""
    programs = Programs(Cache(tmp_path / "cache"), pytest.fail)
    file = programs.open(str(compiled(tmp_path, PROGRAM, "-O2", "-g")))
    (main,) = programs.functions(file).named("main")
    addresses = list(range(main.address, main.address + main.size))
    alone = {one: boundaries.Instructions(file).start_of(main.address, one) for one in addresses}
    known, end_of_run, decoded = main.address, boundaries.end_of_run, list[int]()

    def counted(code: bytes, at: int, end: int) -> int:
        found = end_of_run(code, at, end)
        decoded.append(found - at)
        return found

    monkeypatch.setattr(boundaries, "end_of_run", counted)
    monkeypatch.setattr(boundaries, "_NEAR", 4)
    kept = boundaries.Instructions(file)
    assert kept.start_of(known, addresses[-1]) == alone[addresses[-1]]
    assert decoded
    for one in [*addresses[::-1], *addresses]:
        decoded.clear()
        assert kept.start_of(known, one) == alone[one]
        assert sum(decoded) <= 4 + x86.LONGEST  # from the nearest beginning that was kept


def _agree(code: bytes) -> None:
    for at in range(len(code)):
        size = x86.step(code, at)
        if size:
            found = x86.decode(code, at)
            assert found is not None, code[at : at + 16].hex()
            assert (found.length, found.target) == (size, None), code[at : at + 16].hex()
            assert found.opcode != 0xFF, code[at : at + 16].hex()


def test_steps_are_lengths_of_instructions() -> None:
    """Those that are counted quickly, at each byte of code and of noise."""
    file = UserFile.open(Path(os.path.realpath("/bin/sh")))
    for start, end in file.code:
        _agree(bytes(file.elf.data[start : min(end, start + 50_000)]))
    _agree(random.Random(11).randbytes(50_000))
    common = {first: x86.step(bytes([first, *[0x90] * 15]), 0) for first in (0x55, 0x89, 0x3D)}
    assert common == {0x55: 1, 0x89: 6, 0x3D: 5}


def _first(code: bytes, at: int) -> int:
    """Count the bytes of the first instruction of a run; 0 where none begins."""
    for size in range(1, x86.LONGEST + 1):
        if (end := end_of_run(code, at, at + size)) > at:
            return end - at
    return 0


def test_runs_are_those_of_decoded_instructions() -> None:
    """At each byte of code and of noise, what an expression takes is what `decode` finds."""
    file = UserFile.open(Path(os.path.realpath("/bin/sh")))
    pieces = [bytes(file.elf.data[start : min(end, start + 20_000)]) for start, end in file.code]
    taken = 0
    for code in [*pieces, random.Random(12).randbytes(20_000)]:
        for at in range(len(code) - x86.LONGEST):
            if size := _first(code, at):
                found, taken = x86.decode(code, at), taken + 1
                assert found is not None and found.length == size, code[at : at + 16].hex()
    assert taken > 20_000


def test_a_run_ends_before_what_is_not_whole() -> None:
    code = bytes.fromhex("55 4889e5 e800000000 c5f877 90")  # push, mov, call, vzeroupper, nop
    assert [end_of_run(code, 0, end) for end in range(len(code) + 1)] == [
        0, 1, 1, 1, 4, 4, 4, 4, 4, 9, 9, 9, 9, 9
    ]  # fmt: skip
    assert end_of_run(code, 9, len(code)) == 9
    assert end_of_run(code, 12, len(code)) == 13


def test_instructions_that_are_plain_are_refused_by_nobody() -> None:
    """What is told by the first bytes is what all of the instruction tells."""
    rows = [bytes([first, second]) for first in range(256) for second in range(256)]
    plain = 0
    for start in rows:
        for rest in (b"\0" * 13, b"\xc0" * 13, b"\x10" * 13):
            if x86.is_plain(start + rest):
                found, plain = x86.decode(start + rest), plain + 1
                assert found is None or not (found.is_refused or found.is_mistaken), start.hex()
    assert plain > len(rows)
    assert x86.is_plain(bytes.fromhex("f30f1efa")) and not x86.is_plain(b"\x48")
    assert not x86.is_plain(b"") and not x86.is_plain(bytes.fromhex("8ed0"))


# Code and data that have no names of their own, behind functions of known and unknown size.
NAMELESS = r"""
	.text
	.globl main, sized, unsized
	.type main, @function
main:	ret
	.size main, .-main
	.type sized, @function
sized:	nop
	ret
	.size sized, .-sized
	.quad 0x9090909090909090
	.type unsized, @function
unsized: nop
	nop
	ret
	.section .other, "ax", @progbits
	nop
	nop
	.section .note.GNU-stack,"",@progbits
"""


def test_nothing_is_taken_for_code_behind_the_end_of_a_function(tmp_path: Path) -> None:
    text = tmp_path / "nameless.s"
    text.write_text(NAMELESS)
    path = tmp_path / "nameless"
    # Without the start files, whose functions would be the next ones.
    run("gcc", "-nostartfiles", "-static", "-Wl,-e,main", str(text), "-o", str(path))
    programs = Programs(Cache(tmp_path / "cache"), pytest.fail)
    file = programs.open(str(path))
    table = programs.functions(file)
    (sized,), (unsized,) = table.named("sized"), table.named("unsized")
    assert unsized.size == 0
    for address in (sized.address + 1, unsized.address + 2):
        boundaries.check(file, table, address)
    other = file.elf.section(".other")
    assert other is not None
    for address in (sized.address + 2, sized.address + 6, other.address, other.address + 1):
        with pytest.raises(boundaries.NoBoundary, match="in no function that is known"):
            boundaries.check(file, table, address)


def _data(path: Path) -> int:
    rows = (line.split() for line in run("nm", str(path)).splitlines())
    return next(int(row[0], 16) for row in rows if row[-1] == "_DYNAMIC")
