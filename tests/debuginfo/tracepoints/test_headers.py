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


class Compiled:
    """The DWARF of a header that was compiled, as far as it is asked."""

    def __init__(self, *types: c.CType) -> None:
        self.types = types

    def place_of(self, symbol: str) -> str | None:
        return symbol if symbol == "trace_sched_switch" else None

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
