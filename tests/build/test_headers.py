"""Types out of headers of the user and of the kernel."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stapy.build import headers
from stapy.build.headers import PRIVATE, HeaderCompiler, HeaderError, is_headers
from stapy.build.process import Result
from stapy.build.tools import Tools
from stapy.cache import Cache
from stapy.debuginfo import ctypes as c
from stapy.debuginfo.dwarf.query.opener import open_first
from stapy.debuginfo.facts import kernel_facts
from stapy.diagnostics import Diagnostics, SourceMap
from stapy.kernel import find_kernel
from stapy.options import Options
from tests.build import small

NO_KERNEL: Any = SimpleNamespace(release="none")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<time.h>", True),
        ("kernel<linux/fs.h>", True),
        ("kernel<linux/fs.h><linux/mm.h>", True),
        ('"own.h"', True),
        ("kernel", False),
        ("nfs<", False),
        ("<a.h>x", False),
    ],
)
def test_names(text: str, expected: bool) -> None:
    assert is_headers(text) == expected


def ask(spec: str, folder: Path) -> Path:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    cache = Cache(folder / "cache")
    return HeaderCompiler(NO_KERNEL, Options(), cache, folder, lambda: "").types(spec)


def test_types_of_a_header(tmp_path: Path) -> None:
    path = ask("<time.h><stdlib.h>", tmp_path)
    assert ask("<time.h><stdlib.h>", tmp_path) == path  # out of the cache
    dwarf, _ = open_first([path], "", None, Cache(tmp_path / "cache"), lambda _: None)
    assert dwarf is not None
    found = dwarf.type("struct tm")
    assert isinstance(found, c.Struct)
    assert [member.name for member in found.members()][:2] == ["tm_sec", "tm_min"]
    assert dwarf.type("div_t") is not None


def test_a_header_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(HeaderError, match=r"fatal error: nosuch/nosuch\.h"):
        ask("<nosuch/nosuch.h>", tmp_path)


@pytest.mark.build
def test_what_the_points_of_a_trace_header_pass(
    kernel: small.Kernel, cache: Cache, tmp_path: Path
) -> None:
    """Each is a function with named parameters; what the kernel lacks is left out."""
    full = find_kernel(kernel.release, Diagnostics(SourceMap()))
    assert full.source_dir

    def facts() -> str:
        return kernel_facts(full, None, full.exports)

    compiler = HeaderCompiler(full, Options(), cache, tmp_path, facts)

    def made(header: Path, *points: str) -> Path:
        return compiler.points(header, list(points))

    header = full.source_dir / "include/trace/events/sched.h"
    path = made(header, "sched_switch", "no_such_point")
    dwarf, _ = open_first([path], "", None, cache, lambda _: None)
    assert dwarf is not None and dwarf.place_of("trace_no_such_point") is None
    place = dwarf.place_of("trace_sched_switch")
    assert place is not None
    params = dwarf.prototype(place).params
    assert [param.name for param in params][:3] == ["preempt", "prev", "next"]
    assert isinstance(params[1].type, c.Pointer)
    task = params[1].type.target
    assert isinstance(task, c.Struct) and "pid" in [member.name for member in task.members()]
    assert made(header, "sched_switch", "no_such_point") == path  # out of the cache

    private = tmp_path / "private.h"
    private.write_text("static void trace_a(int known, nobodys_t x, const nobodys_t *y) {}\n")
    dwarf, _ = open_first([made(private, "a", "b")], "", None, cache, lambda _: None)
    place = dwarf.place_of("trace_a") if dwarf is not None else None
    assert dwarf is not None and place is not None
    first, second, _ = dwarf.prototype(place).params
    assert isinstance(second.type, c.Typedef) and isinstance(second.type.target, c.Pointer)
    assert str(second.type.target.target) == f"Struct(struct {PRIVATE})", first

    broken = tmp_path / "broken.h"
    broken.write_text("#include <nosuch.h>\n")
    with pytest.raises(HeaderError, match=r"nosuch\.h"):
        made(broken, "x")


def test_the_kernels_headers_see_what_its_make_exports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = SimpleNamespace(compile=["cc", "SOURCE", "OBJECT"], environment={"KBUILD": "x"})
    monkeypatch.setattr(headers, "open_kit", lambda *words: SimpleNamespace(commands=commands))
    monkeypatch.setattr(headers, "kit_key", lambda *words: "key")
    monkeypatch.setattr(headers, "fill", lambda words, **places: words)
    seen: list[object] = []

    class Recorded(Tools):
        def run(self, argv: list[str], environment: dict[str, str] | None = None) -> Result:
            seen.append(environment)
            return Result(argv, 1, "error: that is all", 0.0)

    header = tmp_path / "a.h"
    header.write_text("")
    cache = Cache(tmp_path / "cache")
    compiler = HeaderCompiler(NO_KERNEL, Options(), cache, tmp_path, lambda: "", Recorded())
    for make in (lambda: compiler.types("kernel<a.h>"), lambda: compiler.points(header, ["a"])):
        with pytest.raises(HeaderError, match="that is all"):
            make()
    assert seen == [commands.environment] * 2
