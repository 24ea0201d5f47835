"""Functions that share a name, and names that share a function."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.debuginfo import ctypes as c
from stapy.debuginfo.lookup.same_name import common_prototype
from tests.debuginfo.btfwriter import BtfWriter
from tests.debuginfo.elfwriter import ElfWriter
from tests.debuginfo.world import make_debuginfo, make_kernel

INT = c.Int("int", 4, True, "signed")
LONG = c.Int("long", 8, True, "signed")
PAIR = c.Array(LONG, 2)


def function(*params: tuple[str, c.CType], result: c.CType = INT) -> c.FunctionType:
    return c.FunctionType(result, [c.Parameter(*row) for row in params])


ONE = function(("a", INT), ("b", LONG))
VOID = function(("a", INT), result=c.Void())


@pytest.mark.parametrize(
    ("types", "symbols", "names", "doubtful"),
    [
        ([ONE], 1, ["a", "b"], False),
        ([ONE, ONE], 1, ["a", "b"], False),
        ([ONE, ONE], 2, ["a", "b"], True),
        ([ONE], 2, ["a", "b"], True),
        ([ONE, function(("a", INT))], 1, ["a"], True),
        ([ONE, function(("a", LONG), ("b", LONG))], 1, ["", "b"], True),
        ([ONE, function(("x", INT), ("b", LONG))], 1, ["", "b"], True),
        ([function(("__unused", INT)), function(("a", INT))], 1, ["a"], False),
        ([function(("__unused", INT)), function(("a", INT))], 2, ["a"], True),
        ([function(("p", PAIR), ("b", LONG)), ONE], 1, [], True),
    ],
)
def test_what_is_certain(
    types: list[c.FunctionType], symbols: int, names: list[str], doubtful: bool
) -> None:
    found = common_prototype("f", types, symbols)
    assert [row.name for row in found.type.params] == names
    assert bool(found.ambiguity) == doubtful


@pytest.mark.parametrize(
    ("types", "name"),
    [
        ([ONE, VOID], "void"),
        ([ONE, function(("a", INT), result=LONG)], "long"),
        ([ONE, function(("a", INT), result=INT)], "int"),
    ],
)
def test_results(types: list[c.FunctionType], name: str) -> None:
    assert c.c_name(common_prototype("f", types, 1).type.result) == name


def test_messages() -> None:
    found = common_prototype("f", [ONE, VOID], 1).ambiguity
    assert (
        found
        == "BTF describes several functions of this name: 'int f(int a, long b)', 'void f(int a)'"
    )
    found = common_prototype("f", [ONE], 2).ambiguity
    assert found == "2 functions have the name 'f', and BTF does not tell them apart"


def test_in_a_kernel(tmp_path: Path) -> None:
    btf = BtfWriter()
    number = btf.int("int")
    btf.function("twin", number, [("a", number), ("b", number)])
    btf.function("twin", number, [("a", number), ("c", number)])
    btf.function("__do_sys_one", number, [("regs", number)])
    elf = ElfWriter(2)
    elf.section(".text", bytes(64), flags=6)
    elf.section(".BTF", btf.data())
    for name, at in (("twin", 1), ("__do_sys_one", 2), ("__x64_sys_one", 2), ("label", 3)):
        elf.symbol(name, at)
    info = make_debuginfo(tmp_path, make_kernel(tmp_path, image=elf.data()))
    for pattern in ("twin", "tw*"):
        (site,) = info.functions(pattern)
        assert site.type is not None and [p.name for p in site.type.params] == ["a", ""]
        assert "several functions" in site.ambiguity
    (site,) = info.functions("__x64_sys_one")
    assert site.name == "__x64_sys_one" and site.source == "BTF" and not site.ambiguity
    assert site.type is not None and [p.name for p in site.type.params] == ["regs"]
    (site,) = info.functions("label")
    assert site.type is None
