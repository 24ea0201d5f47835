from __future__ import annotations

import re
from pathlib import Path

import pytest

from stapy.cache import Cache
from stapy.debuginfo import ctypes as c
from stapy.debuginfo import pack
from stapy.debuginfo.facade import Debuginfo
from stapy.debuginfo.sorted_lines import SortedLines
from stapy.debuginfo.symbols import clones
from stapy.debuginfo.symbols.table import LineSymbols
from stapy.debuginfo.tracepoints.modules import module_tracepoints
from stapy.diagnostics import Diagnostics, SourceMap
from stapy.kernel import offers, release

from .world import SCHED_H, kernel_btf, make_debuginfo, make_kernel, vmlinux


@pytest.fixture(scope="module", params=["cold", "warm"])
def debuginfo(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Debuginfo:
    folder = tmp_path_factory.mktemp(request.param)
    kernel = make_kernel(folder)
    made = make_debuginfo(folder, kernel)
    if request.param == "warm":
        made.functions("*", "*")
        made = make_debuginfo(folder, kernel)
    return made


@pytest.mark.parametrize(
    ("pattern", "module", "names"),
    [
        ("vfs_read", None, ["vfs_read"]),
        ("vfs_*", None, ["vfs_read", "vfs_write"]),
        ("vfs_only_symbol", None, ["vfs_only_symbol"]),
        ("vfs_init", None, ["vfs_init"]),  # named, so found, but with its section
        ("vfs_variable", None, []),
        ("__pfx_*", None, ["__pfx_vfs_read"]),
        ("*vfs_read", None, ["vfs_read"]),
        ("split*", None, ["split.isra.0"]),
        ("split", None, ["split.isra.0"]),
        ("vfs_read.isra", None, []),
        ("split.*", None, ["split.isra.0"]),
        ("split.isra.0", None, ["split.isra.0"]),
        ("only_btf", None, []),
        ("nothing", None, []),
        ("fuse_*", None, []),
        ("fuse_*", "fuse_x", ["fuse_open"]),
        ("fuse_helper", "fuse_x", ["fuse_helper"]),
        ("fuse_open", "fuse-x", ["fuse_open"]),
        ("fuse_open", "fuse*", ["fuse_open"]),
        ("fuse_open", "ext*", []),
        ("fuse_open", "ext", []),
    ],
)
def test_functions(
    debuginfo: Debuginfo, pattern: str, module: str | None, names: list[str]
) -> None:
    assert [site.name for site in debuginfo.functions(pattern, module)] == names


@pytest.mark.parametrize(
    ("name", "source", "section", "namesakes", "typed"),
    [
        ("vfs_read", "BTF", "", 1, True),
        ("vfs_write", "BTF", "", 2, True),
        ("vfs_init", "BTF", ".init.text", 1, True),
        ("vfs_only_symbol", "symbol table", "", 1, False),
    ],
)
def test_what_a_site_tells(
    debuginfo: Debuginfo, name: str, source: str, section: str, namesakes: int, typed: bool
) -> None:
    site = debuginfo.function(name)
    assert site is not None
    assert (site.source, site.section, site.namesakes) == (source, section, namesakes)
    assert (site.type is not None) == typed
    assert site.module is None


def test_copies_by_the_compiler() -> None:
    symbols = LineSymbols(SortedLines(SortedLines.encode(
        [b"f tb", b"f.part.0 t", b"f.part.0.isra.2 t", b"f.cold t", b"g T", b"g.isra.1 t"]
    )))  # fmt: skip
    assert clones.clones_of("f", symbols) == ["f.part.0", "f.part.0.isra.2"]
    assert clones.clones_of("f.part.0", symbols) == []
    names = ("f", "f.part.0", "f.cold", "g.isra.1", "h.isra.1")
    assert [clones.kinds_of(name, symbols) for name in names] == [["tb"], ["tb"], ["t"], ["t"], []]


def test_a_site_in_a_module(debuginfo: Debuginfo) -> None:
    site = debuginfo.function("fuse_open", "fuse_x")
    assert site is not None
    assert site.module == "fuse_x"
    assert site.type is not None
    assert c.c_name(site.type, "fuse_open") == "int fuse_open(int)"


@pytest.mark.parametrize(
    ("pattern", "module", "found"),
    [
        ("sched_switch", None, [("sched", "sched_switch", None)]),
        ("sched:sched_switch", None, [("sched", "sched_switch", None)]),
        ("sched:*", None, [("sched", "sched_switch", None)]),
        ("s*:sched_*", None, [("sched", "sched_switch", None)]),
        ("irq:sched_switch", None, []),
        ("secret:secret_event", None, [("", "secret_event", None)]),
        ("*", None, [("sched", "sched_switch", None), ("", "secret_event", None)]),
        ("fuse_request", None, [("", "fuse_request", "fuse_x")]),
        ("fuse:fuse_request", None, [("", "fuse_request", "fuse_x")]),
        ("*", "fuse_x", [("", "fuse_request", "fuse_x")]),
        ("nothing", None, []),
    ],
)
def test_tracepoints(
    debuginfo: Debuginfo,
    pattern: str,
    module: str | None,
    found: list[tuple[str, str, str | None]],
) -> None:
    points = debuginfo.tracepoints(pattern, module)
    assert [(p.system, p.name, p.module) for p in points] == found
    assert all(len(p.params) == 1 for p in points)


def test_types(debuginfo: Debuginfo) -> None:
    task = debuginfo.type("struct task")
    assert isinstance(task, c.Struct)
    assert c.size_of(task) == 8
    assert debuginfo.type("struct nothing") is None
    assert debuginfo.enumerator("KIND_A") == 1
    assert debuginfo.enumerator("KIND_B") is None
    assert debuginfo.variable("per_cpu_task") is not None


def test_a_module_completes_a_declared_struct(debuginfo: Debuginfo) -> None:
    declared = debuginfo.type("struct late")
    assert isinstance(declared, c.Struct)
    assert declared.is_declaration
    for whole in (
        debuginfo.type("struct late", ["fuse_x"]),
        debuginfo.complete(declared, ["fuse_x"]),
    ):
        assert isinstance(whole, c.Struct)
        assert c.member_names(whole) == ["x"]
    assert debuginfo.complete(declared) is declared


def test_symbols_and_exports(debuginfo: Debuginfo) -> None:
    assert debuginfo.exported("vfs_read")
    assert not debuginfo.exported("vfs_rea")


def test_suggestions(debuginfo: Debuginfo) -> None:
    assert "vfs_read" in debuginfo.similar_functions("vfs_raed")
    assert debuginfo.similar_tracepoints("sched:sched_swich") == ["sched_switch"]
    assert debuginfo.similar_types("struct taks") == ["struct task"]


def test_a_broken_module_is_one_warning(tmp_path: Path) -> None:
    made = make_debuginfo(tmp_path, make_kernel(tmp_path))
    assert made.functions("x*", "broken") == []
    assert made.functions("y*", "broken") == []
    messages = [item.message for item in made._diagnostics.items]
    assert len(messages) == 1
    assert "broken.ko: not an ELF file" in messages[0]


def test_without_btf_the_symbols_answer(tmp_path: Path) -> None:
    made = make_debuginfo(tmp_path, make_kernel(tmp_path, btf=b""))
    assert [(s.name, s.source) for s in made.functions("vfs_*")] == [
        ("vfs_only_symbol", "symbol table"),
        ("vfs_read", "symbol table"),
        ("vfs_write", "symbol table"),
    ]
    # Not __pfx_vfs_read, which only its own name finds.
    assert [site.name for site in made.functions("*vfs_read")] == ["vfs_read"]
    # What they pass nobody can tell who does not compile.
    points = [(one.system, one.name, one.params) for one in made.tracepoints("*")]
    assert points == [("sched", "sched_switch", []), ("", "secret_event", [])]
    assert made.tracepoints("sched:*_switch") and not made.tracepoints("irq:*")
    assert made.similar_tracepoints("sched_swich") == ["sched_switch"]
    assert made.type("struct task") is None
    assert "has no BTF" in made._diagnostics.items[0].message


def test_without_btf_headers_are_compiled_once(tmp_path: Path) -> None:
    """A list asks for each point of a header, whose compiler is asked but once, also in vain."""
    kernel = make_kernel(tmp_path, btf=b"")
    header = tmp_path / "source/include/trace/events/sched.h"
    header.write_text(SCHED_H + "TRACE_EVENT(secret_event,\n")
    made = make_debuginfo(tmp_path, kernel)
    asked: list[tuple[Path, list[str]]] = []
    made.compile_trace_headers(lambda path, points: asked.append((path, points)))
    assert [point.name for point in made.tracepoints("sched:*")] == ["sched_switch", "secret_event"]
    assert made.tracepoints("secret_event")[0].params == []
    assert asked == [(header, ["sched_switch", "secret_event"])]


def test_without_btf_the_symbols_tell_which_points_there_are(tmp_path: Path) -> None:
    """Headers declare what this kernel was built without, and miss what lies beside code."""
    kernel = make_kernel(tmp_path, btf=b"")
    header = tmp_path / "source/include/trace/events/sched.h"
    header.write_text(SCHED_H + "TRACE_EVENT(sched_never,\n")
    found = make_debuginfo(tmp_path, kernel).tracepoints("*")
    assert [one.name for one in found] == ["sched_switch", "secret_event"]


def test_with_neither_headers_tell_all_but_what_modules_have(tmp_path: Path) -> None:
    kernel = make_kernel(tmp_path, image=b"rubbish")
    header = tmp_path / "source/include/trace/events/sched.h"
    header.write_text(SCHED_H + "TRACE_EVENT(sched_never,\nTRACE_EVENT(fuse_request,\n")
    made = make_debuginfo(tmp_path, kernel)
    assert [one.name for one in made.tracepoints("*")] == ["sched_never", "sched_switch"]
    assert [one.name for one in made.tracepoints("*", "fuse*")] == ["fuse_request"]


def test_without_an_image_the_exports_answer(tmp_path: Path) -> None:
    kernel = make_kernel(tmp_path, image=b"rubbish")
    made = make_debuginfo(tmp_path, kernel)
    site = made.function("vfs_read")
    assert site is not None
    assert (site.source, site.type) == ("exports", None)
    assert made.function("vfs_write") is None
    assert made.btf is None
    assert "unknown kind" in made._diagnostics.items[0].message


@pytest.mark.parametrize("damage", ["flip", "cut", "empty"])
def test_a_damaged_cache_is_rebuilt(tmp_path: Path, damage: str) -> None:
    kernel = make_kernel(tmp_path)
    assert make_debuginfo(tmp_path, kernel).function("vfs_read") is not None
    for path in (tmp_path / "cache").rglob("*"):
        if path.is_file() and path.suffix != ".sum" and path.parent.name != "locks":
            data = path.read_bytes()
            if damage == "flip" and data:
                data = data[:-9] + bytes([data[-9] ^ 255]) + data[-8:]
            path.write_bytes({"cut": data[: len(data) // 2], "empty": b""}.get(damage, data))
    made = make_debuginfo(tmp_path, kernel)
    assert made.function("vfs_read") is not None
    assert made._diagnostics.items == []


@pytest.mark.parametrize("damage", ["no index", "positions", "names", "layout"])
def test_damage_with_a_right_check_sum_is_noticed(tmp_path: Path, damage: str) -> None:
    """At once, or when it shows: the next run is good again."""
    kernel = make_kernel(tmp_path)
    assert make_debuginfo(tmp_path, kernel).function("vfs_read") is not None
    cache = Cache(tmp_path / "cache")
    for path in (tmp_path / "cache" / "debuginfo").glob("*/*"):
        data = path.read_bytes()
        if path.suffix == ".sum" or not data.startswith(b"STAPYPK1"):
            continue
        parts = {name: data[a:b] for name, (a, b) in pack.decode(data).items()}
        if damage == "no index":
            parts["positions"] = parts["positions"][:-1]
        elif damage == "positions":
            parts["positions"] = b"\xfc\xff\xff\x7f" * (len(parts["positions"]) // 4)
        elif damage == "names":
            parts["names"] = re.sub(rb" \d+\n", b" what\n", parts["names"])
        else:
            parts["layout"] = bytes(8)
        cache.put_bytes("debuginfo", path.name, pack.encode(parts))
    made = make_debuginfo(tmp_path, kernel)
    if made.function("vfs_read") is None:
        assert "left out" in made._diagnostics.items[0].message
    again = make_debuginfo(tmp_path, kernel)
    site = again.function("vfs_read")
    assert site is not None and site.type is not None
    assert again._diagnostics.items == []


def test_a_new_image_is_noticed(tmp_path: Path) -> None:
    kernel = make_kernel(tmp_path)
    assert make_debuginfo(tmp_path, kernel).function("newcomer") is None
    writer = kernel_btf()
    writer.function("newcomer", 1, [])
    assert kernel.image is not None
    kernel.image.write_bytes(vmlinux(writer.data(), "newcomer"))
    assert make_debuginfo(tmp_path, kernel).function("newcomer") is not None


def test_no_cache_at_all(tmp_path: Path) -> None:
    kernel = make_kernel(tmp_path)
    made = Debuginfo(kernel, Cache(tmp_path / "none", False), Diagnostics(SourceMap()))
    assert made.function("vfs_read") is not None
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("what", ["lines", "inlines", "locals", "headers", "btf"])
@pytest.mark.parametrize("known", [None, frozenset()])
def test_hints_name_the_release(
    debuginfo: Debuginfo, what: str, known: frozenset[str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(release, "distribution", lambda: "debian")
    monkeypatch.setattr(offers, "offered", lambda: known)
    assert ("apt has no linux-" in debuginfo.missing_hint(what)) == (known is not None)
    assert "6.1.0-test-amd64" in debuginfo.missing_hint(what)


def test_the_index_of_module_tracepoints(tmp_path: Path) -> None:
    kernel = make_kernel(tmp_path)
    cache = Cache(tmp_path / "cache")
    assert module_tracepoints(kernel, None, cache).text() == b"fuse_request fuse_x\n"
    path = kernel.modules.path("fuse_x")
    assert path is not None
    path.unlink()
    assert module_tracepoints(kernel, None, cache).get(b"fuse_request") == [b"fuse_x"]  # remembered
    without = Cache(tmp_path / "none", False)
    assert module_tracepoints(kernel, None, without).text() == b""
