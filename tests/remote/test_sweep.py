"""What a killed command left in /tmp goes when the next one starts; nothing else does."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from stapy.remote import sweep
from tests.program import run_stapy


@pytest.fixture
def dead() -> int:
    """Return the number of a process that is no more."""
    with subprocess.Popen([sys.executable, "-S", "-c", ""]) as done:
        pass
    return done.pid


def folder(below: Path, pid: int, *, mode: int = 0o700, age: float = 100) -> Path:
    place = below / f"stapy-ssh-{pid}-0123456789ab"
    place.mkdir()
    place.chmod(mode)
    when = place.stat().st_mtime - age
    os.utime(place, (when, when))
    return place


def old(place: Path) -> None:
    os.utime(place, (1, 1))


def test_what_is_left_goes(tmp_path: Path, dead: int) -> None:
    place = folder(tmp_path, dead)
    with socket.socket(socket.AF_UNIX) as ended:
        ended.bind(str(place / "0"))
    old(place)
    sweep.sweep(tmp_path)
    assert not place.exists()


def test_a_connection_that_is_used_stays(tmp_path: Path, dead: int) -> None:
    place = folder(tmp_path, dead)
    with socket.socket(socket.AF_UNIX) as ended, socket.socket(socket.AF_UNIX) as alive:
        ended.bind(str(place / "0"))
        alive.bind(str(place / "1"))
        alive.listen(1)
        ended.close()
        old(place)
        sweep.sweep(tmp_path)
        assert {path.name for path in place.iterdir()} == {"0", "1"}
    old(place)
    sweep.sweep(tmp_path)
    assert not place.exists()


@pytest.mark.parametrize("what", ["living", "fresh", "open", "file", "name", "link"])
def test_what_is_none_of_it_stays(what: str, tmp_path: Path, dead: int) -> None:
    place = folder(
        tmp_path,
        os.getpid() if what == "living" else dead,
        mode=0o755 if what == "open" else 0o700,
        age=0 if what == "fresh" else 100,
    )
    if what == "file":
        (place / "kept").touch()
        old(place)
    elif what == "name":
        place = place.rename(tmp_path / f"stapy-ssh-{dead}-mine")
    elif what == "link":
        place = place.rename(tmp_path / "elsewhere")
        (tmp_path / f"stapy-ssh-{dead}-0123456789ab").symlink_to(place)
    sweep.sweep(tmp_path)
    assert place.is_dir()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives folders away")
def test_those_of_others_stay(tmp_path: Path, dead: int) -> None:
    place = folder(tmp_path, dead)
    os.chown(place, 65534, 65534)
    sweep.sweep(tmp_path)
    assert place.is_dir()


def test_a_name_of_ours_is_known() -> None:
    match = sweep._NAME.fullmatch(sweep.folder_name())
    assert match
    assert int(match[1]) == os.getpid()


def test_a_command_begins_with_it(dead: int) -> None:
    """In the very /tmp, where it looks."""
    place = folder(Path("/tmp"), dead)
    try:
        words = ["--remote=direct://", "--remote-prefix", "-p1", "-e", "probe begin { exit() }"]
        done = run_stapy(*words)
        assert "Traceback" not in done.stderr
        assert not place.exists(), done.stderr
    finally:
        if place.exists():
            place.rmdir()


def test_nothing_to_look_at(tmp_path: Path) -> None:
    sweep.sweep(tmp_path / "nowhere")
