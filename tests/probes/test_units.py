"""The catalogues of many modules in one file say what each of them says."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from stapy.cache import Cache
from stapy.debuginfo import loading, looked
from stapy.debuginfo.elf import ElfFile
from stapy.debuginfo.facade import Debuginfo
from stapy.diagnostics import Diagnostics, SourceMap
from stapy.kernel.target import Kernel
from stapy.probes.listing import scan
from stapy.probes.listing import store as units_module
from stapy.probes.listing.store import Opened, Stored, units
from tests.debuginfo.dwarf.samples import compiled
from tests.debuginfo.world import make_kernel

from .test_listed import SOURCE, point_of, resolved, services

TEXTS = (
    'module("*").function("*")',
    'module("*").function("*").inline',
    'module("[fo]*").function("*a*").return',
    'module("*").function("*@program.c").call',
    'module("one").function("vfs_*")',
    'module("none*").function("*")',
)


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    """Make a kernel with two modules, of which one has DWARF."""
    monkeypatch.setattr(units_module, "_MANY", 1)
    monkeypatch.delenv("DEBUGINFOD_URLS", raising=False)
    flags = ("-O2", "-g", "-r", "-Wl,--build-id=sha1")
    program = compiled(tmp_path / "compiled", "program.c", SOURCE, *flags)
    made = make_kernel(tmp_path)
    folder = tmp_path / "modules/kernel/fs"
    (folder / "one.ko").write_bytes(program.read_bytes())
    (folder / "broken.ko").unlink()
    (tmp_path / "modules/modules.dep").write_text("kernel/fs/fuse-x.ko:\nkernel/fs/one.ko:\n")
    return made


def info_of(kernel: Kernel, folder: Path) -> Debuginfo:
    return Debuginfo(kernel, Cache(folder / "cache"), Diagnostics(SourceMap()))


def test_lists_of_modules(kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = services(info_of(kernel, tmp_path))
    expected = [resolved(text, asked) for text in TEXTS]
    assert [len(lines) > 0 for lines in expected] == [True] * 5 + [False]
    assert any("tiny@" in line for line in expected[1])

    def listed_by(info: Debuginfo) -> list[list[str]]:
        found = [scan.lines(point_of(text), services(info)) for text in TEXTS]
        return [sorted(set(lines or [])) for lines in found]

    assert listed_by(info_of(kernel, tmp_path)) == expected
    # Now that they are stored, no module has to be opened for a pattern of modules.
    again = info_of(kernel, tmp_path)
    monkeypatch.setattr(loading, "load_module", None)
    for text, lines in zip(TEXTS[:4], expected, strict=False):
        assert sorted(set(scan.lines(point_of(text), services(again)) or [])) == lines
    files = {path.name for path in again.module_files()}
    assert files == {"fuse-x.ko", "one.ko", "modules.dep"}


def test_another_module_is_another_file(kernel: Kernel, tmp_path: Path) -> None:
    assert isinstance(units(info_of(kernel, tmp_path), "*"), Stored)
    path = kernel.modules_dir / "kernel/fs/one.ko"  # type: ignore[operator]
    path.write_bytes((kernel.modules_dir / "kernel/fs/fuse-x.ko").read_bytes())  # type: ignore[operator]
    found = units(info_of(kernel, tmp_path), "*")
    one = found.functions("one")
    assert one is not None and "fuse_open" in one.names and "vfs_read" not in one.names
    assert not found.has_dwarf("one", False)


@pytest.mark.parametrize("place", ["build-id", "by path", "beside"])
def test_a_debug_file_that_comes_and_goes(
    kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """A folder that has some already tells of one more; a list that was kept depends on it."""
    debug, modules = tmp_path / "debug", tmp_path / "modules/kernel/fs"
    monkeypatch.setenv("SYSTEMTAP_DEBUGINFO_PATH", str(debug))
    below = debug / "lib/modules" / kernel.release / "kernel/fs"
    below.mkdir(parents=True)
    whole = modules / "one.ko"
    found = ElfFile.open(whole).build_id()
    (debug / ".build-id" / found[:2]).mkdir(parents=True)
    path = {
        "build-id": debug / ".build-id" / found[:2] / f"{found[2:]}.debug",
        "by path": below / "one.ko.debug",
        "beside": modules / "one.ko.debug",
    }[place]
    copy = whole.read_bytes()
    subprocess.run(["strip", "-g", whole], check=True)
    point = point_of('module("*").function("*").inline')

    def listed() -> list[str]:
        info = info_of(kernel, tmp_path)
        assert isinstance(units(info, "*"), Stored)
        return scan.lines(point, services(info)) or []

    def seen() -> set[str]:
        return {str(row) for row in looked.places()}

    looked.forget()
    assert listed() == []
    assert str(path.parent) in seen()
    path.write_bytes(copy)
    assert any("tiny@" in line for line in listed())
    looked.forget()
    assert any("tiny@" in line for line in listed())  # by what was stored
    assert str(path.parent) in seen()
    path.unlink()
    assert listed() == []


def test_problems_are_told_each_time(kernel: Kernel, tmp_path: Path) -> None:
    (tmp_path / "modules/kernel/fs/one.ko").write_bytes(b"rubbish")
    for _ in range(2):
        info = info_of(kernel, tmp_path)
        assert isinstance(units(info, "*"), Opened)
        assert info.warnings


def test_servers_are_asked_one_by_one(
    kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEBUGINFOD_URLS", "http://127.0.0.1:1")
    assert isinstance(units(info_of(kernel, tmp_path), "*"), Opened)


def test_what_is_cut_off_is_opened_instead(kernel: Kernel, tmp_path: Path) -> None:
    info = info_of(kernel, tmp_path)
    assert isinstance(units(info, "*"), Stored)
    cache = Cache(tmp_path / "cache")
    for path in (tmp_path / "cache/debuginfo").glob("*/*"):
        if path.suffix != ".sum":
            cache.put_bytes("debuginfo", path.name, path.read_bytes()[:40])
    found = units(info_of(kernel, tmp_path), "*")
    assert isinstance(found, Opened)
    assert sorted(filter(None, found.names())) == ["fuse_x", "one"]
