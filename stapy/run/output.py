"""Where the output goes: standard output, or files that are rotated by size."""

from __future__ import annotations

import errno
import os
import select
import stat
import time

from .errors import RunError
from .safekeeping import Safekeeping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, List

BLOCK = 1 << 16


# Who leaves wants no more, which is no failure: a pipe's reader, and a socket's.
_LEFT = frozenset((errno.EPIPE, errno.ECONNRESET))
# What poll tells of a pipe or socket without a reader, of a terminal that hung up, and of a
# descriptor that the caller has closed; one that is open for reading only is a mistake of his.
_GONE = select.POLLERR | select.POLLHUP | select.POLLNVAL


def has_left(error: OSError, fd: int) -> bool:
    """Tell whether a write failed because nobody reads."""
    return error.errno in _LEFT or nobody_reads(fd)


def nobody_reads(fd: int) -> bool:
    """Tell whether a descriptor is closed, its reader has left, or its terminal has hung up."""
    poll = select.poll()
    poll.register(fd, 0)
    return any(event & _GONE for _, event in poll.poll(0))


def unwritable(why: str) -> str:
    """Say that standard output takes nothing, as the file that it leads to being on a full disk."""
    return f"Couldn't write standard output: {why}"


class Sink:
    """Takes blocks and writes them on without ever blocking the session.

    One block waits at a time: the session reads no further from the kernel
    until it is gone, and the kernel's ring fills up instead of our memory.
    """

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.broken = False
        self._waiting = memoryview(b"")
        mode = os.fstat(fd).st_mode
        self._may_block = not stat.S_ISREG(mode)
        self.is_in_line = False  # what was written last did not end its line

    @property
    def is_busy(self) -> bool:
        """True while a block waits."""
        return len(self._waiting) > 0

    @property
    def waiting(self) -> int:
        """Bytes of the block that waits."""
        return len(self._waiting)

    def write(self, block: memoryview) -> None:
        """Take a block; only when not `is_busy`."""
        self._waiting = block
        self.flush()

    def flush(self) -> None:
        """Write as much of the waiting block as goes without blocking."""
        while self._waiting and not self.broken:
            size = len(self._waiting)
            if self._may_block:
                if not self._is_writable():
                    return
                # A pipe that poll calls writable has room for PIPE_BUF bytes, not for more.
                size = min(size, select.PIPE_BUF)
                # What goes in one write is whole in a pipe: no other writer, such as the command
                # of -c, gets between the pieces of a line, unless it is longer than that.
                size = bytes(self._waiting[:size]).rfind(b"\n") + 1 or size
            try:
                written = os.write(self.fd, self._waiting[:size])
                if written:
                    self.is_in_line = self._waiting[written - 1] != ord("\n")
                self._waiting = self._waiting[written:]
            except BlockingIOError:
                return
            except OSError as error:
                self.broken = True
                self.fail(error)

    def fail(self, error: OSError) -> None:
        """Learn, once, that nothing can be written any more."""

    def discard(self) -> None:
        """Forget the waiting block."""
        self._waiting = memoryview(b"")

    def close(self) -> None:
        """Finish: nothing more will come."""

    def rotate(self) -> None:
        """Go on with a new file; nothing to do without files."""

    def _is_writable(self) -> bool:
        poll = select.poll()
        poll.register(self.fd, select.POLLOUT)
        events = poll.poll(0)
        return bool(events)


class StandardOutput(Sink):
    """Our standard output: a reader who left wants no more, a full disk is an error."""

    def __init__(self) -> None:
        super().__init__(1)

    def fail(self, error: OSError) -> None:
        """Raise `RunError`, unless the reader has left."""
        if not has_left(error, self.fd):
            raise RunError(unwritable(str(error.strerror)))


def shown_in_line(sinks: List[Sink]) -> "Callable[[], bool]":
    """Return what tells, once each time, that output stands in a line where messages come.

    That is so where standard output and standard error are one terminal.
    """
    shown = [sink for sink in sinks if sink.fd == 1 and _is_one_terminal()]

    def tell() -> bool:
        found = [sink for sink in shown if sink.is_in_line]
        for sink in found:
            sink.is_in_line = False
        return bool(found)

    return tell


def _is_one_terminal() -> bool:
    if not (os.isatty(1) and os.isatty(2)):
        return False
    return os.fstat(1).st_rdev == os.fstat(2).st_rdev


def place_of(pattern: str, number: "int | None") -> str:
    """Make the name of a file of ``-o``, with a number for one in a row of files."""
    name = time.strftime(pattern) if "%" in pattern else pattern
    return name if number is None else f"{name}.{number}"


def planted(name: str) -> str:
    """Say why a file must not be written, "" when it may.

    Another user put it, or a link, where all may write. That is what the kernel's
    ``fs.protected_*`` forbids, where they are switched on.
    """
    there = _looked_at(name)
    return _doubt(name, there) if there else ""


def _looked_at(name: str) -> "os.stat_result | None":
    """Look at a name, a link as a link; None for nothing that could be seen."""
    try:
        return os.lstat(name)
    except OSError:
        return None


def _doubt(name: str, there: os.stat_result) -> str:
    try:
        around = os.stat(os.path.dirname(name) or ".")
    except OSError:
        return ""
    if not around.st_mode & stat.S_IWOTH:
        return ""
    linked, fixed = stat.S_ISLNK(there.st_mode), around.st_mode & stat.S_ISVTX
    # Without the sticky bit, others may also replace what the folder's owner has put there.
    trusted = [os.geteuid()] + ([around.st_uid] if fixed else [])
    if there.st_uid not in trusted:
        what = "symbolic link" if linked else "file"
        return f"a {what} of another user stands there, in a folder where all may write"
    if linked and not fixed:
        return "a symbolic link stands there, in a folder where all may replace it"
    if stat.S_ISREG(there.st_mode) and there.st_nlink > 1:
        return "a file with other names stands there, in a folder where all may write"
    return ""


def open_file(name: str, is_emptied: bool = True) -> int:
    """Open a file of ``-o``, made or emptied; return the descriptor.

    What is written is what was looked at: a file that is there is opened as it
    is, and emptied when the open one turned out to be that one; one that is not
    there is made, and only by us.
    """
    there = _looked_at(name)
    flags = os.O_WRONLY | os.O_CLOEXEC
    if there is None:
        return os.open(name, flags | os.O_CREAT | os.O_EXCL, 0o664)
    why = _doubt(name, there)
    if why:
        raise OSError(errno.EACCES, why)
    if stat.S_ISLNK(there.st_mode):
        # Nobody but those who are trusted can have changed it since.
        fd = os.open(name, flags | os.O_CREAT, 0o664)
    else:
        fd = os.open(name, flags | os.O_NOFOLLOW)
    try:
        status = os.fstat(fd)
        if not (stat.S_ISLNK(there.st_mode) or os.path.samestat(status, there)):
            raise OSError(errno.EACCES, "another file has taken its place")
        if is_emptied and stat.S_ISREG(status.st_mode):
            os.ftruncate(fd, 0)
    except OSError:
        os.close(fd)
        raise
    return fd


def _made(name: str) -> int:
    """Make a file that nobody asked for by this name; -1 where something has it, or none can."""
    try:
        return os.open(name, os.O_WRONLY | os.O_CLOEXEC | os.O_CREAT | os.O_EXCL, 0o664)
    except OSError:
        return -1


class File(Sink):
    """A file named by ``-o``, or the row of files that ``-S`` makes of it."""

    def __init__(self, pattern: str, size: int = 0, keep: int = 0) -> None:
        self._pattern = pattern
        self._size = size
        self._keep = keep
        self._number = 0
        self._written = 0
        self._names: List[str] = []
        self._kept = Safekeeping()
        name = place_of(pattern, 0 if size else None)
        super().__init__(self._open(name))
        self._names.append(name)

    def _open(self, name: str) -> int:
        try:
            return open_file(name)
        except OSError as error:
            raise RunError(f"Couldn't open output file '{name}': {error.strerror}") from None

    def write(self, block: memoryview) -> None:
        """Take a block; starts a new file first when this one is full."""
        if self._size and self._written and self._written + len(block) > self._size:
            self.rotate()
        self._written += len(block)
        super().write(block)

    def rotate(self) -> None:
        """Go on with the next file; drop the oldest when there are more than shall be kept.

        The file before is brought to the disk: it is whole then, whatever becomes of the
        machine. Until then the next one has another name, where there is a free one.
        """
        try:
            # Before the next one is there: who sees that knows which ones are safe.
            self._kept.finish()
        except OSError as error:
            self.fail(error)
        old, name = self.fd, self._names[-1]
        self._number += 1
        self._written = 0
        next_name = place_of(self._pattern, self._number)  # SIGUSR2 numbers without -S, too
        waiting = f"{next_name}.new"
        fd = -1 if os.path.lexists(next_name) else _made(waiting)
        self.fd = fd if fd >= 0 else self._open(next_name)
        self._names.append(next_name)
        self._kept.take(old, name, (waiting, next_name) if fd >= 0 else None)
        while self._keep and len(self._names) > self._keep:
            try:
                os.unlink(self._names.pop(0))
            except OSError:
                pass

    def fail(self, error: OSError) -> None:
        """Raise `RunError`: a full disk is the user's business."""
        name = error.filename or self._names[-1]
        raise RunError(f"Couldn't write '{name}': {error.strerror}")

    def close(self) -> None:
        """Close the last file; what could not be written of a row of files is an error."""
        if not self._number:
            os.close(self.fd)
            return
        try:
            self._kept.take(self.fd, self._names[-1])
            self._kept.finish()
        except OSError as error:
            self.fail(error)


def make_sinks(cpus: List[int], output: "str | None", size: int, keep: int) -> List[Sink]:
    """Make one sink per output file of the module: one, or in bulk mode one for each CPU."""
    if not cpus:
        return [File(output, size, keep)] if output else [StandardOutput()]
    if output == os.devnull:  # its neighbours would be files in /dev
        return [File(output, size, keep) for _ in cpus]
    stem = f"{output}_" if output else "stpd_cpu"
    return [File(f"{stem}{cpu}", size, keep) for cpu in cpus]
