"""A process that makes tables of files, which may be anybody's, and can be lost.

A file may be made to cost its reader hours, and its file system need not answer: see `apart`.
"""

from __future__ import annotations

import _socket
import array
import os
import struct
import time

from . import objects
from .apart import Apart
from .lacks import advice, lacks, program, run
from .signals import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, List, NamedTuple, Optional

    from .ground.manifest import TableDemand

    First = Callable[[objects.Tables], None]

    class Report(NamedTuple):
        """What a maker says: the file that it begins, a table, or that it is done."""

        kind: bytes
        fd: int
        name: str
        data: bytes
else:
    from collections import namedtuple

    Report = namedtuple("Report", "kind fd name data")

BEGINS, TABLE, DONE = b"b", b"t", b"d"
PROCESSOR = 60  # seconds that one file may take of it
WAITING = 30  # seconds that reading one file may be waited for
_ALONE = 600  # seconds for a file when nobody is left who looks
_LOOK = 0.5  # seconds between looks at whether it goes on
_TICKS = os.sysconf("SC_CLK_TCK")
_MEMORY = 1 << 30
_FILE = 64 << 20  # bytes of a table that is kept
_HEAD = struct.Struct("<cBHI")  # kind, a descriptor comes with it, bytes of the name, of the data
_BLOCK = 1 << 18
_MOST = 64 << 20  # bytes of a table
_RIGHTS = _socket.CMSG_SPACE(4)


class Maker(Apart):
    """The consumer's end of such a process."""

    def __init__(self, wanted: TableDemand, first: "Optional[First]" = None) -> None:
        super().__init__(
            lambda theirs: _serve(theirs, wanted, first), _socket.SOCK_STREAM, "stapy-tables"
        )
        self.at = ""  # the file that it works at
        self.is_busy = first is not None
        self._parts = bytearray()
        self._fds: List[int] = []
        self._begin()

    def _begin(self) -> None:
        """Note that it begins a file."""
        self._processor, self._waited, self._looked = 0, 0.0, time.monotonic()

    def give(self, place: int, name: str, trusted: bool) -> bool:
        """Let it make a file's table; return False when it is no more.

        ``trusted``: the file's owner is known.
        """
        self.is_busy, self.at = True, name
        self._begin()
        try:
            rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, array.array("i", [place]))]
            self._socket.sendmsg([bytes([trusted]) + os.fsencode(name)[:4096]], rights)
        except OSError:
            return False
        return True

    def hear(self) -> "Optional[List[Report]]":
        """Read what it says, as far as it is there; None when it is no more."""
        try:
            data, extra, _, _ = self._socket.recvmsg(_BLOCK, 8 * _RIGHTS, _socket.MSG_CMSG_CLOEXEC)
        except BlockingIOError:
            return []
        except OSError:
            return None
        for level, kind, words in extra:
            if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS:
                fds = array.array("i")
                fds.frombytes(words[: len(words) // 4 * 4])
                self._fds += fds
        if not data:
            return None
        self._parts += data
        found: List[Report] = []
        while len(self._parts) >= _HEAD.size:
            kind, with_fd, named, size = _HEAD.unpack_from(self._parts)
            if size > _MOST:
                return None
            start = _HEAD.size + named
            if len(self._parts) < start + size:
                break
            name = os.fsdecode(bytes(self._parts[_HEAD.size : start]))
            body = bytes(self._parts[start : start + size])
            del self._parts[: start + size]
            if with_fd and not self._fds:  # there was no room for it, so whose table is this?
                for report in found:
                    if report.fd >= 0:
                        os.close(report.fd)
                return None
            found.append(Report(kind, self._fds.pop(0) if with_fd else -1, name, body))
            if kind == BEGINS:
                self.at = name
                self._begin()
            self.is_busy = kind != DONE
        return found

    def overdue(self) -> str:
        """Say why it is to be given up; "" while there is hope."""
        now = time.monotonic()
        passed = now - self._looked
        if passed < _LOOK:
            return ""
        self._looked = now
        try:
            with open(f"/proc/{self.pid}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            return ""  # it has ended: that is heard
        ticks = int(fields[11]) + int(fields[12])
        # Whoever could run, if only others let it, does not wait for a file.
        if fields[0] != b"R":
            # Who has not looked for long was stopped, and the maker with him.
            self._waited += max(min(passed, 4 * _LOOK) - (ticks - self._processor) / _TICKS, 0.0)
        self._processor = ticks
        return "it could not be read" if self._waited > WAITING else ""

    def end(self) -> None:
        """Kill it; files that came from it are closed."""
        super().end()
        for fd in self._fds:
            os.close(fd)
        self._fds = []


def _serve(theirs: _socket.socket, wanted: TableDemand, first: "Optional[First]") -> None:
    """Make tables until nobody wants any more; in the child."""
    limit = _limits()

    def say(kind: bytes, name: str, fd: int = -1, data: bytes = b"") -> None:
        label = os.fsencode(name)[:4096]
        head = _HEAD.pack(kind, fd >= 0, len(label), len(data)) + label
        rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, array.array("i", [fd]))]
        theirs.sendmsg([head], rights if fd >= 0 else [])
        theirs.sendall(data)

    def begin_file(name: str) -> None:
        limit()
        say(BEGINS, name)

    tables = objects.Tables(
        wanted, lambda fd, name, data: say(TABLE, name, fd, data[:_MOST]), begin_file
    )
    try:
        if first:
            first(tables)
            say(DONE, "")
        while True:
            signal.alarm(0)
            name, extra, _, _ = theirs.recvmsg(_BLOCK, _RIGHTS)
            if not name:
                return
            for _, _, words in extra:
                place = struct.unpack("i", words[:4])[0]
                limit()
                try:
                    tables.make(place, os.fsdecode(name[1:]), bool(name[0]))
                except OSError:
                    pass
                os.close(place)
            say(DONE, "")
    except OSError:
        pass  # nobody listens


def _limits() -> "Callable[[], None]":
    """Limit what a file may take of the machine; return what gives the next one its time."""
    if lacks("resource"):
        return _limits_by_program()
    import resource

    def bound(which: int, value: int) -> None:
        _, most = resource.getrlimit(which)
        value = value if most < 0 else min(value, most)
        resource.setrlimit(which, (value, most))

    bound(resource.RLIMIT_AS, _MEMORY)
    bound(resource.RLIMIT_FSIZE, _FILE)
    bound(resource.RLIMIT_CORE, 0)

    def limit() -> None:
        bound(resource.RLIMIT_CPU, int(sum(os.times()[:2])) + 1 + PROCESSOR)
        signal.alarm(_ALONE)

    return limit


def _limits_by_program() -> "Callable[[], None]":
    """Do so where Python cannot.  Of the processor's time the consumer alone has an eye on."""
    words = [f"--as={_MEMORY}:", f"--fsize={_FILE}:", "--core=0:", f"--pid={os.getpid()}"]
    status, said = run([*program("prlimit"), *words])
    if status:
        raise OSError(said)

    def limit() -> None:
        signal.alarm(_ALONE)

    return limit


def unbounded() -> str:
    """Say why what a file takes cannot be bounded here, so that none is read; "" when it can."""
    if not lacks("resource") or program("prlimit"):
        return ""
    return f"there is no program prlimit, and {advice('resource')}"
