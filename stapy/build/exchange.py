"""Files that go into a container and come out of it again: copied, never shared.

Whatever runs in a container may put a link, a pipe or another file where we are about to write or
read.  So it has a copy of our folder of its own, shown to it under our folder's name.  What we have
made is copied there before a program runs, what that has made is copied back: regular files only,
of a bounded size, found without following links.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A device or a pipe in place of a file must not make us wait.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_DEPTH = 16  # folders in folders; kbuild makes two or three
MOST_FILES = 20_000
MOST_BYTES = 1 << 30  # a kit is 60 MB
_PIECE = 1 << 20

# What tells a file from what was in its place before.
Stamp = tuple[int, int, int, int]


class ExchangeError(Exception):
    """What came out of a container is not believed."""


class Exchange:
    """Our folder and the container's copy of it.

    What has not changed since ``since``, a time by the clock of files, stays here: the folder may
    be one that the user named, with anything in it, temporary folders and ``theirs`` as well.
    """

    def __init__(self, ours: Path, theirs: Path, since: int) -> None:
        self.ours = ours
        self.theirs = theirs
        above = theirs.parent.stat()
        self._all_copies = above.st_dev, above.st_ino
        self._since = since
        self._seen: dict[tuple[Path, str], Stamp] = {}
        self._bytes = 0
        self._files = 0

    def give(self) -> None:
        """Copy what we have made since the last time."""
        self._copy(self.ours, self.theirs, given=True)

    def take(self) -> None:
        """Copy what was made in the container; `ExchangeError` for anything but plain files."""
        self._copy(self.theirs, self.ours, given=False)

    def _copy(self, source: Path, target: Path, *, given: bool) -> None:
        here, there = os.open(source, _FOLDER), os.open(target, _FOLDER)
        try:
            self._copy_folder(here, there, "", given, 0)
        finally:
            os.close(here)
            os.close(there)

    def _copy_folder(self, here: int, there: int, place: str, given: bool, depth: int) -> None:
        for name, status in _entries(here):
            path = f"{place}{name}"
            if stat.S_ISDIR(status.st_mode):
                if given and (status.st_dev, status.st_ino) == self._all_copies:
                    continue
                if depth < _DEPTH:
                    self._enter(here, there, name, path, given, depth)
                elif not given:
                    raise ExchangeError(f"'{self.ours}/{path}' is too deep")
                continue
            if self._is_known(given, path, status):
                continue
            if not stat.S_ISREG(status.st_mode):
                if given:
                    continue
                raise ExchangeError(f"'{self.ours}/{path}' is not a regular file")
            self._copy_file(here, there, name, path, given)

    def _enter(self, here: int, there: int, name: str, path: str, given: bool, depth: int) -> None:
        """Go on with a folder, made on the other side if it is not there."""
        inner = outer = -1
        try:
            inner = os.open(name, _FOLDER, dir_fd=here)
            try:
                outer = os.open(name, _FOLDER, dir_fd=there)
            except FileNotFoundError:
                os.mkdir(name, 0o700, dir_fd=there)
                outer = os.open(name, _FOLDER, dir_fd=there)
                if given:
                    os.fchmod(outer, 0o777)  # nobody but its user gets as far as this
            self._copy_folder(inner, outer, path + "/", given, depth + 1)
        except OSError as error:
            raise ExchangeError(f"'{self.ours}/{path}' is no folder: {error.strerror}") from None
        finally:
            for fd in (inner, outer):
                if fd >= 0:
                    os.close(fd)

    def _copy_file(self, here: int, there: int, name: str, path: str, given: bool) -> None:
        try:
            source = os.open(name, _READ, dir_fd=here)
        except OSError as error:
            raise ExchangeError(f"'{self.ours}/{path}': {error.strerror}") from None
        try:
            status = os.fstat(source)
            if not stat.S_ISREG(status.st_mode):
                raise ExchangeError(f"'{self.ours}/{path}' is not a regular file")
            if not given:
                self._count(path, status.st_size)
            # Never into what is there: it may be a link, or our cache may have its file as well.
            if _status(there, name) is not None:
                os.unlink(name, dir_fd=there)
            made = os.open(name, _WRITE, 0o644, dir_fd=there)
            try:
                _pour(source, made, status.st_size)
                if given:
                    os.fchmod(made, 0o644)
                copy = os.fstat(made)
            finally:
                os.close(made)
        except OSError as error:
            raise ExchangeError(f"'{self.ours}/{path}': {error.strerror}") from None
        finally:
            os.close(source)
        ours, theirs = (status, copy) if given else (copy, status)
        self._seen[self.ours, path] = _stamp(ours)
        self._seen[self.theirs, path] = _stamp(theirs)

    def _is_known(self, given: bool, path: str, status: os.stat_result) -> bool:
        """Tell whether the other side has a file already, or shall never have it."""
        side = self.ours if given else self.theirs
        if (side, path) not in self._seen:
            return given and status.st_ctime_ns < self._since
        return self._seen[side, path] == _stamp(status)

    def _count(self, path: str, size: int) -> None:
        self._bytes += size
        self._files += 1
        if self._bytes > MOST_BYTES:
            raise ExchangeError(
                f"'{self.ours}/{path}' is more than the {MOST_BYTES >> 20} MB taken"
            )
        if self._files > MOST_FILES:
            raise ExchangeError(f"'{self.ours}/{path}' is one of more than {MOST_FILES} files")


def _entries(folder: int) -> Iterator[tuple[str, os.stat_result]]:
    for name in sorted(os.listdir(folder)):
        status = _status(folder, name)
        if status is not None:  # it has been removed meanwhile
            yield name, status


def _status(folder: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _stamp(status: os.stat_result) -> Stamp:
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_mode


def _pour(source: int, target: int, size: int) -> None:
    """Copy as many bytes as the file had when it was looked at: it may grow for ever."""
    while size > 0:
        piece = os.read(source, min(size, _PIECE))
        if not piece:
            return
        size -= len(piece)
        while piece:
            piece = piece[os.write(target, piece) :]
