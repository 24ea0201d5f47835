"""Functions named with the types of their parameters."""

from __future__ import annotations

import pytest

from stapy.debuginfo import ctypes as c
from stapy.probes.signatures import fits
from tests.elaborate import support as s

ULONG = c.Int("long unsigned int", 8, False)
CALL = c.Pointer(s.function(s.INT, ("a", s.INT), ("b", s.INT)))
FUNCTION = s.function(
    s.INT,
    ("file", s.pointer(s.FILE)),
    ("name", c.Pointer(c.Qualified("const", s.CHAR))),
    ("size", ULONG),
    ("call", CALL),
)
TYPES = "struct file *, const char *, unsigned long, int (*)(int, int))"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TYPES, True),
        (TYPES.replace("unsigned long", "unsigned  long int"), True),
        (TYPES.replace("struct file *", "file*"), True),
        (TYPES.replace("const ", ""), True),
        (TYPES.replace("const ", "volatile "), False),
        (TYPES.replace("unsigned long", "long"), False),
        (TYPES.replace("file *", "file **"), False),
        (TYPES.replace(", int (*)(int, int)", ""), False),
        (TYPES[:-1], False),
        (TYPES + "x", False),
        (")", False),
    ],
)
def test_parameters(text: str, expected: bool) -> None:
    assert fits(FUNCTION, text) == expected


@pytest.mark.parametrize("text", [")", "void)", " void )"])
def test_no_parameters(text: str) -> None:
    assert fits(s.function(s.INT), text)
    assert not fits(s.function(s.INT, ("a", s.INT)), text)


def test_points_with_types() -> None:
    text = 'probe kernel.function("vfs_*(struct file *, unsigned int)") { println(1) }'
    program = s.run(text).program
    assert program is not None
    assert program.probes[0].points == ['kernel.function("vfs_readv")']
    refused = s.run('probe kernel.function("vfs_read(int)") { println(1) }')
    assert refused.codes == ["E0231"]
