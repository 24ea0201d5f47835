"""What was translated or listed before, and what makes it worthless."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from stapy.cache import Cache, key_of, results
from stapy.debuginfo import looked
from stapy.debuginfo.dwarf.files import debuginfod
from stapy.debuginfo.dwarf.files.debuginfod import fetch
from stapy.debuginfo.dwarf.files.paths import existing
from stapy.debuginfo.user import processes, questions, search
from stapy.kernel import Kernel
from stapy.kernel.config import Config
from stapy.kernel.exports import Exports
from stapy.kernel.modules import Modules
from stapy.options import Options
from tests.debuginfo.server import Server


@pytest.fixture(autouse=True)
def asked() -> Iterator[None]:
    """Nothing was looked for before, and nothing is known of it afterwards."""
    questions.forget()
    looked.forget()
    yield
    questions.forget()
    looked.forget()


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "a\tb.ko"
    path.write_bytes(b"one")
    return path


@pytest.mark.parametrize("text", ["", 'kernel.function("a")\nb\n', "\udcff\n3\n"])
def test_a_list_comes_back(cache: Cache, module: Path, text: str) -> None:
    assert results.find_list(cache, "k") is None
    results.store_list(cache, "k", text, [module, module.with_name("missing")])
    assert results.find_list(cache, "k") == text


@pytest.mark.parametrize("change", ["rebuilt", "removed", "new"])
def test_a_kernel_module_that_changed(cache: Cache, module: Path, change: str) -> None:
    other = module.with_name("other.ko")
    results.store_list(cache, "k", "list", [module, other])
    results.store(cache, "k", module, "said", [module, other])
    assert results.find(cache, "k") is not None
    if change == "rebuilt":
        module.write_bytes(b"three")
    elif change == "removed":
        module.unlink()
    else:
        other.write_bytes(b"")
    assert results.find_list(cache, "k") is None
    assert results.find(cache, "k") is None


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("change", ["came", "went", "folder", "newline", ""])
def test_a_debug_file_that_comes_or_goes(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, many: bool
) -> None:
    """Wherever one was looked for; of many places the folders are enough."""
    monkeypatch.setattr(looked, "_MANY", 0 if many else 9)
    files = tmp_path / "files"
    (files / "there").mkdir(parents=True)
    debug = files / "there/program.debug"
    places = [debug, files / "a/b/c.debug", files / "there/odd\nname"]
    if change == "went":
        debug.write_text("")
    for folder in (files, files / "there"):
        os.utime(folder, (1, 1))  # a folder that has just changed may do so again, unseen
    assert existing(places) == ([debug] if change == "went" else [])
    results.store_list(cache, "k", "list", [])
    assert results.find_list(cache, "k") == "list"
    if change == "came":
        debug.write_text("")
    elif change == "went":
        debug.unlink()
    elif change == "folder":
        (files / "a/b").mkdir(parents=True)
        (files / "a/b/c.debug").write_text("")
    elif change == "newline":
        places[-1].write_text("")
    assert results.find_list(cache, "k") == (None if change else "list")


@pytest.mark.parametrize("many", [False, True])
def test_a_debug_file_that_comes_while_a_command_runs(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, many: bool
) -> None:
    """What was kept is an answer without it, which is not given again."""
    monkeypatch.setattr(looked, "_MANY", 0 if many else 9)
    debug = tmp_path / "program.debug"
    os.utime(tmp_path, (1, 1))
    assert existing([debug]) == []
    debug.write_text("")
    results.store_list(cache, "k", "list", [])
    assert results.find_list(cache, "k") is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may change a process's root")
def test_links_of_another_root(cache: Cache, tmp_path: Path) -> None:
    """A link there means a place there, where something may come."""
    (tmp_path / "usr").mkdir()
    (tmp_path / "usr/debug").symlink_to("/there")
    lives = "import os, sys; os.chroot(sys.argv[1]); print(flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", lives, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdin and other.stdout
        other.stdout.readline()
        assert existing([Path(f"/proc/{other.pid}/root/usr/debug/f")]) == []
        results.store_list(cache, "k", "list", [])
        assert results.find_list(cache, "k") == "list"
        (tmp_path / "there").mkdir()
        (tmp_path / "there/f").write_text("")
        assert results.find_list(cache, "k") is None
        other.stdin.close()


BUILD = "ab" * 20


@pytest.fixture
def kept(server: Server, cache: Cache, module: Path) -> Callable[[], bool]:
    """Keep a list and a module of a command that found no server with a build; do they hold?"""
    assert fetch(BUILD, "f", lambda _: None) == (None, [])
    results.store_list(cache, "k", "list", [])
    results.store(cache, "k", module, "said", [])

    def holds() -> bool:
        found = results.find_list(cache, "k") is not None
        assert (results.find(cache, "k") is not None) == found
        return found

    return holds


def _later(monkeypatch: pytest.MonkeyPatch, seconds: int) -> None:
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + seconds)


def test_what_no_server_had_is_asked_for_and_not_made_again(
    server: Server, kept: Callable[[], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once in ten minutes, for all that is kept; it holds while the answer is still no."""
    assert kept() and len(server.asked) == 1
    _later(monkeypatch, 601)
    assert kept() and kept() and len(server.asked) == 2


@pytest.mark.parametrize("change", ["a server has it", "no answer", "fetched by others"])
def test_what_no_server_had_may_come(
    server: Server, kept: Callable[[], bool], monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    if change == "fetched by others":
        place = debuginfod._place(BUILD)
        assert place.stat().st_size == 0
        place.write_bytes(b"file")
        assert not kept()
        return
    if change == "a server has it":
        server.serve(BUILD, b"file")
    else:
        server.status = 500
    assert kept() and len(server.asked) == 1
    _later(monkeypatch, 601)
    assert not kept() and len(server.asked) > 1
    assert not debuginfod.is_kept(BUILD)  # nothing is fetched for that
    monkeypatch.delenv("DEBUGINFOD_URLS")
    assert not kept()


def test_a_clock_that_was_set_back(
    server: Server, kept: Callable[[], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody knows how long ago that was: the servers are asked."""
    _later(monkeypatch, -90_000)
    assert kept() and len(server.asked) == 2
    server.status = 500
    _later(monkeypatch, -90_000)
    assert not kept()


@pytest.mark.parametrize("change", ["link", "PATH", "added"])
def test_a_program_that_is_another_one(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    """However the script has spelt the name: what the search was asked counts."""
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "tool").write_text("")
        (tmp_path / name / "tool").chmod(0o755)
    (tmp_path / "link\n").symlink_to("old/tool")
    monkeypatch.setenv("PATH", str(tmp_path / "old"))
    assert search.program("tool") == str(tmp_path / "old/tool")
    assert search.program(str(tmp_path / "link\n")) == str(tmp_path / "old/tool")
    assert search.program("other") is None
    results.store_list(cache, "k", "list", [])
    assert results.find_list(cache, "k") == "list"
    if change == "link":
        (tmp_path / "link\n").unlink()
        (tmp_path / "link\n").symlink_to("new/tool")
    elif change == "PATH":
        monkeypatch.setenv("PATH", str(tmp_path / "new"))
    else:
        (tmp_path / "old/other").symlink_to("tool")
    assert results.find_list(cache, "k") is None


def test_what_asks_for_a_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that a search was asked can be asked again: patterns, processes, first lines."""
    for name in ("one", "two"):
        (tmp_path / name).write_bytes(b"\x7fELF")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "script").write_text("#!one\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    search.programs(f"{tmp_path}/*")
    processes.of_process(os.getpid())
    search.interpreter(str(tmp_path / "script"))
    processes.mapped_at(os.getpid(), 4096)
    known = questions.asked()
    assert len(known) == 5  # with "one"
    assert [questions.answer(question) for question, _ in known] == [told for _, told in known]
    (tmp_path / "script").write_text("#!two\n")
    (tmp_path / "one").unlink()
    changed = [question for question, told in known if questions.answer(question) != told]
    assert [question.split()[0] for question in changed] == ["interpreter", "program", "programs"]


def test_the_program_of_the_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module is another one when -c starts another program, if ``process`` may mean that."""
    for name in ("one", "two"):
        (tmp_path / name).write_bytes(b"")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    def target(text: str, command: str) -> list[str]:
        return list(results._target([("<input>", text)], Options(command=command)))

    inside = '@define p %( process %) probe @p.function("x") { next }'
    assert target(inside, "one 1") != target(inside, "two 1")
    assert target(inside, "one 1") == target(inside, "one 2")
    assert target("probe begin { }", "one") == []


def test_names_do_not_depend_on_c(tmp_path: Path) -> None:
    """What completion keeps is for the same tapsets, whatever modules would be made of."""
    kernel = Kernel(
        release="0.0", version=(0, 0), arch="x86_64", is_running=False, build_dir=None,
        source_dir=None, modules_dir=None, image=None, config=Config([]), exports=Exports(None),
        modules=Modules(None),
    )  # fmt: skip
    runtime, tapsets = tmp_path / "runtime", tmp_path / "tapsets"
    for folder in (runtime, tapsets):
        folder.mkdir()

    def keys() -> tuple[str, str]:
        options = Options(tapset_dirs=[str(tapsets)], runtime_dir=str(runtime))
        return results.key(options, [], kernel), results.names_key(options, kernel)

    module, names = keys()
    (runtime / "a.c").write_text("")
    changed, same = keys()
    assert changed != module and same == names
    (tapsets / "a.stp").write_text("")
    changed_too, new = keys()
    assert changed_too != changed and new != names


def test_a_key_is_the_sum_that_hashlib_has() -> None:
    """Whichever of the interpreter's ways to SHA-256 is taken, old caches stay good."""
    assert key_of(b"ab", "c", 1) == sha256(b"2:ab1:c1:1").hexdigest()
