"""The consumer of a member of the groups: it begins as root and goes on as the user.

Before it looks at anything that the user names it forks the `keeper` and gives up all that root
may do. From then on it is his process, but for one thing: nobody may look into it, since a process
that was root's is not dumpable, so that the open files of the module stay with us.
"""

from __future__ import annotations

import _thread
import os
import stat

from . import target
from .control import Channel
from .errors import GoneError, RunError
from .groups import look_up
from .hands import Hands
from .keeper import DONE, GONE, Keeper
from .signals import signal
from .wire import Wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List, Optional, Tuple

    from .elf import ModuleFile
    from .ground.manifest import Manifest
    from .groups import GroupMember
    from .messages import MessagePrinter

LIFE = 4  # the descriptor of a pipe whose other end a `stapy` has that must not be outlived
GIVEN = 3  # the descriptor on which `sudo` leaves the user's environment
_MOST = 1 << 23  # bytes of it; the kernel takes less of a program
# What we heed ourselves. The rest is for the programs that we start: it could name code (that of
# OpenSSL does) to be loaded where the module's files are open.
_OURS = (b"PATH", b"HOME", b"TERM", b"TZ", b"SYSTEMTAP_COLORS", b"COLUMNS", b"NO_COLOR",
         b"SYSTEMTAP_SYNC", b"SYSTEMTAP_DIR", b"XDG_CACHE_HOME", b"LD_LIBRARY_PATH")  # fmt: skip
_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


class KeptHands(Hands):
    """Has a keeper do what only root can."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def check(self, module: ModuleFile) -> None:
        """Refuse a module that this user may not load, or that cannot be loaded."""
        self._ask(["check", module.path], [module.fd])

    def insert(
        self, module: ModuleFile, words: List[str], messages: MessagePrinter, must_rename: bool
    ) -> Tuple[str, Channel]:
        """Have a module loaded; return its name and its files."""
        how = "renamed" if must_rename else ""
        return _opened(self._ask(["insert", module.path, how, *words], [module.fd], messages))

    def hand_over(self, channel: Channel, manifest: Manifest, namespaces: int) -> None:
        """Have the programs opened that the module's probes name."""
        if manifest.get("files") or namespaces:
            self._ask(["files", channel.name, str(namespaces)])

    def attach(self, name: str) -> Tuple[str, Channel]:
        """Have the files of a session of this user opened."""
        return _opened(self._ask(["attach", name]))

    def end(self, name: str, channel: Channel, is_left: bool) -> None:
        """Close a session's files and have its module removed, unless it ``is_left``."""
        channel.close()
        self._ask(["end", name, "left" if is_left else ""])

    def delete(self, name: str, messages: MessagePrinter) -> int:
        """Have a module of this user removed, or "*" for all; return the exit status."""
        self._ask(["delete", name], [], messages)
        return 1 if messages.errors else 0

    def _ask(
        self,
        fields: List[str],
        files: Optional[List[int]] = None,
        messages: Optional[MessagePrinter] = None,
    ) -> Tuple[List[str], List[int]]:
        """Ask and wait; print what was said meanwhile."""
        try:
            self._wire.send(fields, files or [])
            answer = self._wire.receive()
        except OSError as error:
            raise RunError(f"stapy-run's keeper cannot be asked: {error.strerror}") from None
        if answer is None:
            raise RunError("stapy-run's keeper has ended: no module can be loaded or removed")
        (kind, count, *rest), given = answer
        texts, said = rest[: int(count)], rest[int(count) :]
        if messages:
            _repeat(messages, said)
        if kind != DONE:
            raise (GoneError if kind == GONE else RunError)(*texts[0].split("\n  "))
        return texts, given


def _opened(answer: Tuple[List[str], List[int]]) -> Tuple[str, Channel]:
    """Make a channel of the files in an answer."""
    (name, cpus, has_records), files = answer
    records = files.pop() if has_records else -1
    channel = Channel(files[0], files[1:], [int(cpu) for cpu in cpus.split()])
    channel.name = name
    if records >= 0:
        with os.fdopen(records, encoding="ascii") as file:
            channel.records = file.read()
    return name, channel


def _repeat(messages: MessagePrinter, said: List[str]) -> None:
    for kind, text in zip(said[::2], said[1::2]):
        if kind == "error":
            messages.error(text)
        elif kind == "warning":
            messages.warning(text)
        elif messages.verbose:
            messages.log(text)


def begin() -> Optional[Hands]:
    """Become the user who called sudo, with a keeper behind; None when root did.

    Raises `RunError` for who is in none of the groups.
    """
    if os.geteuid() != 0:
        raise RunError("--as-member is for sudo: call stapy-run without it")
    member = _caller(os.environ.get("SUDO_UID", ""))
    if not member:
        return None
    why = member.refusal() or _why_open()
    if why:
        raise RunError(why)
    _check_given()
    _clear_environment()
    try:
        ours, theirs = Wire.pair()
        _start_keeper(member, ours, theirs)
        theirs.close()
        _become(member)
        _restore_environment()
        _watch_life()
    except OSError as error:
        raise RunError(f"the session of a member cannot begin: {error.strerror}") from None
    return KeptHands(ours)


def _caller(told: str) -> Optional[GroupMember]:
    """Find the user whom sudo tells of, None for root."""
    uid = int(told) if told.isascii() and told.isdigit() else -1
    if uid == 0:
        return None
    member = look_up(uid) if uid > 0 else None
    if not member:
        raise RunError("sudo does not say who called it, or the user is not in the system's list")
    return member


def _why_open() -> str:
    """Say why our files would not stay with us, "" when they do."""
    try:
        with open("/proc/sys/fs/suid_dumpable", encoding="ascii") as file:
            is_open = file.read().strip() == "1"
    except OSError:
        return ""
    return (
        "fs.suid_dumpable is 1: users may look into programs that were root's, so only root can "
        "load modules" if is_open else ""
    )  # fmt: skip


def _check_given() -> None:
    """Refuse to go on without the environment: another file would have its number."""
    try:
        os.fstat(GIVEN)
        os.fstat(LIFE)
    except OSError:
        raise RunError("--as-member is for stapy-run's own call of sudo") from None


def _clear_environment() -> None:
    os.environ.clear()
    os.environ["PATH"] = _PATH


def _start_keeper(member: GroupMember, ours: Wire, theirs: Wire) -> None:
    """Start the keeper, which is no child of ours."""
    pid = os.fork()
    if pid:
        if os.waitpid(pid, 0)[1]:
            raise RunError("stapy-run's keeper cannot be started")
        return
    status = 1
    try:
        if os.fork() == 0:
            _keep(member, ours, theirs)
        status = 0
    finally:
        os._exit(status)


def _keep(member: GroupMember, ours: Wire, theirs: Wire) -> None:
    """Be the keeper: no terminal, no stream of the user's, no signal of his."""
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        ours.close()
        os.close(GIVEN)
        os.close(LIFE)
        null = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        os.chdir("/")
        os.umask(0o022)
        _name("stapy-keeper")
        Keeper(member, theirs).serve()
    finally:
        os._exit(0)


def _name(name: str) -> None:
    with open("/proc/self/comm", "w", encoding="ascii") as file:
        file.write(name)


def _become(member: GroupMember) -> None:
    """Be the user for good."""
    os.setgroups(member.groups)
    os.setresgid(member.gid, member.gid, member.gid)
    os.setresuid(member.uid, member.uid, member.uid)
    try:
        os.setresuid(0, 0, 0)
    except OSError:
        return
    os._exit(1)


def _restore_environment() -> None:
    """Take on the user's umask, and his environment for what is started; sudo has changed both."""
    data = b""
    try:
        os.lseek(GIVEN, 0, os.SEEK_SET)
        while len(data) < _MOST:
            block = os.read(GIVEN, 1 << 16)
            if not block:
                break
            data += block
        os.close(GIVEN)
    except OSError:
        raise RunError("the user's environment did not come through sudo") from None
    mask, *rows = data.split(b"\0")
    os.environ.clear()
    for row in rows:
        name, equals, value = row.partition(b"=")
        if name and equals:
            target.environment[name] = value
            if name in _OURS:
                os.environb[name] = value
    if len(mask) <= 4 and mask.isdigit():
        os.umask(int(mask, 8) & 0o777)
    import time

    time.tzset()


def _watch_life() -> None:
    """End the session when the `stapy` that has begun it was killed.

    A session that goes on in the background is a fork, in which nobody watches.
    """
    os.set_inheritable(LIFE, False)
    if stat.S_ISFIFO(os.fstat(LIFE).st_mode):
        _thread.start_new_thread(_end_with, (LIFE,))


def _end_with(pipe: int) -> None:
    while os.read(pipe, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
