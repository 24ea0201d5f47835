"""Places in the kernel that DWARF tells of, over debug information made by hand."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import pytest

from stapy.debuginfo import ctypes as c
from stapy.debuginfo.dwarf.index.reader import FunctionRow, Site
from stapy.debuginfo.dwarf.query.answers import CodePlace, Passing
from stapy.debuginfo.dwarf.read.expressions import Op
from stapy.debuginfo.dwarf.read.frames import Saved, UnwindRow
from stapy.debuginfo.dwarf.read.variables import DwarfVariable
from stapy.debuginfo.facade import FunctionSite, FunctionSites
from stapy.ir.dump import dump_program
from tests.elaborate import support as s


def place(name: str, **changes: Any) -> CodePlace:
    values: dict[str, Any] = {
        "function": name, "file": "fs/a.c", "line": 10, "symbol": name, "offset": 0,
        "address": 0x1000, "entry": 1, "inlined": False, "is_exact": True,
    }  # fmt: skip
    return CodePlace(**{**values, **changes})


OUTSIDE = place("vfs_read")
INSIDE = place("helper", symbol="vfs_read", offset=0x24, inlined=True, is_exact=False)
REFUSED = place("copy", symbol="register_kprobe", offset=4, inlined=True, is_exact=False)
PATCHED = place("branch", symbol="vfs_read", offset=9, address=0x1BAD, inlined=True, is_exact=False)


BASE = 0xFFFFFFFF81000000  # of the function that addresses are told from


PASSED: dict[int, list[Passing]] = {}  # by calls that tell what they would pass
BEHIND = {99: "y"}  # what lies at offsets of entries


class Dwarf:
    """What places are asked about."""

    module = None

    def __init__(self, variables: list[DwarfVariable]) -> None:
        self.index = self
        self._variables = variables

    def files(self, pattern: str) -> set[int]:
        return {1} if pattern.endswith("read_write.c") else set()

    def files_like(self, pattern: str) -> list[str]:
        return ["fs/read_write.c"]

    def similar(self, name: str) -> list[str]:
        return ["vfs_read"]

    def refused(self, address: int) -> str:
        return "a jump label" if address == 0x1BAD else ""

    def functions(self, name: str) -> list[FunctionRow]:
        return [FunctionRow(name, "kernel/kprobes.c", 1, 1, [Site(BASE, 1, name == "absent")])]

    def variables(self, _: CodePlace) -> list[DwarfVariable]:
        return self._variables

    def frame(self, asked: CodePlace) -> UnwindRow:
        """Return a frame with a saved register; that of a caller depends on it."""
        saved = {3: Saved("frame", -16), 6: Saved("memory", 0, b"x"), 12: Saved("lost")}
        return UnwindRow((6, 32), {}) if asked.function == "caller" else UnwindRow((7, 48), saved)

    def operations(self, _: bytes, __: CodePlace) -> list[Op]:
        return [Op("address_in", 6, -24)]

    def calls_with(self, parameter: int, _: CodePlace) -> list[Passing]:
        return PASSED.get(parameter, [])

    def entrance(self, _: CodePlace) -> tuple[str, int, int]:
        return "vfs_read", 0, 0x1000 - INSIDE.offset

    def pointed_to(self, offset: int, _: CodePlace) -> DwarfVariable:
        known = {variable.name: variable for variable in self._variables}
        return known[BEHIND[offset]]

    def frame_base(self, _: CodePlace) -> list[Op]:
        return [Op("cfa")]

    def lines_with(self, _: CodePlace, variable: DwarfVariable) -> list[tuple[int, int]]:
        return [(start, end - 1) for start, end in variable.ranges]

    def variables_like(self, _: str) -> list[str]:
        return ["jiffies"]

    def unit_variable(self, _: int, name: str) -> tuple[c.CType, int] | None:
        return (s.INT, BASE + 0x200) if name == "shared" else None

    def global_variable(self, name: str, file: str) -> tuple[c.CType, int] | None:
        known = (name, file) in (("jiffies", ""), ("mode", "fs/a.c"))
        return (s.INT, BASE + 0x100) if known else None


class Info(s.FakeDebuginfo):
    """Debug information with some places, whatever is asked."""

    def __init__(
        self,
        places: list[CodePlace],
        near: list[int] | None = None,
        functions: int | None = None,
        variables: list[DwarfVariable] | None = None,
    ) -> None:
        self.dwarf = Dwarf(variables or [])
        self.asked: list[tuple[str, bool]] = []
        sites = [FunctionSite(p.function, None, None, "DWARF", place=p) for p in places]
        count = len(places) if functions is None else functions
        self._answer = FunctionSites(sites, True, True, near or [], count)

    def places(
        self,
        text: str,
        module: str | None = None,
        *,
        allow_nearest: bool = False,
        lines_as_functions: bool = False,
        download: bool = True,
        known: Container[tuple[str, str | None]] = (),
    ) -> FunctionSites:
        self.asked.append((text, allow_nearest))
        answer = self._answer
        sites = [
            site
            for site in answer.sites
            if site.place
            and not (site.place.is_exact and (site.place.symbol, site.module) in known)
        ]
        return FunctionSites(sites, True, True, answer.near_lines, answer.functions)


def sites(text: str, info: Info) -> list[tuple[str, str, int]]:
    """List ``(point, symbol, offset)`` of all places."""
    program = s.run(f"probe {text} {{ println(1) }}", debuginfo=info).program
    assert program is not None
    return [
        (point, site.symbol, site.offset)
        for probe in program.probes
        for point, site in zip(probe.points, probe.sites, strict=True)
    ]


OUT = ('kernel.function("vfs_read@fs/a.c:10")', "vfs_read", 0)
# Functions that BTF found have the line that DWARF knows.
BTF_READ = ('kernel.function("vfs_read@kernel/kprobes.c:1")', "vfs_read", 0)
BTF_WRITE = ('kernel.function("vfs_write@kernel/kprobes.c:1").call', "vfs_write", 0)
IN = ('kernel.function("helper@fs/a.c:10")', "vfs_read", 0x24)


@pytest.mark.parametrize(
    ("point", "expected"),
    [
        ('kernel.function("*@fs/a.c")', [OUT, IN]),
        ('kernel.function("*@fs/a.c").call', [(OUT[0] + ".call", "vfs_read", 0)]),
        ('kernel.function("*@fs/a.c").inline', [(IN[0] + ".inline", "vfs_read", 0x24)]),
        ('kernel.function("*@fs/a.c").return', [(OUT[0] + ".return", "vfs_read", 0)]),
        ('kernel.function("*@fs/a.c").exported', [(OUT[0] + ".exported", "vfs_read", 0)]),
        ('kernel.function("vfs_read")', [BTF_READ, IN]),
        ('kernel.function("helper")', [OUT, IN]),
        # What DWARF alone knows by that name is called something else by the compiler.
        ('kernel.function("helper").call', [(OUT[0] + ".call", "vfs_read", 0)]),
    ],
)
def test_functions(point: str, expected: list[tuple[str, str, int]]) -> None:
    assert sorted(sites(point, Info([OUTSIDE, INSIDE]))) == sorted(expected)


def test_calls_by_name_take_in_copies() -> None:
    copy = place("vfs_write", symbol="vfs_write.part.0", line=20)
    info = Info(
        [copy, place("vfs_write", symbol="vfs_read", offset=4, inlined=True, is_exact=False)]
    )
    of_copy = ('kernel.function("vfs_write@fs/a.c:20").call', "vfs_write.part.0", 0)
    assert sites('kernel.function("vfs_write").call', info) == [BTF_WRITE, of_copy]
    assert len(sites('kernel.function("vfs_write").return', info)) == 2


def test_copies_that_only_symbols_tell_give_way_to_dwarf() -> None:
    class Both(Info):
        def functions(self, pattern: str, module: str | None = None) -> list[Any]:
            return [FunctionSite("vfs_stat.isra.0", None, None, "symbol table")]

    info = Both([place("vfs_stat", symbol="vfs_stat.isra.0")])
    expected = [('kernel.function("vfs_stat@fs/a.c:10")', "vfs_stat.isra.0", 0)]
    assert sites('kernel.function("vfs_stat")', info) == expected
    assert sites('kernel.function("vfs_*")', info) == expected


@pytest.mark.parametrize(("tail", "nearest"), [("", False), (".nearest", True)])
def test_statements(tail: str, nearest: bool) -> None:
    info = Info([INSIDE])
    found = sites(f'kernel.statement("helper@fs/a.c:10"){tail}', info)
    assert found == [(f'kernel.statement("helper@fs/a.c:10"){tail}', "vfs_read", 0x24)]
    assert info.asked == [("helper@fs/a.c:10", nearest)]


@pytest.mark.parametrize(
    ("point", "info", "code", "note"),
    [
        ('kernel.statement("f@a.c:3")', Info([], [5, 9], 1), "E0231", "no line records"),
        ('kernel.function("f@a.c")', Info([], [], 0), "E0231", "no source file matches 'a.c'"),
        ('kernel.function("f@read_write.c")', Info([], [], 0), "E0231", "in kernel/kprobes.c"),
        ('kernel.function("*@read_write.c")', Info([], [], 0), "E0231", "no function with code"),
        ('kernel.function("absent").call', Info([]), "E0231", "inlined wherever it is called"),
        ('kernel.function("f@a.c").inline', Info([OUTSIDE]), "E0231", "is inlined anywhere"),
        ('kernel.function("f@a.c").call', Info([INSIDE]), "E0231", "is inlined; .inline"),
        ('kernel.function("f@a.c")', Info([REFUSED]), "E0231", "must not be probed"),
        (
            'kernel.function("f@a.c")',
            Info([PATCHED]),
            "E0231",
            "wants no probe there (a jump label)",
        ),
        ('module("absent").function("f@a.c")', Info([]), "E0231", "no module 'absent'"),
        ('module("ext").function("f").label("x")', s.FakeDebuginfo(), "E0233", "needs DWARF"),
        ("kernel.statement(12)", s.FakeDebuginfo(), "E0233", "needs DWARF"),
        ('kernel.function("f@a.c")', s.FakeDebuginfo(), "E0233", "needs DWARF"),
        ('kernel.statement("f@")', s.FakeDebuginfo(), "E0231", ""),
    ],
)
def test_refusals(point: str, info: s.FakeDebuginfo, code: str, note: str) -> None:
    result = s.run(f"probe {point} {{ println(1) }}", debuginfo=info)
    assert result.codes == [code]
    assert note in " ".join(result.diagnostics.items[0].notes)


def test_a_variable_that_is_nowhere_says_where_it_is() -> None:
    info = Info([INSIDE], variables=[DwarfVariable("x", s.INT, False, None, [(12, 14)])])
    result = s.run('probe kernel.function("*@fs/a.c") { println($x) }', debuginfo=info)
    assert result.codes == ["E0241"]
    assert result.diagnostics.items[0].notes == ["it is available at fs/a.c:12-13"]


def dumped(text: str, info: Info) -> str:
    result = s.run(text, debuginfo=info)
    assert result.program is not None, result.shown()
    return dump_program(result.program, True)


def test_all_variables_of_a_place() -> None:
    """What is nowhere is shown as ``?``."""
    there = DwarfVariable("y", s.INT, True, [Op("register", 5)])
    info = Info([INSIDE], variables=[DwarfVariable("x", s.INT, False, None), there])
    text = dumped('probe kernel.function("*@fs/a.c") { println($$vars) }', info)
    assert "y=%#x x=?" in text


def test_places_without_work_are_left_out_silently() -> None:
    """Where a variable is not, ``@defined`` may leave nothing of the body."""
    here = DwarfVariable("x", s.INT, False, [Op("register", 5)])

    info = Info(
        [OUTSIDE, place("helper", address=0x1024, offset=0x24, inlined=True, is_exact=False)]
    )
    info.dwarf.variables = lambda at: [here] if at.inlined else []
    text = 'probe kernel.function("*@fs/a.c") { if (@defined($x)) println($x) }'
    result = s.run(text, debuginfo=info)
    assert result.codes == []
    assert result.program is not None
    assert [probe.points for probe in result.program.probes] == [[IN[0]]]  # not OUT


def test_variables_outside_of_the_function() -> None:
    """Statics and globals of the probed file have their plain names."""
    info = Info([INSIDE])
    assert "+ (512L)" in dumped('probe kernel.function("*@fs/a.c") { println($shared) }', info)
    assert "+ (512L)" in dumped(
        'probe kernel.function("*@fs/a.c") { println(@var("shared")) }', info
    )
    result = s.run('probe kernel.function("*@fs/a.c") { println($jiffies) }', debuginfo=info)
    assert result.codes == ["E0241"]  # another unit's


@pytest.mark.parametrize(
    ("name", "codes"), [("jiffies", []), ("mode@fs/a.c", []), ("mode", ["E0241"])]
)
def test_global_variables(name: str, codes: list[str]) -> None:
    result = s.run(f'probe begin {{ println(@var("{name}")) }}', debuginfo=Info([]))
    assert result.codes == codes
