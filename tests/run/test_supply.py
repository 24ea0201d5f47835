"""Tables come from another process, which hostile files may cost its life and nobody's time."""

from __future__ import annotations

import errno
import os
import resource
import select
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stapy.run import maker, objects, printable, supply, usersymbols
from stapy.run.control import Channel
from stapy.run.messages import MessagePrinter
from stapy.run.userfile import UserFile
from tests.debuginfo.user.sources import PROGRAM, compiled, has_mapped

HEAD = len(objects.NOTHING)


class Module(Channel):
    """Takes tables as the module does; asks for what ``files`` has."""

    def __init__(self, room: int = 1 << 30) -> None:
        super().__init__(-1, [])
        self.files: dict[int, str] = {}
        self.taken: dict[str, bytes] = {}
        self.room = room

    def write(self, data: bytes) -> None:
        line, _, table = data.partition(b"\n")
        word, fd, name = line.split(b" ", 2)
        assert word == b"object" and (name == b"[vdso]" or os.fstat(int(fd)))
        if len(table) > self.room:
            raise OSError(errno.EDQUOT, "quota")
        self.taken[os.fsdecode(name)] = table

    def fetch(self, number: int) -> int:
        if number not in self.files:
            raise FileNotFoundError
        return os.open(self.files.pop(number), os.O_PATH | os.O_CLOEXEC)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


class Session:
    """A supplier and its loop."""

    def __init__(self, **room: int) -> None:
        self.module = Module(**room)
        self.notes: list[str] = []
        self.supplier = supply.Supplier(self.module, {"names": True}, self.notes.append)

    def until(self, there: Callable[[], object], seconds: float = 300) -> None:
        end = time.monotonic() + seconds
        while not there():
            assert time.monotonic() < end, (self.module.taken.keys(), self.notes)
            poll = select.poll()
            for fd in self.supplier.fds:
                poll.register(fd, select.POLLIN)
            poll.poll(100)
            self.supplier.serve()


@pytest.fixture
def session():
    one = Session()
    yield one
    one.supplier.end()


def test_what_is_wanted_first_and_what_is_asked_for(session: Session, tmp_path: Path) -> None:
    path = compiled(tmp_path, PROGRAM, "-O2")
    other = compiled(tmp_path, PROGRAM, "-O1", name="other")
    session.supplier.begin([str(path)], "", 0)
    assert session.supplier.preparing
    session.until(lambda: not session.supplier.preparing)
    assert len(session.module.taken[str(path)]) > HEAD and "[vdso]" in session.module.taken
    session.module.files[5] = str(other)
    session.supplier.answer("5 0")
    session.supplier.answer("5 0")  # it was asked for twice
    session.until(lambda: str(other) in session.module.taken)
    assert session.module.taken[str(other)] == objects.table(
        UserFile.open(os.open(other, os.O_RDONLY)), True
    )
    assert not session.notes


def hanging(monkeypatch: pytest.MonkeyPatch, name: str, how: Callable[[], None]) -> None:
    """Let a file of this name do something to whoever makes its table."""
    real = objects.table

    def made(file: UserFile, *rest: Any) -> bytes:
        # What the kernel maps is no file.
        fd = -1 if isinstance(file.data, bytes) else file.data._fd
        if fd >= 0 and Path(f"/proc/self/fd/{fd}").readlink().name == name:
            how()
        return real(file, *rest)

    monkeypatch.setattr(objects, "table", made)


def spin() -> None:
    while True:
        pass


def drip() -> None:
    """Go on a bit in each look at it, as a file system of the owner's own can have it do."""
    while True:
        time.sleep(0.3)
        end = time.process_time() + 0.02
        while time.process_time() < end:
            pass


def fill_memory() -> None:
    kept = bytearray()
    while True:
        kept += bytes(64 << 20)


@pytest.mark.parametrize(
    ("how", "why"),
    [
        (spin, "takes more than"),
        (lambda: time.sleep(1000), "could not be read"),
        (drip, "could not be read"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "takes more than"),
        (fill_memory, ""),
    ],
    ids=["spins", "waits", "drips", "dies", "memory"],
)
def test_a_file_that_costs_too_much(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    how: Callable[[], None], why: str,
) -> None:  # fmt: skip
    """Others' stacks go on meanwhile; it is not asked for again, and others' files still are."""
    monkeypatch.setattr(maker, "PROCESSOR", 4)
    monkeypatch.setattr(maker, "WAITING", 4)
    good = compiled(tmp_path, PROGRAM, "-O2", name="good")
    bad = compiled(tmp_path, PROGRAM, "-O2", name="bad")
    late = compiled(tmp_path, PROGRAM, "-O2", name="late")
    hanging(monkeypatch, "bad", how)
    session.module.files = {1: str(bad), 2: str(late), 3: str(good)}
    session.supplier.answer("1 1000")
    session.supplier.answer("2 1001")
    session.supplier.answer("3 0")
    if how is spin or "read" in why:
        session.until(lambda: str(good) in session.module.taken)
        assert str(bad) not in session.module.taken  # root's file did not wait for it
    session.until(lambda: len(session.module.taken) == 3)
    assert session.module.taken[str(bad)] == objects.NOTHING
    assert len(session.module.taken[str(late)]) > HEAD
    assert len(session.notes) == bool(why)
    assert why in "".join(session.notes) and ("/bad" in "".join(session.notes)) == bool(why)


def test_a_session_does_not_wait_long_for_what_it_wants_first(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anybody's process may map hundreds of files, none of which takes too long."""
    hanging(monkeypatch, "bad", lambda: time.sleep(1000))
    monkeypatch.setattr(supply, "_FIRST", 1)
    bad = compiled(tmp_path, PROGRAM, "-O2", name="bad")
    good = compiled(tmp_path, PROGRAM, "-O2", name="good")
    session.supplier.begin([str(bad)], "", 0)
    session.until(lambda: not session.supplier.preparing)
    (note,) = session.notes
    assert note.startswith("the first user stacks may end early") and note.endswith("/bad")
    session.module.files = {1: str(good)}  # what is met then is not behind it
    session.supplier.answer("1 1000")
    session.until(lambda: str(good) in session.module.taken)


def test_a_table_whose_file_did_not_come(session: Session, tmp_path: Path) -> None:
    """We have no room for another descriptor: a table without is that of no other file."""
    good = compiled(tmp_path, PROGRAM, "-O2", name="good")
    session.module.files = {1: str(good), 2: str(good)}
    session.supplier.answer("1 0")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    first_free = os.dup(0)
    os.close(first_free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (first_free, hard))
    try:
        select.select(session.supplier.fds, [], [], 60)
        session.supplier.serve()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    session.until(lambda: session.notes)
    assert set(session.module.taken.values()) == {objects.NOTHING}


def test_who_has_cost_too_much_is_not_tried_again(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging(monkeypatch, "bad", lambda: os.kill(os.getpid(), signal.SIGKILL))
    for number in range(3):
        (tmp_path / f"{number}").mkdir()
        path = compiled(tmp_path / f"{number}", PROGRAM, "-O2", name="bad")
        session.module.files[number] = str(path)
        session.supplier.answer(f"{number} 1000")
    good = compiled(tmp_path, PROGRAM, "-O2", name="good")
    other = compiled(tmp_path, PROGRAM, "-O2", name="other")
    session.until(lambda: len(session.module.taken) == 3)
    session.module.files = {8: str(good), 9: str(other)}
    session.supplier.answer("8 1000")
    session.supplier.answer("9 1001")
    session.until(lambda: len(session.module.taken) == 5)
    assert session.module.taken[str(good)] == objects.NOTHING
    assert len(session.module.taken[str(other)]) > HEAD
    assert "further files of user 1000" in session.notes[-1]


def test_one_owner_has_no_more_room(tmp_path: Path) -> None:
    session = Session(room=HEAD)
    names = [compiled(tmp_path, PROGRAM, "-O2", name=name) for name in ("one", "two")]
    session.module.files = dict(enumerate(map(str, names)))
    session.supplier.answer("0 1000")
    session.until(lambda: session.notes)
    session.supplier.answer("1 1000")  # not even made
    assert session.notes == [
        f"no room for the table of {names[0]} beside those of its owner's other files: "
        "-D STAPY_OBJECT_MEMORY=MIB"
    ]
    assert session.supplier._lanes[1].queue == []
    session.supplier.end()


def test_nobody_is_waited_for_at_the_end(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging(monkeypatch, "bad", lambda: time.sleep(1000))
    bad = compiled(tmp_path, PROGRAM, "-O2", name="bad")
    session.module.files = {1: str(bad)}
    session.supplier.answer("1 0")
    (pid,) = [lane.maker.pid for lane in session.supplier._lanes if lane.maker]
    began = time.monotonic()
    session.supplier.end()
    assert time.monotonic() - began < 1
    end = time.monotonic() + 30
    while Path(f"/proc/{pid}").exists() and time.monotonic() < end:
        time.sleep(0.02)
        with pytest.MonkeyPatch.context():
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                break


def test_a_maker_whose_session_was_killed_does_not_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With nothing to do it goes at once, in a file that cannot be read after some time."""
    hanging(monkeypatch, "bad", lambda: time.sleep(1000))
    monkeypatch.setattr(maker, "_ALONE", 1)
    place = os.open(compiled(tmp_path, PROGRAM, "-O2", name="bad"), os.O_PATH)
    for busy in (False, True):
        one = maker.Maker({})
        if busy:
            assert one.give(place, "bad", trusted=True)
        one._socket.close()
        end = time.monotonic() + 30
        while not one.is_gone():
            assert time.monotonic() < end
            time.sleep(0.05)
    os.close(place)


def test_a_maker_has_nothing_of_the_session(tmp_path: Path) -> None:
    """Neither a file of the module, which could not end while it is stuck, nor a terminal."""
    held = os.open(tmp_path, os.O_RDONLY)
    one = maker.Maker({})
    try:
        end = time.monotonic() + 30
        folder = Path(f"/proc/{one.pid}")
        while (folder / "comm").read_text() != "stapy-tables\n" and time.monotonic() < end:
            time.sleep(0.02)
        links = [str(entry.readlink()) for entry in (folder / "fd").iterdir()]
        assert sorted(link.partition(":")[0] for link in links) == ["/dev/null"] * 3 + ["socket"]
    finally:
        os.close(held)
        one.end()
        os.waitpid(one.pid, 0)


def test_pipes_and_devices_are_not_opened(session: Session, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    session.module.files = {1: str(tmp_path / "pipe"), 2: "/dev/zero", 3: sys.executable}
    for number in session.module.files.copy():
        session.supplier.answer(f"{number} 1000")
    shown = os.path.realpath(sys.executable)
    session.until(lambda: shown in session.module.taken)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode) and len(session.module.taken) == 1


def test_only_files_that_are_surely_roots_are_kept(session: Session, tmp_path: Path) -> None:
    """A file system of a user's own says of its files what it likes."""
    path = compiled(tmp_path, PROGRAM, "-O2", "-Wl,--build-id")
    for number, owner in enumerate((0xFFFFFFFF, 0)):
        session.module.files[number] = str(path)
        session.module.taken.clear()
        session.supplier.answer(f"{number} {owner}")
        session.until(lambda: str(path) in session.module.taken)
        assert (tmp_path / "cache/stapy/objects").exists() == (owner == 0)


EVIL = "\x1b]0;title\x07"


def test_names_are_printable(session: Session, tmp_path: Path, capfd) -> None:
    r"""Of functions and files, and in our messages; UTF-8 is kept."""
    evil = compiled(tmp_path, PROGRAM, "-O2", name="e\x1b[31m")
    session.module.files = {1: str(evil)}
    session.supplier.answer("1 0")
    shown = str(tmp_path / r"e\033[31m")
    session.until(lambda: shown in session.module.taken)
    assert printable.name("é\n\x9b".encode() + b"\x9b") == "é\\012\\233\\233".encode()
    assert printable.name("a\u202eb\u2066".encode()) == rb"a\342\200\256b\342\201\246"
    rows = [(0, 4, b"a\x1b[2Jb"), (8, 4, b"plain")]
    assert usersymbols.packed(rows, 0)[2] == b"a\\033[2Jb\0plain\0"
    forged = compiled(tmp_path, PROGRAM, "-O2", name="x\nERROR: forged")
    session.module.room = 0
    session.module.files = {2: str(forged)}
    session.supplier.answer("2 0")
    session.until(lambda: session.notes)
    assert "x\\012ERROR: forged" in session.notes[0] and "\n" not in session.notes[0]
    messages = MessagePrinter("never", verbose=1)
    messages.warning(f"a {EVIL}\nb")
    messages.error(EVIL)
    messages.note(EVIL)
    messages.log(EVIL)  # of the script
    escaped = r"\033]0;title\007"
    assert capfd.readouterr().err == (
        f"WARNING: a {escaped}\nb\nERROR: {escaped}\nstapy-run: {escaped}\n{EVIL}\n"
    )


def test_from_a_bare_copy(tmp_path: Path) -> None:
    """What `stapy-run` has when it is copied alone."""
    path = compiled(tmp_path, PROGRAM, "-O2")
    folder = Path(supply.__file__).parent
    script = f"""
import importlib.util, sys, select
spec = importlib.util.spec_from_file_location("stapy_run", "{folder}/__init__.py",
                                              submodule_search_locations=["{folder}"])
sys.modules["stapy_run"] = importlib.util.module_from_spec(spec)
from stapy_run.supply import Supplier
class Module:
    def write(self, data): print(data.split(b"\\n")[0].decode(), len(data) > 500)
one = Supplier(Module(), {{}}, print)
one.begin(["{path}"], "", 0)
while one.preparing:
    select.select(one.fds, [], [], 1)
    one.serve()
one.end()
"""
    done = subprocess.run(
        [sys.executable, "-SI", "-c", script], capture_output=True, text=True, check=False
    )
    assert f"{path} " in done.stdout and not done.stderr, done


def test_of_many_programs_those_that_run(session: Session, tmp_path: Path) -> None:
    """A pattern may match hundreds: what does not run is asked for when it is met."""
    names = [f"tool{number}" for number in range(objects._EAGER + 1)]
    first = compiled(tmp_path, "int pause(void); int main(void) { return pause(); }", name=names[0])
    for name in names[1:]:
        (tmp_path / name).write_bytes(first.read_bytes())
        (tmp_path / name).chmod(0o755)
    paths = [str(tmp_path / name) for name in names]
    with subprocess.Popen([paths[3]]) as running:
        try:
            has_mapped(running.pid, paths[3])
            session.supplier.begin(paths, "", 0)
            session.until(lambda: not session.supplier.preparing)
        finally:
            running.kill()
    made = {name for name in names if str(tmp_path / name) in session.module.taken}
    assert made == {names[3]}
    session.supplier.begin(paths[:3], "", 0)
    session.until(lambda: not session.supplier.preparing)
    assert all(path in session.module.taken for path in paths[:4])


def everything(master: int) -> bytes:
    """Read all that was written to a terminal whose other end is closed: it comes in pieces."""
    found = b""
    while True:
        try:
            found += os.read(master, 1 << 16)
        except OSError:  # EIO: nothing more will come
            return found


def test_the_terminal_is_told_of_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line, gone before any message; where nobody looks, nothing."""
    path = compiled(tmp_path, PROGRAM, "-O2")
    master, slave = os.openpty()
    monkeypatch.setenv("TERM", "xterm")
    kept = os.dup(2)
    one = Session()
    messages = MessagePrinter("never")
    one.supplier = supply.Supplier(one.module, {}, messages.warning, messages.progress)
    try:
        os.dup2(slave, 2)
        one.supplier.begin([str(path)], "", 0)
        one.until(lambda: not one.supplier.preparing)
        messages.progress("more")
        messages.warning("all is well")
    finally:
        os.dup2(kept, 2)
        one.supplier.end()
    os.close(slave)
    said = everything(master).decode()
    assert "stapy-run: making tables for user stacks (once): 1 done, now" in said
    assert said.replace("\r\n", "\n").endswith("\r\033[KWARNING: all is well\n")
    for fd in (kept, master):
        os.close(fd)
    quiet = MessagePrinter("never")
    quiet.progress("unseen")
    assert not quiet._has_line
