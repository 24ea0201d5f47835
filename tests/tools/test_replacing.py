"""Files of ``-o`` and of `stapy fmt`: what stands there gives way wholly, or not at all."""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from stapy.tools.replacing import WriteError, replace, written


@pytest.fixture(autouse=True)
def _there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(name: str, text: str = "new\n") -> None:
    with written(name) as put:
        put(text)


def names() -> list[str]:
    return sorted(path.name for path in Path().iterdir())


def test_a_new_file_has_the_mode_of_new_files() -> None:
    write("log")
    Path("other").write_text("")
    assert Path("log").read_text() == "new\n"
    assert Path("log").stat().st_mode == Path("other").stat().st_mode
    assert names() == ["log", "other"]


def test_a_file_keeps_mode_owner_and_links() -> None:
    Path("log").write_text("old")
    Path("log").chmod(0o640)
    if os.geteuid() == 0:
        os.chown("log", 1234, 1234)
    before = Path("log").stat()
    Path("link").symlink_to("log")
    write("link")
    after = Path("log").stat()
    assert Path("link").is_symlink() and Path("log").read_text() == "new\n"
    assert (after.st_mode, after.st_uid) == (before.st_mode, before.st_uid)
    replace(Path("link"), b"newer")
    again = Path("log").stat()
    assert Path("link").is_symlink() and Path("log").read_text() == "newer"
    assert (again.st_mode, again.st_uid) == (before.st_mode, before.st_uid)


def test_a_link_to_nothing_yet() -> None:
    Path("link").symlink_to("log")
    write("link")
    assert Path("link").is_symlink() and Path("log").read_text() == "new\n"


@pytest.mark.parametrize("is_there", [True, False])
def test_after_an_error_nothing_has_changed(is_there: bool) -> None:
    if is_there:
        Path("log").write_text("old")
    before = names()
    with pytest.raises(KeyError), written("log") as put:
        put("half")
        raise KeyError
    assert names() == before
    assert not is_there or Path("log").read_text() == "old"


def test_names_as_long_as_can_be() -> None:
    name = "n" * 255
    write(name)
    replace(Path(name), b"newer")
    assert names() == [name] and Path(name).read_text() == "newer"


def test_a_pipe_gets_the_text_at_once() -> None:
    os.mkfifo("pipe")
    came: list[str] = []
    reader = threading.Thread(target=lambda: came.append(Path("pipe").read_text()))
    reader.start()
    write("pipe", "x" * 200_000)
    reader.join(60)
    assert came == ["x" * 200_000] and stat.S_ISFIFO(Path("pipe").stat().st_mode)


def test_a_file_that_is_open_here_stays_the_same() -> None:
    """As /dev/stdout below ``> log``: lines that go there by standard output are not lost."""
    with Path("log").open("w") as file:
        number = Path("log").stat().st_ino
        write(f"/dev/fd/{file.fileno()}")
    assert (Path("log").stat().st_ino, Path("log").read_text()) == (number, "new\n")


def test_a_pipe_by_its_number() -> None:
    read, out = os.pipe()
    write(f"/dev/fd/{out}")
    assert os.read(read, 99) == b"new\n"
    os.close(read)
    os.close(out)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("gone/log", "No such file or directory"),
        (".", "Is a directory"),
        ("", "No such file or directory"),
        ("gone/", "No such file or directory"),
        ("/dev/full", "No space left on device"),
        ("n" * 256, "File name too long"),
        ("loop", "Too many levels of symbolic links"),
    ],
)
def test_what_cannot_be_written(name: str, why: str) -> None:
    Path("loop").symlink_to("loop")
    with pytest.raises(WriteError) as error:
        write(name)
    assert str(error.value) == f"'{name}' cannot be written: {why}"
    assert names() == ["loop"]


def _as_nobody(name: str) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            write(name)
            os._exit(0)
        except WriteError:
            os._exit(1)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_folders_and_files_that_are_others(tmp_path: Path) -> None:
    for one in (tmp_path, *list(tmp_path.parents)[:3]):
        one.chmod(one.stat().st_mode | 0o055)
    Path("theirs").write_text("old")
    os.chown("theirs", 65534, 65534)
    number = Path("theirs").stat().st_ino
    assert _as_nobody("theirs") == 0  # the folder takes no other file: this one is emptied
    assert (Path("theirs").stat().st_ino, Path("theirs").read_text()) == (number, "new\n")
    Path("ours").write_text("old")
    assert _as_nobody("ours") == 1 and Path("ours").read_text() == "old"
    tmp_path.chmod(0o777)
    assert _as_nobody("ours") == 1 and Path("ours").read_text() == "old"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_links_that_others_planted_are_not_followed(tmp_path: Path) -> None:
    Path("target").write_text("old")
    Path("open").mkdir()
    Path("open").chmod(0o1777)
    Path("open/log").symlink_to(tmp_path / "target")
    os.lchown("open/log", 65534, 65534)
    with pytest.raises(WriteError):
        write("open/log")
    assert Path("target").read_text() == "old"


def put_by_replace(name: str) -> None:
    replace(Path(name), b"new\n")


BOTH = pytest.mark.parametrize("put", [write, put_by_replace])


@BOTH
def test_a_second_name_has_the_new_text(put: Callable[[str], None]) -> None:
    Path("log").write_text("old, and longer")
    os.link("log", "other")
    put("log")
    assert Path("other").read_text() == "new\n" and Path("other").samefile("log")
    assert names() == ["log", "other"]


@BOTH
@pytest.mark.parametrize("lack", ["fchown", "setxattr"])
def test_a_file_is_not_taken_from_its_owner(
    put: Callable[[str], None], lack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who may write to it but may not make another like it writes to it."""

    def refuse(*words: object) -> None:
        raise PermissionError(errno.EPERM, "no")

    Path("log").write_text("old, and longer")
    try:
        os.setxattr("log", "user.what", b"kept")
    except OSError:
        pytest.skip("this file system has no attributes")
    number = Path("log").stat().st_ino
    monkeypatch.setattr(os, lack, refuse)
    put("log")
    assert (Path("log").stat().st_ino, Path("log").read_text()) == (number, "new\n")
    assert names() == ["log"]


@BOTH
def test_attributes_stay(put: Callable[[str], None]) -> None:
    Path("log").write_text("old")
    try:
        os.setxattr("log", "user.what", b"kept")
    except OSError:
        pytest.skip("this file system has no attributes")
    number = Path("log").stat().st_ino
    put("log")
    assert Path("log").stat().st_ino != number
    assert os.getxattr("log", "user.what") == b"kept"


@BOTH
def test_the_text_is_on_the_disk_before_the_old_one_goes(
    put: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    sync, move = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (done.append("fsync"), sync(fd)))
    monkeypatch.setattr(os, "replace", lambda *paths: (done.append("replace"), move(*paths)))
    Path("log").write_text("old")
    put("log")
    assert done == ["fsync", "replace"]
