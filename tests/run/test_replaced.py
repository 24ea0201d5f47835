"""Files that places are in, and what stands at their paths later."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stapy.run import replaced
from stapy.run.replaced import Replacements
from tests.debuginfo.user.sources import compiled

if TYPE_CHECKING:
    from collections.abc import Callable

    from stapy.run.ground.manifest import Manifest, ProgramFile


def manifest(*paths: Path | str, identity: str = "build-id:12") -> Manifest:
    row: ProgramFile = {"optional": False, "identity": identity}
    return {"files": {str(path): row for path in paths}}


def watch(files: Manifest) -> tuple[Replacements, list[str]]:
    told: list[str] = []
    return Replacements(files, 0, told.append), told


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
    assert len(told) == 1


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
            wait_for(lambda: files.elsewhere() == [f"{nobody}'{there}/sleeps'"])
            (there / "sleeps").unlink()
            assert files.elsewhere() == [
                f"{nobody}one that was deleted: process({one.pid}) means what that has"
            ]
        finally:
            for process in (one, two, three):
                process.kill()


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
