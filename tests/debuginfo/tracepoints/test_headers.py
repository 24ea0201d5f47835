from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stapy.build.headers import PRIVATE
from stapy.debuginfo import ctypes as c
from stapy.debuginfo.tracepoints.headers import HeaderPoints
from tests.debuginfo.world import make_debuginfo, make_kernel

INT = c.Int("int", 4, True)
UNKNOWN = c.Typedef(
    "nobodys_t", c.Pointer(c.Struct("struct", PRIVATE, 0, list, is_declaration=True))
)


def struct(name: str, *members: c.CType) -> c.Struct:
    return c.Struct("struct", name, 8, lambda: [c.Member("m", one, 0) for one in members])


class Compiled:
    """The DWARF of a header that was compiled, as far as it is asked."""

    def __init__(self, *types: c.CType) -> None:
        self.types = types

    def place_of(self, symbol: str) -> str | None:
        return symbol if symbol == "trace_sched_switch" else None

    def type(self, name: str) -> c.CType | None:
        return next((one for one in self.types if str(one) == f"Struct({name})"), None)

    def prototype(self, place: str) -> c.FunctionType:
        params = [c.Parameter(f"p{number}", type) for number, type in enumerate(self.types)]
        return c.FunctionType(INT, params)


@pytest.mark.parametrize(
    ("types", "names"),
    [
        ((INT, c.Pointer(INT)), ["p0", "p1"]),
        ((INT, UNKNOWN, INT), ["p0"]),
        ((INT, c.Qualified("const", UNKNOWN)), ["p0"]),
        ((c.Pointer(UNKNOWN), INT), ["p0", "p1"]),
        ((INT, struct("by_value", UNKNOWN)), ["p0"]),
        ((c.Pointer(struct("pointed", UNKNOWN)), INT), ["p0", "p1"]),
    ],
)
def test_parameters_end_where_a_size_is_unknown(
    tmp_path: Path, types: tuple[c.CType, ...], names: list[str]
) -> None:
    opened: Any = Compiled(*types)
    points = HeaderPoints(make_debuginfo(tmp_path, make_kernel(tmp_path)), lambda path: opened)
    assert points.parameters("sched_switch") == []  # nobody compiles
    points.compile = lambda header, names: header
    assert [one.name for one in points.parameters("sched_switch")] == names
    assert points.parameters("no_header_has_it") == []


@pytest.mark.parametrize(
    ("member", "is_known"),
    [
        (INT, True),
        (c.Pointer(UNKNOWN), True),
        (c.Pointer(struct("inner", UNKNOWN)), True),
        (UNKNOWN, False),
        (c.Array(UNKNOWN, 2), False),
        (struct("", INT, struct("inner", c.Qualified("const", UNKNOWN))), False),
    ],
)
def test_a_struct_with_a_size_that_is_unknown_is_no_definition(
    tmp_path: Path, member: c.CType, is_known: bool
) -> None:
    """Neither where it is asked for by name nor where a parameter leads to it."""
    outer = struct("outer", INT, member)
    opened: Any = Compiled(c.Pointer(outer), outer)
    points = HeaderPoints(make_debuginfo(tmp_path, make_kernel(tmp_path)), lambda path: opened)
    points.compile = lambda header, names: header
    pointer = points.parameters("sched_switch")[0].type
    assert isinstance(pointer, c.Pointer) and isinstance(pointer.target, c.Struct)
    assert bool(pointer.target.members()) == is_known
    assert (points.type("struct outer") is not None) == is_known
    inner = pointer.target.members()[1].type if is_known else None
    if isinstance(inner, c.Pointer) and isinstance(inner.target, c.Struct):
        assert inner.target.members() == []
    again = points.parameters("sched_switch")[0].type
    assert isinstance(again, c.Pointer) and again.target is pointer.target
