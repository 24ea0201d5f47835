"""What is known of arm64's instructions."""

from __future__ import annotations

import contextlib
import struct
from pathlib import Path

import pytest

from stapy.arch import ARM64
from stapy.debuginfo.elf import ElfFile, Section
from stapy.debuginfo.user import a64, boundaries, symbols
from stapy.debuginfo.user.file import UserFile, UserFileError

BASE = 0x400000
NOP, RET, BRANCH = 0xD503201F, 0xD65F03C0, 0x14000002
LOAD_EXCLUSIVE, STORE_EXCLUSIVE, CLEAR = 0x885FFC01, 0x8802FC03, 0xD503305F


def program(tmp_path: Path, *words: int) -> UserFile:
    """Make a program of arm64 that has these instructions at `BASE` and nothing else."""
    code = b"".join(struct.pack("<I", word) for word in words)
    head = b"\x7fELF" + bytes([2, 1, 1]) + bytes(9)
    head += struct.pack("<HHIQQQIHHHHHH", 2, ARM64.elf, 1, BASE, 64, 0, 0, 64, 56, 1, 64, 0, 0)
    row = struct.pack("<IIQQQQQQ", 1, 5, 120, BASE, BASE, len(code), len(code), 4)
    path = tmp_path / "program"
    path.write_bytes(head + row + code)
    return UserFile.open(path, ARM64)


def test_a_segment_without_bytes_may_lie_behind_the_file(tmp_path: Path) -> None:
    """As linkers write data that are all zero; one with bytes there is cut off."""
    program(tmp_path, NOP)
    path = tmp_path / "program"
    whole = path.read_bytes()
    for size, is_cut in ((0, False), (8, True)):
        row = struct.pack("<IIQQQQQQ", 1, 6, 1 << 16, BASE << 1, BASE << 1, size, 8, 1 << 16)
        head = bytearray(whole[:120] + row + whole[120:])
        struct.pack_into("<H", head, 56, 2)
        path.write_bytes(head)
        with (
            pytest.raises(UserFileError, match="outside of the file")
            if is_cut
            else contextlib.nullcontext()
        ):
            assert UserFile.open(path, ARM64).loads


def refusal(tmp_path: Path, *words: int, at: int = 0) -> tuple[str, bool]:
    return a64.why_not(program(tmp_path, *words), BASE + 4 * at)


@pytest.mark.parametrize(
    ("word", "name"),
    [
        (NOP, "nop"),
        (0xD503233F, "paciasp"),
        (0xD503237F, "pacibsp"),
        (0xD503245F, "bti c"),
        (0xD50324DF, "bti jc"),
        (0xA9BF7BFD, "stp x29, x30, [sp, #-16]!"),
        (0xD10043FF, "sub sp, sp, #16"),
        (0x94000000, "bl"),
        (BRANCH, "b"),
        (0x54000040, "b.eq"),
        (0xB4000040, "cbz"),
        (0x36000040, "tbz"),
        (0xD61F0200, "br x16"),
        (RET, "ret"),
        (0x90000000, "adrp"),
        (0x10000000, "adr"),
        (0xF9400000, "ldr x0, [x0]"),
        (0xD53BD040, "mrs x0, tpidr_el0"),
        (0x88DFFC00, "ldar w0, [x0]"),
        (0xD5033BBF, "dmb ish"),
    ],
)
def test_instructions_that_are_probed(tmp_path: Path, word: int, name: str) -> None:
    assert refusal(tmp_path, word) == ("", False), name


@pytest.mark.parametrize(
    ("word", "name", "harmful"),
    [
        (0xD4000001, "svc", False),
        (0xD4200000, "brk", False),
        (0xD69F03E0, "eret", False),
        (0xD69F0BFF, "eretaa", False),
        (0xD51BD040, "msr tpidr_el0, x0", False),
        (0xD53B4220, "mrs x0, daif", False),
        (0xD65F0BFF, "retaa", False),
        (0xD71F0A11, "braa x16, x17", False),
        (0xD73F0A11, "blraa x16, x17", False),
        (0xD503203F, "yield", False),
        (0xD503207F, "wfi", False),
        (LOAD_EXCLUSIVE, "ldaxr", False),
        (STORE_EXCLUSIVE, "stlxr", False),
        (0xD8000040, "prfm of a literal", False),
        (0x00000000, "udf", False),
        (0x58000040, "ldr x0 of a literal", True),
        (0x98000040, "ldrsw of a literal", True),
        (0x9C000040, "ldr q0 of a literal", True),
    ],
)
def test_instructions_that_are_not(tmp_path: Path, word: int, name: str, harmful: bool) -> None:
    why, is_harmful = refusal(tmp_path, word)
    assert why and is_harmful == harmful, name


@pytest.mark.parametrize(
    ("before", "is_within"),
    [
        ([LOAD_EXCLUSIVE], True),
        ([LOAD_EXCLUSIVE, 0x54000040, 0x11000421], True),
        ([LOAD_EXCLUSIVE, STORE_EXCLUSIVE], False),
        ([LOAD_EXCLUSIVE, CLEAR], False),
        ([LOAD_EXCLUSIVE, RET], False),
        ([LOAD_EXCLUSIVE, BRANCH], False),
        ([LOAD_EXCLUSIVE, *[NOP] * 32], False),
        ([NOP], False),
    ],
)
def test_exclusive_accesses_are_not_parted(
    tmp_path: Path, before: list[int], is_within: bool
) -> None:
    why, harmful = refusal(tmp_path, *before, 0x11000421, STORE_EXCLUSIVE, at=len(before))
    assert (bool(why), harmful) == (is_within, is_within)


def test_what_is_before_the_code_is_none(tmp_path: Path) -> None:
    """A note may have any bytes: that of the build-id differs from build to build."""
    file = program(tmp_path, LOAD_EXCLUSIVE, 0x11000421, STORE_EXCLUSIVE)
    assert a64.why_not(file, BASE + 4)[1]
    file.elf.sections = [Section(".text", 1, 6, BASE + 4, 124, 8, 0, 0, 4, 0)]
    assert a64.why_not(file, BASE + 4) == ("", False)


@pytest.mark.parametrize("start", [BASE - 0x100, BASE - 2, BASE + 1])
def test_sections_that_begin_where_no_instruction_does(tmp_path: Path, start: int) -> None:
    """Before what is mapped, or between two places of instructions: what is before is seen yet."""
    file = program(tmp_path, NOP, LOAD_EXCLUSIVE, 0x11000421, STORE_EXCLUSIVE)
    file.elf.sections = [Section(".text", 1, 6, start, 120, 0x200, 0, 0, 4, 0)]
    assert a64.why_not(file, BASE + 8)[1]


def test_what_does_nothing() -> None:
    assert a64.is_nop(struct.pack("<I", NOP))
    assert not a64.is_nop(struct.pack("<I", 0xD503245F))
    assert not a64.is_nop(b"\x1f\x20")


@pytest.mark.parametrize(
    ("words", "at", "found"),
    [
        # adrp x16, . + 0x1f000; ldr x17, [x16, #0xff8]
        ((0xF00000F0, 0xF947FE11), 0, (BASE, BASE + 0x1FFF8)),
        ((0xD503245F, 0xF00000F0, 0xF947FE11), 4, (BASE, BASE + 0x1FFF8)),
        ((0xF0FFFFF0, 0xF947FE11), 0, (BASE, BASE - 0x1000 + 0xFF8)),
        ((0xF00000F0, 0xF947FE31), 0, None),  # another register
        ((0xF00000F0, NOP), 0, None),
        ((0xF00000F0,), 0, None),
    ],
)
def test_stubs(words: tuple[int, ...], at: int, found: tuple[int, int] | None) -> None:
    code = b"".join(struct.pack("<I", word) for word in words)
    assert a64.slot_of(code, at, BASE) == found


@pytest.mark.parametrize(
    ("address", "row", "why"),
    [
        (BASE + 8, BASE, ""),  # debug information tells it
        (BASE + 2, BASE, "is not the beginning of an instruction"),
        (BASE + 8, None, "cannot be shown to begin an instruction"),
        (BASE + 0x1000, BASE, "is not in it"),
    ],
)
def test_where_instructions_begin(tmp_path: Path, address: int, row: int | None, why: str) -> None:
    file = program(tmp_path, NOP, NOP, NOP, RET)
    assert isinstance(file.elf, ElfFile)
    before = None if row is None else lambda _: row
    try:
        boundaries.check(file, symbols.nothing(file), address, before)
    except boundaries.NoBoundary as error:
        assert why and why in str(error)
    else:
        assert not why
