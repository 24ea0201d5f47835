"""What is refused before anything is loaded."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stapy.run import beforehand
from stapy.run.errors import RunError
from stapy.run.output import File

MISSING = "No such file or directory"
# Root may do all there, and cannot make a file.
IN_PROC = os.strerror(errno.EACCES if os.geteuid() else errno.ENOENT)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").write_text("x")
    (tmp_path / "sub").mkdir()
    program = tmp_path / "sub" / "program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/sub:/usr/bin:/bin")
    return tmp_path


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("true", ""),
        ("program -x", ""),
        ("sub/program", ""),
        ("nosuch | cat", ""),  # the shell will tell
        ("nosuch-program -l", f"'nosuch-program': {MISSING}"),
        ("./program", f"'./program': {MISSING}"),
        ("./text", "'./text': Permission denied"),
        ("./sub", "'./sub': Permission denied"),
        ("", "the command of -c: it is empty"),
    ],
)
def test_commands(command: str, why: str, folder: Path) -> None:
    if not why:
        beforehand.check(command, None, False)
        return
    with pytest.raises(RunError) as told:
        beforehand.check(command, None, False)
    assert str(told.value) == f"Couldn't start {why}"


@pytest.mark.parametrize(
    ("output", "rotate", "why"),
    [
        ("new", False, ""),
        ("sub/new", True, ""),
        ("text", False, ""),
        ("/dev/null", False, ""),
        ("sub", True, ""),  # that will be sub.0
        ("sub", False, "'sub': Is a directory"),
        ("nosuch/new", False, f"'nosuch/new': {MISSING}"),
        ("/proc/new.svg", False, f"'/proc/new.svg': {IN_PROC}"),
        ("text/new", True, "'text/new.0': Not a directory"),
    ],
)
def test_files(output: str, rotate: bool, why: str, folder: Path) -> None:
    there = sorted(folder.rglob("*"))
    if not why:
        beforehand.check(None, output, rotate)
        assert sorted(folder.rglob("*")) == there  # what was tried is gone
        return
    with pytest.raises(RunError) as told:
        beforehand.check(None, output, rotate)
    assert str(told.value) == f"Couldn't open output file {why}"


def test_names_with_the_time(folder: Path) -> None:
    (folder / time.strftime("%Y")).mkdir()
    beforehand.check(None, "%Y/out", False)
    with pytest.raises(RunError):
        beforehand.check(None, "%Y", False)


def test_processes() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    told = beforehand.target_warning(child.pid)
    assert told == f"there is no process {child.pid}; target() is that number all the same"
    assert beforehand.target_warning(os.getpid()) == ""
    assert beforehand.target_warning(1) == ""
    assert beforehand.target_warning(0) == ""  # without -x


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize(
    ("owner", "mode", "refused"),
    [
        (12345, 0o1777, "of another user stands there"),
        (12345, 0o755, ""),
        (0, 0o1777, ""),
        (0, 0o777, "where all may replace it"),
    ],
)
def test_links_of_others_are_not_followed(
    owner: int, mode: int, refused: str, folder: Path
) -> None:
    """Refuse such links, as the kernel's fs.protected_symlinks does, which need not be on."""
    shared = folder / "shared"
    shared.mkdir()
    shared.chmod(mode)
    for name in ("link", "file"):
        (folder / f"target-{name}").write_text("keep")
    (shared / "link").symlink_to("../target-link")
    (shared / "file").hardlink_to(folder / "target-file")
    for name in ("link", "file"):
        os.chown(shared / name, owner, owner, follow_symlinks=False)
        if name == "file" and owner == 0:  # who gave it that name is not known
            refused = "a file with other names stands there"
        if refused:
            with pytest.raises(RunError, match=refused):
                beforehand.check(None, f"{shared}/{name}", False)
            with pytest.raises(RunError, match=refused):
                File(f"{shared}/{name}")
        else:
            File(f"{shared}/{name}").close()
        kept = (folder / f"target-{name}").read_text()
        assert kept == ("keep" if refused else "")
