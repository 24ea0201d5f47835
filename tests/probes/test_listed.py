"""The lists of -l are those of resolving each place, which takes ten times as long."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stapy.cache import Cache
from stapy.debuginfo.btf.reader import Btf
from stapy.debuginfo.dwarf.query.opener import open_first
from stapy.debuginfo.elf import ElfFile
from stapy.debuginfo.facade import Debuginfo
from stapy.debuginfo.loading import Loaded
from stapy.debuginfo.sorted_lines import SortedLines
from stapy.debuginfo.symbols.table import LineSymbols, elf_lines
from stapy.diagnostics import Diagnostics, SourceMap
from stapy.parse import parse_script
from stapy.parse.facts import PreprocessFacts
from stapy.probes.families.kprobe.functions import FAMILY
from stapy.probes.family import PointError
from stapy.probes.listing import catalogue, scan
from tests.debuginfo.btfwriter import BtfWriter
from tests.debuginfo.dwarf.samples import compiled
from tests.debuginfo.world import make_debuginfo, make_kernel

SOURCE = r"""
#define OWN __attribute__((noipa))
volatile int sink;
static inline __attribute__((always_inline)) int tiny(int x) { sink = x; return x + sink; }
static inline __attribute__((always_inline)) int outer_tiny(int x) { return tiny(x) * sink; }
static inline __attribute__((always_inline)) int memcpy_like(int x) { sink = x; return x; }
static inline __attribute__((always_inline)) int only_there(int x) { sink = x; return x - sink; }
OWN int vfs_read(int x) { return tiny(x) + tiny(x + sink); }
OWN int vfs_write(int x) { return outer_tiny(x) + memcpy_like(x); }
OWN int memcpy_like_too(int x) { return only_there(x); }
OWN int do_exit(int x) { sink = tiny(x); return x; }
OWN int preempt_schedule_notrace(int x) { sink = x; return x; }
OWN int guarded(int x) { return tiny(x); }
OWN int gone(int x) { sink = x; return 2; }
OWN int twins(int x) { sink = x; return 3; }
OWN int doubtful(int x) { sink = x; return 7; }
OWN int quiet(int x) { sink = x; return 4; }
OWN static int copied(int x) __asm__("copied.isra.0");
OWN static int copied(int x) { sink = x; return 5; }
OWN int __do_sys_call(int x) { sink = x; return 6; }
int __x64_sys_call(int x) __attribute__((alias("__do_sys_call")));
int __ia32_sys_call(int x) __attribute__((alias("__do_sys_call")));
void _start(void)
{
	sink = vfs_read(1) + vfs_write(2) + memcpy_like_too(3) + do_exit(4) + guarded(5) + gone(6)
		+ twins(7) + quiet(8) + doubtful(12) + copied(9) + __do_sys_call(10)
		+ preempt_schedule_notrace(11);
}
"""
DESCRIBED = ("vfs_read", "vfs_write", "memcpy_like_too", "do_exit", "guarded", "gone", "twins",
             "__do_sys_call", "preempt_schedule_notrace", "not_in_the_symbols")  # fmt: skip
MARKS = {b"guarded": b"n", b"gone": b"i"}  # as if they were in such sections
PATTERNS = (
    "*", "**", "vfs_*", "*a*", "[gt]*", "__x64_*", "__ia32*", "*_sys_*", "__do_*", "mem*", "tin?",
    "copied*", "only*", "do_exi*", "preempt_*", "nothing_*",
)  # fmt: skip
FILES = ("", "@*", "@program.c", "@*.h", "@nowhere.c")
TAILS = ("", ".call", ".inline", ".return", ".exported")


@pytest.fixture(scope="module", params=["with BTF", "without BTF", "without DWARF"])
def info(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Debuginfo:
    folder = tmp_path_factory.mktemp("listed")
    flags = ("-O2", "-g", "-static", "-no-pie", "-Wl,--build-id=sha1")
    path = compiled(folder, "program.c", SOURCE, *flags)
    elf = ElfFile.open(path)
    rows = [
        name + b" " + kind + MARKS.get(name, b"")
        for line in elf_lines(elf).splitlines()
        for name, _, kind in [line.rpartition(b" ")]
    ]
    rows += [b"twins t", b"__pfx_vfs_read t", b"vfs_read.cold t", b"a_label b"]
    writer = BtfWriter()
    number = writer.int("int")
    for name in DESCRIBED:
        writer.function(name, number, [("x", number)])
    for parameters in ([], [("x", number)]):  # of two files, perhaps
        writer.function("doubtful", number, parameters)
    btf = None if request.param == "without BTF" else Btf(writer.data(), "btf")
    symbols = LineSymbols(SortedLines(SortedLines.encode(rows)))
    made = make_debuginfo(folder, make_kernel(folder))
    made._kernel = Loaded(btf, symbols, elf.build_id(), "sample", [], False, request.param)
    cache = Cache(folder / "dwarf")
    found, problems = open_first([path], elf.build_id(), None, cache, lambda _: None)
    assert found is not None and not problems
    made._files._known[None] = None if request.param == "without DWARF" else found
    return made


def services(info: Debuginfo, guru: bool = False) -> Any:
    options = SimpleNamespace(
        guru=guru, prologue_search=False, listing=None, listing_variables=False
    )
    return SimpleNamespace(debuginfo=info, options=options, kernel_name="this kernel")


def point_of(text: str) -> Any:
    sources = SourceMap()
    diagnostics = Diagnostics(sources)
    facts = PreprocessFacts("6.1.0", "x86_64", {})
    script = parse_script("<input>", f"probe {text} {{}}", facts, None, sources, diagnostics)
    assert script is not None and not diagnostics.items
    return script.decls[0].points[0]  # type: ignore[union-attr]


def resolved(text: str, all_services: Any) -> list[str]:
    try:
        return sorted({match.point for match in FAMILY.resolve(point_of(text), all_services)})
    except PointError:
        return []


@pytest.mark.parametrize("guru", [False, True])
def test_a_list_is_what_resolving_gives(info: Debuginfo, guru: bool) -> None:
    asked = services(info, guru)
    seen = 0
    for name in PATTERNS:
        for file in FILES:
            for tail in TAILS:
                text = f'kernel.function("{name}{file}"){tail}'
                found = sorted(set(scan.lines(point_of(text), asked) or []))
                assert found == resolved(text, asked), text
                seen += len(found)
    assert seen > 50


def test_what_the_lists_are_about(info: Debuginfo) -> None:
    """The sample has what makes lists difficult; else the test above would say little."""
    found = resolved('kernel.function("*")', services(info))
    assert any(re.match(r'kernel\.function\("vfs_read(@program\.c:\d+)?"\)$', x) for x in found)
    assert info.dwarf is None or 'kernel.function("vfs_read")' not in found
    assert not any("gone" in line or "guarded" in line for line in found)
    if info.dwarf is None:
        assert 'kernel.function("copied.isra.0")' in found
        return
    inlined = resolved('kernel.function("*").inline', services(info))
    assert [line for line in inlined if "tiny@" in line]
    assert not [line for line in inlined if "memcpy_like" in line or "only_there" in line]
    assert [line for line in found if '"copied@' in line]
    assert [line for line in found if '"twins@' in line]
    assert not {'kernel.function("twins")'} & set(found)
    # Whether DWARF or a cheaper source has found it, there is one line that it stands in.
    assert len([line for line in found if '"doubtful' in line]) == 1
    assert [line for line in found if '"doubtful@' in line]
    with_guru = resolved('kernel.function("*").inline', services(info, True))
    assert [line for line in with_guru if "only_there@" in line]


@pytest.mark.parametrize(
    "text",
    [
        'kernel.function("vfs_read")',
        'kernel.function("*(int)")',
        'kernel.function("*@program.c:7")',
        'kernel.function("*.isra*")',
        'kernel.function("__pfx_*")',
        'kernel.function("*").return.maxactive(3)',
        "kernel.function(0x1000)",
        'kernel.statement("*@program.c:*")',
    ],
)
def test_what_is_resolved_after_all(info: Debuginfo, text: str) -> None:
    assert scan.lines(point_of(text), services(info)) is None


def test_a_damaged_catalogue_is_made_anew(info: Debuginfo) -> None:
    asked = services(info)
    point = point_of('kernel.function("*")')
    before = scan.lines(point, asked)
    assert before
    for path in (info.cache.root / "debuginfo").glob("*/*"):
        if path.suffix != ".sum":
            data = path.read_bytes()
            info.cache.put_bytes("debuginfo", path.name, data[: len(data) // 2])
    assert scan.lines(point, asked) == before


def test_every_file_that_decides_a_list_is_in_its_key(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A list made by other code is not taken from the cache, whichever file has changed."""
    for name in ("probes/signatures.py", "debuginfo/btf/reader.py", "ir/literals.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    monkeypatch.setattr(catalogue, "package_dir", lambda: tmp_path)
    before = catalogue.rules.__wrapped__()
    assert before == catalogue.rules.__wrapped__()
    for file in sorted(tmp_path.rglob("*.py")):
        file.write_text(file.read_text() + "#")
        after = catalogue.rules.__wrapped__()
        assert after != before, file
        before = after
