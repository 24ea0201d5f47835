"""Files below a root that is somebody else's: opened there, whatever changes meanwhile."""

import contextlib
import errno
import os
import shutil
import subprocess
import threading
import time
from pathlib import Path

import pytest

from stapy.debuginfo import elf
from stapy.debuginfo.user import libraries
from stapy.debuginfo.user.programs import Programs
from stapy.kernel import roots
from stapy.run import beforehand, inside, regular
from stapy.run.errors import RunError
from stapy.run.ground.links import open_below

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can change its root")


# The consumer's way in and the translation's.
OPENERS = [open_below, lambda root, name: roots.open_inside(Path(root), name)]
both = pytest.mark.parametrize("opener", OPENERS, ids=["consumer", "translation"])


def content(fd):
    try:
        return Path(f"/proc/self/fd/{fd}").read_bytes()
    finally:
        os.close(fd)


@pytest.fixture
def root(tmp_path):
    """Make a file tree, and beside it what must never be reached."""
    top = tmp_path / "root"
    (top / "usr/bin").mkdir(parents=True)
    (top / "usr/bin/tool").write_bytes(b"there")
    (top / "bin").symlink_to("/usr/bin")
    (top / "up").symlink_to("../../..")
    (top / "usr/bin/loop").symlink_to("loop")
    (top / "secret").symlink_to(tmp_path / "secret")
    (tmp_path / "secret").write_bytes(b"here")
    return top


def open_files():
    return len(list(Path("/proc/self/fd").iterdir()))


@both
def test_nothing_leads_out(root, opener):
    before = open_files()
    for name in ("/usr/bin/tool", "bin/tool", "/bin/../../../bin//./tool", "/up/bin/tool"):
        assert content(opener(root, name)) == b"there"
    for name in ("/secret", "/../secret", "/up/secret", "/usr/../../secret", "/nothing/../secret"):
        with pytest.raises(FileNotFoundError):
            opener(root, name)
    with pytest.raises(OSError) as caught:
        opener(root, "/usr/bin/loop")
    assert caught.value.errno == errno.ELOOP
    with pytest.raises(NotADirectoryError):
        opener(root, "/usr/bin/tool/x")
    assert open_files() == before


@both
def test_a_folder_that_becomes_a_link_leads_nowhere_else(root, opener, monkeypatch):
    """After the folder was looked at and before its file is opened, when it counts."""
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "tool").write_bytes(b"here")
    real = os.open

    def late(name, *rest, **more):
        if name == "tool" and not (root / "usr/bin").is_symlink():
            (root / "usr/bin").rename(root / "usr/was")
            (root / "usr/bin").symlink_to(outside)
        return real(name, *rest, **more)

    monkeypatch.setattr(os, "open", late)
    assert content(opener(root, "/usr/bin/tool")) == b"there"
    with pytest.raises(FileNotFoundError):  # the link means a place of that tree
        opener(root, "/usr/bin/tool")


@both
def test_no_moment_is_left(root, opener):
    """A folder and a link that are exchanged without end."""
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "tool").write_bytes(b"here")
    (root / "link").symlink_to(outside)
    (root / "folder").mkdir()
    (root / "folder/tool").write_bytes(b"there")
    over = threading.Event()

    def exchange():
        while not over.is_set():
            for new in ("folder", "link"):
                (root / new).rename(root / "here")
                (root / "here").rename(root / new)

    swapper = threading.Thread(target=exchange)
    (root / "at").symlink_to("here")
    swapper.start()
    found = set()
    try:
        end = time.monotonic() + 2
        while time.monotonic() < end:
            with contextlib.suppress(FileNotFoundError):
                found.add(content(opener(root, "/at/tool")))
    finally:
        over.set()
        swapper.join()
    assert found <= {b"there"}


@pytest.fixture
def process(root):
    """Start a process whose root is that tree; yield its id."""
    static = shutil.which("busybox")
    if not static:
        pytest.skip("busybox is not installed")
    shutil.copy(static, root / "wait")

    def enter():
        os.chroot(root)

    held = subprocess.Popen(["busybox", "sleep", "1000"], executable="/wait", preexec_fn=enter)
    yield held.pid
    held.kill()
    held.wait()


@AS_ROOT
def test_whoever_opens_a_path_of_a_process_opens_it_there(root, process):
    """Not only where we follow links ourselves: all that takes a path."""
    top = f"/proc/{process}/root"
    for opened in (
        lambda name: os.fdopen(regular.open_regular(name), "rb"),
        elf.open_regular,
    ):
        with opened(f"{top}/bin/tool") as file:
            assert file.read() == b"there"
        with pytest.raises(FileNotFoundError):
            opened(f"{top}/secret")
    assert inside.is_regular(f"{top}/bin/tool") and not inside.is_regular(f"{top}/secret")
    # A library by its path, as the process has it.
    (found,) = libraries.matching_in(Programs(None, None), process, "/bin/tool")
    assert found == f"{top}/usr/bin/tool"


# --- the process itself --------------------------------------------------------------


def manifest_of(process, **changes):
    return {"namespaces": process, "process": {**inside.identity(process), **changes}}


def test_the_process_that_the_module_was_made_for():
    beforehand.check_namespaces(manifest_of(os.getpid()), 0)
    beforehand.check_namespaces({"namespaces": os.getpid()}, 0)  # of an older stapy
    beforehand.check_namespaces({}, 0)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"start": 1}, "'one', which had this number when the module was made, has ended; it is "
         "another process now, '"),
        ({"mnt": 1}, "'one' has moved to other name spaces since the module was made"),
        ({"pid": 1}, "'one' has moved to other name spaces"),
        ({"boot": "0"}, "the module was made for 'one' on another machine, or before"),
        ({"start": 1, "name": "o\x1b[31m\nne"}, r"'o\033[31m\012ne', which had"),
    ],
)  # fmt: skip
def test_another_process_of_that_number(changes, why):
    pid = os.getpid()
    manifest = manifest_of(pid, **{"name": "one", **changes})
    with pytest.raises(RunError) as caught:
        beforehand.check_namespaces(manifest, 0)
    told = str(caught.value)
    assert told.startswith(f"Couldn't use the name spaces of process {pid}: {why}")
    assert told.endswith("; stapy-run -N PID names the process to use")
    beforehand.check_namespaces(manifest, pid)  # who names it means it


def test_a_process_that_has_ended():
    manifest = {**manifest_of(os.getpid(), name="one"), "namespaces": 4194304}
    with pytest.raises(RunError, match=r"'one', which had this number .* has ended; stapy-run -N"):
        beforehand.check_namespaces(manifest, 0)
    elsewhere = {**manifest, "process": {**manifest["process"], "boot": "0"}}
    with pytest.raises(RunError, match="was made for 'one' on another machine, or before"):
        beforehand.check_namespaces(elsewhere, 0)
    with pytest.raises(RunError, match=r"process 4194304: No such process$"):
        beforehand.check_namespaces(manifest, 4194304)
