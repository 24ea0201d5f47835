"""Files that places are in, and what stands at their paths later."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stapy.run import looks, replaced
from stapy.run.replaced import Replacements
from stapy.run.signals import Signals
from tests.debuginfo.user.sources import compiled, has_mapped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from stapy.run.ground.manifest import Manifest, ProgramFile


def manifest(*paths: Path | str, identity: str = "build-id:12") -> Manifest:
    row: ProgramFile = {"optional": False, "identity": identity}
    return {"files": {str(path): row for path in paths}}


_watched: list[Replacements] = []


@pytest.fixture(autouse=True)
def nobody_is_left() -> Iterator[None]:
    """Let those who look end with the test that asked them."""
    yield
    while _watched:
        _watched.pop().end()


def watch(files: Manifest) -> tuple[Replacements, list[str]]:
    told: list[str] = []
    _watched.append(Replacements(files, 0, told.append))
    return _watched[-1], told


def put(path: Path, text: str) -> None:
    """Replace a file as package managers do."""
    other = path.with_suffix(".new")
    other.write_text(text)
    other.replace(path)


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_each_is_told_once(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("1"), two.write_text("2")
    files, told = watch(manifest(one, two))
    files.look()
    assert told == []
    put(one, "new")
    two.unlink()
    files.look()
    assert told == [
        f"'{one}' was replaced while the session ran: what is run from the new file is not probed",
        f"'{two}' was removed while the session ran: what is run from a file that has taken its"
        " place is not probed",
    ]
    assert files.patience is None
    files.look()
    assert len(told) == 2


def test_the_new_build_is_named(tmp_path: Path) -> None:
    program = tmp_path / "python"
    program.write_text("old")
    files, told = watch(manifest(program))
    (tmp_path / "new").write_bytes(Path("/proc/self/exe").read_bytes())
    (tmp_path / "new").replace(program)
    files.look()
    assert "what is run from the new file (build-id " in told[0]


@pytest.mark.parametrize("how", ["written", "linked", "touched"])
def test_what_is_still_that_file(tmp_path: Path, how: str) -> None:
    program = tmp_path / "program"
    program.write_text("old")
    files, told = watch(manifest(program))
    if how == "written":
        program.write_text("new")
    elif how == "linked":
        (tmp_path / "other").hardlink_to(program)
        (tmp_path / "other").replace(program)
    else:
        os.utime(program, (1, 1))
    files.look()
    assert told == []


def test_what_goes_on_by_its_name_or_is_of_one_process(tmp_path: Path) -> None:
    """Lives are those of the new file as well; the file of a process is what that runs."""
    program = tmp_path / "program"
    program.write_text("old")
    address = next(os.scandir("/proc/self/map_files")).name
    for rows in (
        manifest(program, identity=""),
        manifest("/proc/self/exe"),
        manifest(f"/proc/self/map_files/{address}"),
        manifest("/nowhere"),
    ):
        files, told = watch(rows)
        put(program, "new")
        files.look()
        assert (told, files.patience) == ([], None)


def test_looks_come_from_time_to_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "program"
    program.write_text("old")
    files, told = watch(manifest(program))
    put(program, "new")
    files.serve()
    assert told == []
    assert files.patience is not None
    assert 0 < files.patience <= replaced.INTERVAL * 1000 + 1
    monkeypatch.setattr(files, "_next", 0.0)
    assert files.patience == 1
    files.serve()
    assert select.select([files.fd], [], [], 20)[0]
    files.serve()
    assert len(told) == 1
    files.end()
    assert files.fd == -1


@pytest.fixture
def dead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a folder whose file system does not answer, on a device of its own."""
    folder, real = tmp_path / "dead", looks.look
    folder.mkdir()

    def look(path: str, known: tuple[int, int] | None) -> tuple[int, int] | None:
        if not path.startswith(str(folder)):
            return real(path, known)
        if known is None:
            return 0xDEAD, 1
        time.sleep(1000)
        raise AssertionError("it has answered")

    monkeypatch.setattr(looks, "look", look)
    return folder


def test_a_file_system_that_does_not_answer_holds_nobody_up(
    tmp_path: Path, dead: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files are told of once, and given up; the others are looked at as before."""
    monkeypatch.setattr(replaced, "WAITING", 0.1)
    other = tmp_path / "other"
    other.write_text("old")
    files, told = watch(manifest(dead / "one", dead / "two", other))
    put(other, "new")
    for _ in range(4):
        monkeypatch.setattr(files, "_next", 0.0)
        began = time.monotonic()
        files.serve()
        assert time.monotonic() - began < 5
        time.sleep(0.2)
    wait_for(lambda: not files.serve() and len(told) == 2)  # type: ignore[func-returns-value]
    assert told == [
        f"whether '{dead}/one' is replaced is not known: its file system does not answer",
        f"'{other}' was replaced while the session ran: what is run from the new file is not"
        " probed",
    ]
    assert files.patience is None
    files.end()
    wait_for(lambda: not files.serve() and not files._lost)  # type: ignore[func-returns-value]


def test_a_session_ends_beside_a_file_system_that_does_not_answer(
    dead: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replaced, "AT_END", 0.2)
    files, told = watch(manifest(dead / "one"))
    files.look()
    assert told == [
        f"whether '{dead}/one' is replaced is not known: its file system has not answered within "
        "0 seconds"
    ]
    assert files.elsewhere() == []
    files.end()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_interrupt_ends_the_last_look_at_once(dead: Path, number: int) -> None:
    """The first one has ended the session; nobody is told of files that he did not wait for."""
    files, told = watch(manifest(dead / "one"))
    with Signals() as signals:
        os.kill(os.getpid(), signal.SIGINT)
        wait_for(lambda: signals.drain() is None and signals.take() == [signal.SIGINT])  # type: ignore[func-returns-value]
        files.hurry_by(signals.wake, signals.asks_to_end)
        second = threading.Timer(0.3, os.kill, (os.getpid(), number))
        second.start()
        began = time.monotonic()
        files.look()
        assert files.elsewhere() == []
        assert time.monotonic() - began < replaced.AT_END - 1
        second.join()
    assert told == []
    assert files.fd == -1, "who looks was left behind"


def test_other_signals_do_not_end_the_last_look(
    dead: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replaced, "AT_END", 1.0)
    files, told = watch(manifest(dead / "one"))
    with Signals() as signals:
        files.hurry_by(signals.wake, signals.asks_to_end)
        os.kill(os.getpid(), signal.SIGUSR2)
        os.kill(os.getpid(), signal.SIGCHLD)
        files.look()
    assert len(told) == 1 and "has not answered within" in told[0]


def test_a_path_that_cannot_be_looked_at_hides_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for path in (one, two):
        path.write_text("old")
    files, told = watch(manifest(one, two))
    change = looks.change

    def fail(path: str, known: tuple[int, int]) -> str | None:
        if path == str(one):
            raise ValueError
        return change(path, known)

    monkeypatch.setattr(looks, "change", fail)
    two.unlink()
    files.look()
    assert len(told) == 1 and str(two) in told[0]
    files.end()


def test_who_was_stopped_has_not_waited(dead: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An hour between two steps of the loop says nothing of the file system."""
    files, told = watch(manifest(dead / "one"))
    monkeypatch.setattr(files, "_next", 0.0)
    files.serve()
    monkeypatch.setattr(files, "_since", time.monotonic() - 3600)
    files.serve()
    assert told == []
    assert files.patience == 1000
    files.end()


def test_who_looks_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one looks next time."""
    program = tmp_path / "program"
    program.write_text("old")
    files, told = watch(manifest(program))
    files.look()
    assert files._looker
    os.kill(files._looker.pid, signal.SIGKILL)
    wait_for(lambda: not files.serve() and files.fd == -1)  # type: ignore[func-returns-value]
    put(program, "new")
    files.look()
    assert len(told) == 1
    files.end()


def test_programs_that_are_run_from_elsewhere(tmp_path: Path) -> None:
    """Not told of a file that somebody runs, or of a name that nobody runs."""
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
        for program in ("sleeps", "waits"):
            shutil.copy("/bin/sleep", folder / program)
    files, _ = watch(manifest(*here.iterdir()))
    assert files.elsewhere() == []
    with (
        subprocess.Popen([there / "sleeps", "60"]) as one,
        subprocess.Popen([there / "waits", "60"]) as two,
        subprocess.Popen([here / "waits", "60"]) as three,
    ):
        nobody = f"nobody has '{here}/sleeps' in memory; process {one.pid} has "
        try:
            has_mapped(two.pid, there / "waits")
            has_mapped(three.pid, here / "waits")
            wait_for(lambda: files.elsewhere() == [f"{nobody}'{there}/sleeps'"])
            (there / "sleeps").unlink()
            assert files.elsewhere() == [
                f"{nobody}one that was deleted: process({one.pid}) means what that has"
            ]
        finally:
            for process in (one, two, three):
                process.kill()


def test_files_of_one_name(tmp_path: Path) -> None:
    """None of them is another one for the rest."""
    for name in ("one", "two", "other\n\033[2J"):
        (tmp_path / name).mkdir()
        shutil.copy("/bin/sleep", tmp_path / name / "sleeps")
    one, two, third = (tmp_path / name / "sleeps" for name in ("one", "two", "other\n\033[2J"))
    files, _ = watch(manifest(one, two))
    with subprocess.Popen([one, "60"]) as process:
        try:
            has_mapped(process.pid, one)
            assert files.elsewhere() == []
        finally:
            process.kill()
    with subprocess.Popen([third, "60"]) as process:
        told = f"in memory; process {process.pid} has '{tmp_path}/other\\012\\033[2J/sleeps'"
        try:
            has_mapped(process.pid, f"{tmp_path}/other\\012\033[2J/sleeps")
            assert files.elsewhere() == [f"nobody has '{path}' {told}" for path in (one, two)]
        finally:
            process.kill()


def test_not_everybody_can_be_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By who may not look at others' processes, or where there are too many."""
    shutil.copy("/bin/sleep", tmp_path / "sleeps")
    (tmp_path / "own").mkdir()
    shutil.copy("/bin/sleep", tmp_path / "own" / "sleeps")
    files, _ = watch(manifest(tmp_path / "own" / "sleeps"))
    with subprocess.Popen([tmp_path / "sleeps", "60"]) as process:
        try:
            wait_for(lambda: len(files.elsewhere()) == 1)
            with monkeypatch.context() as patch:
                patch.setattr(looks, "PATIENCE", -1.0)
                files.end()
                assert files.elsewhere() == []
            look, ours = looks._code_of, str(os.getpid())

            def code_of(pid: str, names: list[bytes]) -> list[tuple[int, str]]:
                if pid == ours:
                    raise PermissionError
                return look(pid, names)

            monkeypatch.setattr(looks, "_code_of", code_of)
            monkeypatch.setattr(os, "geteuid", lambda: 1000)
            files.end()
            (told,) = files.elsewhere()
            assert told.startswith("nobody of yours has ")
        finally:
            process.kill()


@pytest.mark.parametrize("failure", [PermissionError(13, "no"), OSError(5, "no")])
def test_what_cannot_be_looked_at_was_not_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: OSError
) -> None:
    program = tmp_path / "program"
    program.write_text("old")
    files, told = watch(manifest(program))

    def fail(path: str) -> int:
        raise failure

    with monkeypatch.context() as patch:
        patch.setattr(looks.inside, "open_path", fail)
        files.look()
        files.end()
    assert told == []
    program.unlink()
    files.look()
    assert len(told) == 1


LOADS = "import ctypes, sys; ctypes.CDLL(sys.argv[1]); print(flush=True); input()"


def test_libraries_that_are_loaded_from_elsewhere(tmp_path: Path) -> None:
    """Whatever the numbers behind the one that the loader knows; another one is another library."""
    (tmp_path / "own").mkdir()
    text = "int own = 1; int get(void) { return own; }"
    first, _, third = paths = [
        compiled(tmp_path, text, "-shared", "-fPIC", name=name)
        for name in ("libown.so.1.2", "libown.so.2.0", "own/libown.so.1.9")
    ]
    files, _ = watch(manifest(*paths[:2]))
    words = [sys.executable, "-c", LOADS, str(third)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        assert files.elsewhere() == [
            f"nobody has '{first}' in memory; process {process.pid} has '{third}'"
        ]
        process.communicate(b"\n")


def test_a_program_of_another_mount_namespace(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    shutil.copy("/bin/sleep", place / "sleeps")
    files, _ = watch(manifest(place / "sleeps"))
    words = f"mount -t tmpfs none {place} && cp /bin/sleep {place}/sleeps && exec {place}/sleeps 60"
    with subprocess.Popen(["unshare", "-m", "sh", "-c", words], stderr=subprocess.PIPE) as process:
        try:
            until = time.monotonic() + 20
            while process.poll() is None and not files.elsewhere() and time.monotonic() < until:
                time.sleep(0.05)
            if process.poll() is not None:
                pytest.skip("no mount namespace may be made here")
            assert files.elsewhere() == [
                f"nobody has '{place}/sleeps' in memory; process {process.pid} has that of its own"
                f" mount namespace: --target-namespaces={process.pid} means that"
            ]
        finally:
            process.kill()
