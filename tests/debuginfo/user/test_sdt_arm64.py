"""Operands of marks as compilers write them for arm64."""

from __future__ import annotations

import pytest

from stapy.arch import ARM64
from stapy.debuginfo.user.operand import CONSTANT, MEMORY, REGISTER, UNKNOWN, VECTOR, Register
from stapy.debuginfo.user.operands import operand, operands

SP = 31


@pytest.mark.parametrize(
    ("text", "kind", "fields"),
    [
        ("8@x0", REGISTER, {"base": (0, 8), "size": 8}),
        ("-4@w30", REGISTER, {"base": (30, 4), "size": 4, "is_signed": True}),
        ("2@w1", REGISTER, {"base": (1, 4), "size": 2}),
        ("8@sp", REGISTER, {"base": (SP, 8)}),
        ("8@lr", REGISTER, {"base": (30, 8)}),
        ("x19", REGISTER, {"base": (19, 8), "size": 8}),
        ("4@12", CONSTANT, {"offset": 12}),
        ("-4@-1", CONSTANT, {"offset": -1}),
        ("8@#0x1f", CONSTANT, {"offset": 31}),
        ("8@xzr", CONSTANT, {"offset": 0}),
        ("-4@wzr", CONSTANT, {"offset": 0, "size": 4}),
        ("4@[x2]", MEMORY, {"base": (2, 8), "offset": 0}),
        ("4@[sp, 12]", MEMORY, {"base": (SP, 8), "offset": 12}),
        ("-1@[sp,-8]", MEMORY, {"base": (SP, 8), "offset": -8, "is_signed": True}),
        ("8@[x29, #0x20]", MEMORY, {"base": (29, 8), "offset": 32}),
        ("8@[x0, x1]", MEMORY, {"base": (0, 8), "index": (1, 8), "scale": 1}),
        ("8@[x0, x1, lsl 3]", MEMORY, {"index": (1, 8), "scale": 8}),
        ("4@[x0, w1, sxtw #2]", MEMORY, {"index": (1, 4), "scale": 4, "signed": True}),
        ("4@[x0, w1, uxtw]", MEMORY, {"index": (1, 4), "scale": 1, "signed": False}),
        ("8f@d7", VECTOR, {"offset": 7, "is_float": True}),
    ],
)
def test_operands_are_parsed(text: str, kind: str, fields: dict[str, object]) -> None:
    (found,) = operands(text, ARM64)
    assert (found.kind, found.text) == (kind, text)
    for name, value in fields.items():
        have = found.index.is_signed if name == "signed" and found.index else getattr(found, name)
        if isinstance(have, Register):
            have = (have.number, have.size)
        assert have == value, name


@pytest.mark.parametrize(
    "text",
    ["8@x31", "8@r0", "8@%rax", "8@$7", "8@[w0]", "8@[x0", "8@[x0, #:lo12:value]", "@", "8@[]",
     "8@[x0, x1, lsl 5]", "8@[x0, w1]", "8@[x0, x1, sxtw]", "8@[x0, sp]", "8@[x0, 8, 8]", "16@q0",
     "8@[x0, x1, x2]", "8@[x0], 8", "8@value"],
)  # fmt: skip
def test_unknown_operands_are_that_and_nothing_else(text: str) -> None:
    assert operand(text, ARM64).kind == UNKNOWN


def test_operands_are_told_apart() -> None:
    texts = [row.text for row in operands("8@x0  -4@[sp, 12] 4@[x0, w1, sxtw 2]\t8@7", ARM64)]
    assert texts == ["8@x0", "-4@[sp, 12]", "4@[x0, w1, sxtw 2]", "8@7"]


def test_a_long_operand_takes_no_time() -> None:
    """A file of somebody's may have any text there, each blank of which could be of two parts."""
    blanks = " " * 20_000
    assert operand(f"8@[x1,{blanks}a{blanks}]x", ARM64).kind == UNKNOWN
    assert operand(f"8@[x1,{blanks}a{blanks}]", ARM64).kind == UNKNOWN
