"""Debug files from a server, here a local one."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from stapy.debuginfo import looked
from stapy.debuginfo.dwarf.files import debuginfod
from stapy.debuginfo.dwarf.files.debuginfod import fetch, servers
from tests.debuginfo.server import Server

from ..elfwriter import ElfWriter
from .test_relocatable import world

ID = bytes(range(20)).hex()
OTHER = "ff" * 20


def elf(build_id: str) -> bytes:
    e = ElfWriter(2)
    e.note("GNU", 3, bytes.fromhex(build_id))
    return e.data()


def nothing(_: str) -> None:
    pass


def test_a_file_is_fetched_once(server: Server, tmp_path: Path) -> None:
    server.serve(ID, elf(ID))
    notices: list[str] = []
    for _ in range(2):
        path, problems = fetch(ID, "the kernel", notices.append)
        assert (path, problems) == (tmp_path / "fetched" / ID / "debuginfo", [])
        assert path is not None and path.read_bytes() == elf(ID)
    assert server.asked == [f"/buildid/{ID}/debuginfo"]
    assert len(notices) == 1 and "debug information of the kernel from http://" in notices[0]
    assert [p.name for p in (tmp_path / "fetched" / ID).iterdir()] == ["debuginfo"]


def test_lines_about_progress_are_for_who_asks(
    server: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """In a file they are lines; without the variable there are none."""
    monkeypatch.setattr(debuginfod, "_LINE_SECONDS", 0)
    server.serve(ID, elf(ID))
    fetch(ID, "the kernel", nothing)
    assert capfd.readouterr().err == ""
    (tmp_path / "fetched" / ID / "debuginfo").unlink()
    monkeypatch.setenv("DEBUGINFOD_PROGRESS", "1")
    fetch(ID, "the kernel", nothing)
    first, *more, last = capfd.readouterr().err.splitlines()
    assert first.startswith("stapy: fetching the debug information of the kernel from http://")
    assert more == ["stapy: 0 of 0 MB"]
    assert last == "stapy: 0 MB fetched"


def test_what_no_server_has_is_not_asked_for_again(server: Server) -> None:
    ends = list[float]()
    for _ in range(2):
        looked.forget()
        assert fetch(ID, "the kernel", nothing) == (None, [])
        ends.append(looked.missing()[ID])
    assert len(server.asked) == 1
    # What is made of that answer is kept as long as it counts.
    assert time.time() + 500 < ends[0] <= ends[1] + 1 <= time.time() + 602
    assert not looked.places()  # the mark of what is missing is no debug file


def test_nothing_is_fetched_unless_servers_are_named(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.serve(ID, elf(ID))
    monkeypatch.setenv("DEBUGINFOD_URLS", "ftp://no.such.kind /nor/this")
    assert servers() == []
    assert fetch(ID, "the kernel", nothing) == (None, [])
    monkeypatch.delenv("DEBUGINFOD_URLS")
    assert fetch(ID, "the kernel", nothing) == (None, [])
    assert not server.asked


def test_the_second_server_has_it(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = tmp_path / "second" / "buildid" / ID
    second.mkdir(parents=True)
    (second / "debuginfo").write_bytes(elf(ID))
    urls = f"{server.url} file://{tmp_path}/nothing file://{tmp_path}/second"
    monkeypatch.setenv("DEBUGINFOD_URLS", urls)
    path, problems = fetch(ID, "the kernel", nothing)
    assert path is not None and not problems
    assert len(server.asked) == 1


def too_large(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.serve(ID, elf(ID))
    monkeypatch.setenv("DEBUGINFOD_MAXSIZE", "10")


def another_build(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.serve(ID, elf(OTHER))


def no_elf(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.serve(ID, b"<html>Please log in</html>" * 9)


def cut_off(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.serve(ID, elf(ID))
    server.cut = 100


def out_of_order(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.status = 503


def gone(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.close()
    server.close = lambda: None  # type: ignore[method-assign]


@pytest.mark.parametrize(
    ("trouble", "why"),
    [
        (too_large, "more than DEBUGINFOD_MAXSIZE"),
        (another_build, f"the file has build-id '{OTHER}', asked for was {ID}"),
        (no_elf, "not an ELF file"),
        (cut_off, "broken answer|the answer ends after"),
        (out_of_order, "the server says 503"),
        (gone, "Connection refused"),
    ],
)
def test_trouble(
    server: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    trouble: Callable[[Server, pytest.MonkeyPatch], None],
    why: str,
) -> None:
    trouble(server, monkeypatch)
    path, problems = fetch(ID, "the kernel", nothing)
    assert path is None
    assert len(problems) == 1 and problems[0].startswith(f"{server.url}/buildid/{ID}")
    assert re.search(why, problems[0])
    folder = tmp_path / "fetched" / ID
    assert not folder.exists() or not list(folder.iterdir())  # nothing half done stays


@pytest.mark.parametrize("number", ["inf", "nan", "-1", "1e30", "1e400"])
def test_numbers_that_no_clock_and_no_file_has(
    server: Server, monkeypatch: pytest.MonkeyPatch, number: str
) -> None:
    monkeypatch.setenv("DEBUGINFOD_TIMEOUT", number)
    monkeypatch.setenv("DEBUGINFOD_MAXSIZE", number)
    server.serve(ID, elf(ID))
    path, problems = fetch(ID, "the kernel", nothing)
    assert path is not None and problems == []


def test_patience_has_an_end(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEBUGINFOD_TIMEOUT", "0.1")
    server.serve(ID, elf(ID))
    server.delay.clear()
    path, problems = fetch(ID, "the kernel", nothing)
    assert path is None and len(problems) == 1 and "timed out" in problems[0]


def test_places_of_a_module_from_a_server(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = world(tmp_path, monkeypatch, "elsewhere/sample.ko")
    found = info.module("sample")
    assert found is not None
    whole = tmp_path / "debug/elsewhere/sample.ko"
    server.serve(found.build_id, whole.read_bytes())
    whole.unlink()
    (site,) = info.places("leaf@sample.c", "sample").sites
    assert site.module == "sample" and site.source == "DWARF"
    assert info.dwarf is None  # the kernel's is nowhere


def test_what_is_nice_to_have_is_not_fetched(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = world(tmp_path, monkeypatch, "elsewhere/sample.ko")
    assert not info.places("leaf", "sample", download=False).is_available
    assert info.place_of("leaf", "sample") is None
    assert info.type("struct point", ["sample"]) is None
    assert not server.asked
