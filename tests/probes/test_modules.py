"""Modules: their calls into the kernel, their variables; two small objects stand for both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stapy.debuginfo.dwarf.index.build import build
from stapy.debuginfo.dwarf.index.reader import DwarfIndex
from stapy.debuginfo.dwarf.query.answers import CodePlace
from stapy.debuginfo.dwarf.query.dwarf_file import DwarfFile
from stapy.debuginfo.elf import ElfFile
from stapy.debuginfo.sites import FunctionSite
from stapy.ir.program import PER_CPU, ModuleAddress
from stapy.probes.values.variables import global_variable
from tests.debuginfo.dwarf import samples
from tests.debuginfo.dwarf.test_kernel import opened
from tests.elaborate import support as s
from tests.probes.test_begin_end import rows

MODULE = """
int leaf(int), framed(int), vfs_read(int), nowhere(int);
volatile int seen;
enum { FIRST = -3, SECOND = 70000 } anonymous;
struct holder { enum inner { X = 9 } x; } holder;
__attribute__((section(".data..percpu"))) int other = 1, ticks = 2;
static __attribute__((noipa)) int deep(int n) { seen = framed(n); return seen + 1; }
int outer(int n) { seen = deep(n) + leaf(n); seen = vfs_read(n) + nowhere(n); return seen; }
"""


class Info(s.FakeDebuginfo):
    """A kernel whose debug file is the sample's, and the module "ext"."""

    def __init__(self, kernel: Path, module: Path) -> None:
        self.dwarf = opened(kernel)
        elf = ElfFile.open(module)
        self.ext = DwarfFile(module, DwarfIndex(build(elf)), elf, "ext")

    def dwarf_of(self, module: str | None, *, download: bool = True) -> Any:
        return self.ext if module == "ext" else self.dwarf

    def exporter(self, name: str) -> str | None:
        return "kernel" if name in ("leaf", "framed", "vfs_read") else None

    def function(self, name: str, module: str | None = None) -> FunctionSite:
        assert (name, module) == ("vfs_read", None)
        return FunctionSite(name, None, s.READ, "BTF")

    def safe(self, otherwise: Any, question: Any, *arguments: Any) -> Any:
        return question(*arguments)

    def site_at(self, place: CodePlace) -> FunctionSite:
        return FunctionSite(place.function, place.module, None, "DWARF", place=place)


@pytest.fixture(scope="module")
def info(tmp_path_factory: pytest.TempPathFactory) -> Info:
    folder = tmp_path_factory.mktemp("sample")
    flags = ("-O2", "-gdwarf-5", "-ffreestanding", *samples.RELOCATABLE)
    module = samples.compiled(folder / "module", "ext.c", MODULE, *flags)
    return Info(samples.make(folder, "-gdwarf-5"), module)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('function("outer").callee("leaf")', {("leaf", None, ("ext:outer",))}),
        ('function("outer").callee("vfs_*")', {("vfs_read", None, ("ext:outer",))}),
        ('function("deep").callee("*").return', {("framed", None, ("ext:deep",))}),
        (
            'function("outer").callees(2)',
            {
                ("leaf", None, ("ext:outer",)),
                ("vfs_read", None, ("ext:outer",)),
                ("deep", "ext", (-1,)),
                # Through a function of the module, and one of the kernel.
                ("framed", None, ("ext:deep", "ext:outer")),
            },
        ),
    ],
)
def test_who_calls(text: str, expected: set[Any], info: Info) -> None:
    found = rows(f'probe module("ext").{text} {{ println(1) }}', "kprobe", debuginfo=info)
    seen = set()
    for row in found:
        frames, at_entry, *rest = row["callers"]
        assert at_entry == 1
        starts = []
        for _ in range(frames):
            count, rest = rest[0], rest[1:]
            assert count == 1 and (rest[1] > 0 or rest[0] == -1)
            starts.append(rest[0])
            rest = rest[2 * count :]
        assert not rest
        seen.add((row["symbol"], row["module"], tuple(starts)))
    assert seen == expected


def test_return_addresses_lie_behind_calls(info: Info) -> None:
    """The distance from the caller's symbol, against the bytes of the call: e8 and a target."""
    code = next(sec for sec in info.ext._elf.sections if sec.name == ".text")
    content = info.ext._elf.content(code)
    outer = next(sym for sym in info.ext._elf.symbols() if sym.name == "outer")
    text = 'probe module("ext").function("outer").callee("leaf") { println(1) }'
    found = rows(text, "kprobe", debuginfo=info)
    (*_, distance) = found[0]["callers"]
    assert content[outer.value + distance - 5] == 0xE8


def test_what_is_listed(info: Info) -> None:
    program = s.run(
        'probe module("e*").function("outer").callee("*") { println(1) }', debuginfo=info
    ).program
    assert program is not None
    points = sorted(point for probe in program.probes for point in probe.points)
    first = 'module("ext").function("outer@ext.c:8")'
    assert [point.removeprefix(first) for point in points] == [
        '.callee("deep@ext.c:7")',
        f'.callee("leaf@sample.c:{samples.line_of("int leaf(")}")',
        '.callee("vfs_read")',
    ]


@pytest.mark.parametrize("name", ["seen", "ticks", "other"])
def test_variables(name: str, info: Info) -> None:
    services = s.run("probe begin { println(1) }", debuginfo=info).services
    found = global_variable(name, "ext", services)
    assert found is not None and isinstance(found[1], ModuleAddress)
    (own,) = (symbol for symbol in info.ext._elf.symbols() if symbol.name == name)
    # Of a per-CPU variable it is this CPU's copy, in the area that the module was given.
    symbol, offset = (name, 0) if name == "seen" else (PER_CPU, own.value)
    assert (found[1].module, found[1].symbol, found[1].offset) == ("ext", symbol, offset)


@pytest.mark.parametrize(
    ("name", "value"),
    [("FIRST", -3), ("SECOND", 70000), ("X", 9), ("seen", None), ("inner", None), ("nope", None)],
)
def test_enumeration_constants(name: str, value: int | None, info: Info) -> None:
    assert info.ext.enumerator(name) == value
