"""``stapy dtrace --install``: the command that builds of other programs find in ``$PATH``."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from stapy.debuginfo.user import sdt
from stapy.debuginfo.user.file import UserFile
from stapy.paths import data_dir
from stapy.tools import dtrace, entry
from tests.tools.test_dtrace import PROGRAM, PROVIDERS

# What the makefiles of PostgreSQL, Perl and Ruby do, with the objects behind -G.
BUILD = """
set -e
command -v dtrace
echo 'BEGIN{}' > conftest.d
dtrace -G -s conftest.d -o conftest.o 2> /dev/null
dtrace -C -h -s shop.d -o shop.h
cc $CPPFLAGS -c shop.c -o shop.o
dtrace -C -G -s shop.d shop.o -o counters.o
cc shop.o counters.o conftest.o -o shop
./shop
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "it's a bin"
    folder.mkdir()
    return folder


def test_a_program_is_built_by_it(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files in the folder of the build that have names of modules are none of its own."""
    if shutil.which("cc") is None:
        pytest.skip("needs a compiler")
    assert dtrace.main(["--install", str(folder)]) == 0
    told = capsys.readouterr()
    assert told.out == f"{folder}/dtrace\n"
    assert f"sys/sdt.h is in {data_dir('include')}" in told.err
    assert "into $PATH" in told.err
    place = tmp_path / "build"
    place.mkdir()
    for name, text in (("shop.d", PROVIDERS), ("shop.c", PROGRAM)):
        (place / name).write_text(text)
    for name in ("re.py", "stapy.py", "dtrace", "usercustomize.py"):
        (place / name).write_text("raise SystemExit('taken from the folder of the build')\n")
    environment = {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "CPPFLAGS": f"-I{data_dir('include')}",
        "PYTHONPATH": str(place),
    }
    done = subprocess.run(
        ["sh", "-c", BUILD], cwd=place, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{folder}/dtrace\n"
    marks = sdt.marks(UserFile.open(place / "shop"), pytest.fail)
    assert {row.name for row in marks} >= {"opened", "sold__out", "price__changed", "closed"}
    assert all(row.semaphore for row in marks)


def test_it_is_made_anew_and_found(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(folder))
    for _ in range(2):
        assert dtrace.main(["--install", str(folder)]) == 0
        assert "$PATH" not in capsys.readouterr().err
        assert os.access(folder / "dtrace", os.X_OK)


def test_its_path_is_told_from_the_root(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    assert dtrace.main(["--install", "."]) == 0
    told = capsys.readouterr()
    assert told.out == f"{folder}/dtrace\n"
    assert f"DTRACE={folder}/dtrace" in told.err


@pytest.mark.parametrize("name", ["create", "replace"])
def test_a_link_in_its_place_is_not_followed(
    name: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be put there right behind us; the mode is that of the file that was written."""
    place, other = folder / "dtrace", tmp_path / "other"
    other.write_text("")
    other.chmod(0o600)
    if name == "replace":
        assert dtrace.main(["--install", str(folder)]) == 0
        place.chmod(0o644)
    made = getattr(entry, name)
    modes = []

    def written(path: Path, *words: Any) -> None:
        made(path, *words)
        modes.append(path.stat().st_mode & 0o777)
        path.unlink()
        path.symlink_to(other)

    monkeypatch.setattr(entry, name, written)
    dtrace.main(["--install", str(folder)])
    assert modes == [0o755]
    assert other.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("kind", ["program", "empty", "folder", "link", "dangling", "own link"])
def test_what_is_not_ours_stays(
    kind: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place, other = folder / "dtrace", tmp_path / "other"
    other.write_text("#!/usr/bin/python3\nprint('systemtap')\n")
    if kind in ("program", "empty"):
        place.write_text(other.read_text() if kind == "program" else "")
    elif kind == "folder":
        place.mkdir()
    else:
        if kind == "own link":
            other.unlink()
            assert dtrace.main(["--install", str(tmp_path)]) == 0
            (tmp_path / "dtrace").rename(other)
        place.symlink_to(tmp_path / "nothing" if kind == "dangling" else other)
    before = other.read_text()
    assert dtrace.main(["--install", str(folder)]) == 1
    assert "is not stapy's, and stays" in capsys.readouterr().err
    assert other.read_text() == before
    assert not (tmp_path / "nothing").exists()
