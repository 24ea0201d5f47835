"""Folders and files that other users can change are not believed."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from stapy import cli, paths, trust
from stapy.cache import Cache
from stapy.options import Options
from stapy.session import Session, modules
from stapy.temporary import scratch_root

HIS = 12345  # another user
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tmp_path.chmod(0o755)
    made = tmp_path / "home" / "cache"
    made.mkdir(parents=True)
    (tmp_path / "link").symlink_to("home")
    return made


def give(path: Path) -> None:
    os.chown(path, HIS, HIS, follow_symlinks=False)


def test_what_is_ours_is_believed(folder: Path) -> None:
    for path in (folder, folder / "not/yet/there", folder.parents[1] / "link" / "cache"):
        assert trust.why_untrusted(path) == ""


def test_what_others_can_make_first(folder: Path) -> None:
    """Where all may write, what is not there yet is anybody's."""
    folder.chmod(0o1777)
    new = folder / "new" / "cache"
    assert trust.why_untrusted(new) == f"others can make '{folder / 'new'}'"
    assert not new.parent.exists()
    assert trust.made(new) == ""  # from here on only we can make anything
    assert new.parent.stat().st_mode & 0o7777 == 0o700
    assert not new.exists()
    assert trust.why_untrusted(new) == ""
    (folder / "link").symlink_to("target/inner")
    assert trust.made(folder / "link") == ""
    assert (folder / "target").is_dir()


@needs_root
@pytest.mark.parametrize("kind", ["folder", "link"])
def test_another_user_is_first(folder: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look that finds nothing and our making it."""
    folder.chmod(0o1777)
    place = folder / "new"
    mkdir = os.mkdir

    def late(name: str, *rest: int, dir_fd: int | None = None) -> None:
        if name == "new":
            place.symlink_to("/tmp") if kind == "link" else mkdir(place, 0o755)
            give(place)
        mkdir(name, *rest, dir_fd=dir_fd)

    monkeypatch.setattr(os, "mkdir", late)
    monkeypatch.setenv("SYSTEMTAP_DIR", str(place))
    monkeypatch.setattr(trust, "home", lambda: folder.parents[1] / "own")
    assert trust.made(place / "cache") == f"'{place}' belongs to user {HIS}"
    cache = Cache.of(Options())
    assert cache.root == folder.parents[1] / "own" / ".cache" / "stapy"
    assert f"'{place}' belongs to user {HIS}" in paths.cache_place().complaint


@needs_root
@pytest.mark.parametrize("name", ["open", "fstat", "readlink"])
def test_what_cannot_be_looked_at_is_not_believed(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each call fails once, the first, the second, …: nothing is left open or closed twice."""
    real = getattr(os, name)
    path = folder.parents[1] / "link" / "cache"
    link = folder / "whole"
    link.symlink_to(path)  # an absolute one
    opened = len(list(Path("/proc/self/fd").iterdir()))
    for good in range(100):
        left = [good]

        def fail(*words: object, left: list[int] = left, **more: object) -> object:
            if not left[0]:
                left[0] -= 1
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))
            left[0] -= 1
            return real(*words, **more)

        with monkeypatch.context() as patch:
            patch.setattr(os, name, fail)
            told = trust.why_untrusted(link)
        assert len(list(Path("/proc/self/fd").iterdir())) == opened
        if left[0] >= 0:
            break
        assert "Bad file descriptor" in told
    assert (told, good > 1) == ("", True)


def test_what_is_taken_away_again_and_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.chmod(0o1777)
    tries = []
    monkeypatch.setattr(os, "mkdir", lambda *words, **rest: tries.append(words))
    assert trust.made(folder / "new") == f"others can make '{folder / 'new'}'"
    assert 1 < len(tries) < 100


@needs_root
@pytest.mark.parametrize("which", ["home/cache", "home", "."])
def test_folders_of_others(folder: Path, which: str) -> None:
    """Each folder on the way counts."""
    top = folder.parents[1]
    give(top / which)
    assert trust.why_untrusted(folder / "x") == f"'{top / which}' belongs to user {HIS}"


@needs_root
def test_links_of_others(folder: Path) -> None:
    top = folder.parents[1]
    give(top / "link")
    assert "belongs to user" in trust.why_untrusted(top / "link" / "cache")
    give(folder)
    (top / "mine").symlink_to("home/cache/../cache")
    assert "cache' belongs to user" in trust.why_untrusted(top / "mine")
    (top / "round").symlink_to("round")
    assert "without end" in trust.why_untrusted(top / "round")


@pytest.mark.parametrize(
    ("mode", "told"),
    [
        (0o755, ""),
        (0o1777, ""),
        (0o777, "all users may write to"),
        (0o757, "all users may write to"),
    ],
)
def test_modes(folder: Path, mode: int, told: str) -> None:
    folder.parent.chmod(mode)
    found = trust.why_untrusted(folder)
    assert told in found if told else not found


@needs_root
def test_groups(folder: Path) -> None:
    folder.chmod(0o775)
    assert trust.why_untrusted(folder) == ""  # root's own group
    os.chown(folder, 0, HIS)
    assert "may write to" in trust.why_untrusted(folder)


@needs_root
@pytest.mark.parametrize("bad", ["owner", "parent", "mode"])
def test_cache_of_another_user(
    folder: Path, bad: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A planted entry is not found; the cache goes elsewhere; one warning says so."""
    monkeypatch.setenv("SYSTEMTAP_DIR", str(folder.parent))
    monkeypatch.setattr(trust, "home", lambda: folder.parents[1] / "own")
    stapy = folder / "stapy"
    planted = Cache(stapy)
    planted.put_bytes("result", "a" * 64, b"evil")
    if bad == "owner":
        give(stapy)
    elif bad == "parent":
        give(folder)
    else:
        stapy.chmod(0o777)
    before = sorted(stapy.rglob("*"))
    cache = Cache.of(Options())
    assert cache.root == folder.parents[1] / "own" / ".cache" / "stapy"
    assert cache.get("result", "a" * 64) is None
    cache.put_bytes("x", "b" * 64, b"ours")
    assert cache.get_bytes("x", "b" * 64) == b"ours"
    assert sorted(stapy.rglob("*")) == before
    assert cli.main(["-p2", "-e", "probe begin { exit() }"]) == 0
    told = capsys.readouterr().err
    assert told.count("W0660") == told.count("WARNING") == 1
    assert f"the cache folder '{stapy}' is not used" in told


@needs_root
def test_no_home_of_ours_either(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    give(folder.parent)
    monkeypatch.setenv("SYSTEMTAP_DIR", str(folder.parent))
    monkeypatch.setattr(trust, "home", lambda: folder.parent)
    monkeypatch.setattr(paths, "private_folder", lambda purpose: folder.parents[1] / purpose)
    assert paths.cache_dir() == folder.parents[1] / "cache"


def test_cache_is_closed_to_others(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = os.umask(0)
    try:
        monkeypatch.setenv("SYSTEMTAP_DIR", str(folder))
        Cache.of(Options()).put_bytes("x", "b" * 64, b"ours")
    finally:
        os.umask(old)
    assert (folder / "cache" / "stapy").stat().st_mode & 0o777 == 0o700


@needs_root
def test_temporary_folders_of_others(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(folder))
    assert scratch_root() == str(folder)
    give(folder)
    assert scratch_root() == "/tmp"
    assert Session(cli.parse(["--tmpdir", str(folder), "-e", ""])).main() == 1


@needs_root
def test_rc_of_another_user(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "rc").write_text("-g")
    monkeypatch.setenv("SYSTEMTAP_DIR", str(folder))
    guru = ["-p1", "-e", "probe begin { %{ %} }"]
    assert cli.main(guru) == 0
    give(folder / "rc")
    assert cli.main(guru) == 1
    assert (
        f"WARNING: '{folder}/rc' is not read: '{folder}/rc' belongs to" in capsys.readouterr().err
    )


def test_names_that_others_have_guessed(folder: Path) -> None:
    (folder / "target").write_text("keep")
    (folder / "guess").symlink_to("target")
    with pytest.raises(FileExistsError):
        trust.write_new(folder / "guess", b"x")
    assert (folder / "target").read_text() == "keep"
    trust.write_new(folder / "new", b"x")
    assert (folder / "new").read_bytes() == b"x"


def test_the_name_of_anothers_module_is_refused_first(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before the script is read; building for elsewhere (-p4) is no harm."""
    names = sorted(path.name for path in Path("/sys/module").iterdir() if path.name.isidentifier())
    if not names:
        pytest.skip("no /sys/module")
    monkeypatch.chdir(folder)
    assert cli.main(["-m", names[0], "no such script"]) == 1
    told = capsys.readouterr().err
    assert f"module '{names[0]}' cannot be loaded" in told
    assert "E0503" in told
    assert cli.main(["-p1", "-m", names[0], "-e", "probe begin {}"]) == 0


def test_kept_copies_do_not_follow_links(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """-m in a folder where others have put a link under the module's name."""
    monkeypatch.chdir(folder)
    (folder / "target").write_text("keep")
    (folder / "mine.ko").symlink_to("target")
    (folder / "made.ko").write_bytes(b"module")
    session = Session(cli.parse(["-m", "mine", "-e", "probe begin {}"]))
    assert modules.keep(session, folder / "made.ko") == folder / "mine.ko"
    assert (folder / "target").read_text() == "keep"
    assert (folder / "mine.ko").read_bytes() == b"module"
    assert not (folder / "mine.ko").is_symlink()
