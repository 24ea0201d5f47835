"""Files of users: new content, without a moment in which the old one is lost."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from stapy.paths import exists
from stapy.record import Record
from stapy.run.output import open_file, planted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from io import BufferedWriter


class WriteError(Exception):
    """A file cannot be written; the text is the message."""


class _Begun(Record):
    """A file that is written, beside the one whose place it takes."""

    fd: int
    name: str
    place: str

    def finish(self) -> None:
        """Take the place."""
        os.replace(self.name, self.place)  # noqa: PTH105

    def drop(self) -> None:
        """Leave what stands there."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.name)  # noqa: PTH108


def replace(path: Path, data: bytes, mode: int | None = None) -> None:
    """Put new content into a file, wholly or not at all; links to it and its owner stay.

    So does its mode, unless one is given.

    What is no regular file, as a pipe, is written to, and so is a file whose owner, access list
    or second name another file in its place would not have.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        path.write_bytes(data)
        return
    begun = _beside(os.path.realpath(path))
    if begun is None:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CLOEXEC), "wb") as file:
            _fill(file, data, mode)
        return
    try:
        with os.fdopen(begun.fd, "wb") as file:
            _fill(file, data, mode)
        begun.finish()
    except BaseException:
        begun.drop()
        raise


def create(path: Path, data: bytes, mode: int | None = None) -> None:
    """Make a new file, wholly or not at all; `FileExistsError` where one is."""
    with path.open("xb") as file:
        try:
            _fill(file, data, mode)
        except BaseException:
            path.unlink()
            raise


def _fill(file: BufferedWriter, data: bytes, mode: int | None) -> None:
    """Make this the content of a file, for good: also when the machine stops now."""
    if mode is not None:
        os.fchmod(file.fileno(), mode)
    file.write(data)
    file.truncate()
    file.flush()
    os.fsync(file.fileno())


@contextlib.contextmanager
def written(name: str) -> Iterator[Callable[[str], None]]:
    """Give what puts text into a file of ``-o``; raise `WriteError` when it cannot be written.

    What stands there gives way when all is written, and stays as it is after an error or Ctrl-C.
    What is no regular file, as a pipe, gets the text at once; so does a file whose folder we may
    not write to, or whose owner, access list or second name another file would not have.
    """
    begun = None
    try:
        begun = _begun(name)
        fd = begun.fd if begun else open_file(name)
    except OSError as error:
        raise _unwritable(name, error) from None
    try:
        with os.fdopen(fd, "wb", buffering=0) as file:

            def put(text: str) -> None:
                data = memoryview(text.encode("utf-8", "surrogateescape"))
                try:
                    while data:
                        data = data[file.write(data) or 0 :]
                except OSError as error:
                    raise _unwritable(name, error) from None

            yield put
            if begun:
                _settle(fd, name)
        if begun:
            _finish(begun, name)
    except BaseException:
        if begun:
            begun.drop()
        raise


def _settle(fd: int, name: str) -> None:
    try:
        os.fsync(fd)
    except OSError as error:
        raise _unwritable(name, error) from None


def _finish(begun: _Begun, name: str) -> None:
    try:
        begun.finish()
    except OSError as error:
        raise _unwritable(name, error) from None


def _unwritable(name: str, error: OSError) -> WriteError:
    return WriteError(f"'{name}' cannot be written: {error.strerror}")


def _begun(name: str) -> _Begun | None:
    """Begin a file beside a regular one, or one that is new; None where that has no place."""
    if why := planted(name):
        raise OSError(errno.EACCES, why)
    place = os.path.realpath(name)
    try:
        there = os.stat(name)  # noqa: PTH116
    except FileNotFoundError:
        if not os.path.basename(name):  # noqa: PTH119
            raise  # "", or a folder that is not there
        return _beside(place)
    if not stat.S_ISREG(there.st_mode) or _is_open(there) or not exists(place):
        return None
    os.close(open_file(name, is_emptied=False))  # may we write to it at all?
    try:
        return _beside(place)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise
        return None


def _is_open(there: os.stat_result) -> bool:
    """Tell whether a file is open here, as /dev/stdout: who has it open would not see another."""
    for number in os.listdir("/proc/self/fd"):  # noqa: PTH208
        with contextlib.suppress(OSError):
            if os.path.samestat(os.fstat(int(number)), there):
                return True
    return False


def _beside(place: str) -> _Begun | None:
    """Make a file that is to take a place; None where it would not be like what stands there."""
    there = os.stat(place) if os.path.lexists(place) else None  # noqa: PTH116
    if there and there.st_nlink > 1:
        return None
    mode = stat.S_IMODE(there.st_mode) if there else 0o666
    name = os.path.join(os.path.dirname(place), f".stapy-{secrets.token_hex(8)}")  # noqa: PTH118, PTH120
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    begun = _Begun(os.open(name, flags, mode & 0o666), name, place)
    if there:
        try:
            _make_alike(begun.fd, place, there)
        except BaseException as error:
            os.close(begun.fd)
            begun.drop()
            if isinstance(error, OSError):
                return None
            raise
    return begun


def _make_alike(fd: int, place: str, there: os.stat_result) -> None:
    """Give a new file owner, mode and attributes of another; `OSError` where we may not."""
    os.fchown(fd, there.st_uid, there.st_gid)
    os.fchmod(fd, stat.S_IMODE(there.st_mode))
    wanted, own = _attributes(place), _attributes(fd)  # access lists are among them
    for name in own.keys() - wanted.keys():
        os.removexattr(fd, name)
    for name, value in wanted.items():
        if own.get(name) != value:
            os.setxattr(fd, name, value)


def _attributes(file: int | str) -> dict[str, bytes]:
    try:
        return {name: os.getxattr(file, name) for name in os.listxattr(file)}
    except OSError as error:
        if error.errno == errno.ENOTSUP:
            return {}
        raise
