"""Paths below a root, whose links are followed there and nowhere else.

Whoever may write there can exchange a folder for a link at any time, and the kernel would follow
one to a place of ours.  So folders are opened one by one, links are read and followed by us, and
".." goes back to the folder that we came from: no moment is left, and nothing leads out.  This is
what openat2() does with RESOLVE_IN_ROOT, for every kernel and without `ctypes`.
"""

from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List, Optional, Tuple

_LINKS = 40  # followed at most, as the kernel does
# The rest would be followed from our own root. Nobody can make a file of this name.
TOO_MANY_LINKS = "/proc/0/too-many-links"
_PLACE = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC


def _walk(root: int, name: str) -> Tuple[int, List[str], Optional[OSError]]:
    """Follow a path below an open folder: a descriptor, the names without links, what went wrong.

    The descriptor, ``O_PATH``, is of the last folder before what could not be opened; what would
    have come then is among the names as it was written.
    """
    way, parts, left = [os.dup(root)], name.split("/")[::-1], _LINKS
    names: List[str] = []
    failure: Optional[OSError] = None
    try:
        while parts:
            part = parts.pop()
            if part in ("", "."):
                continue
            if part == "..":
                del names[-1:]
                if len(way) > 1 and not failure:
                    os.close(way.pop())
                continue
            names.append(part)
            if failure:
                continue
            try:
                target, place = _step(way[-1], part)
                if target is not None and not left:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            except OSError as error:
                failure = error
                continue
            if target is None:
                way.append(place)
                continue
            left -= 1
            names.pop()
            if target.startswith("/"):
                names.clear()
                while len(way) > 1:
                    os.close(way.pop())
            parts += target.split("/")[::-1]
        return way.pop(), names, failure
    finally:
        for fd in way:
            os.close(fd)


def _step(folder: int, name: str) -> Tuple[Optional[str], int]:
    """Open an entry: a link gives where it leads and -1, any other None and its descriptor.

    Raises `OSError` when there is none.
    """
    place = os.open(name, _PLACE, dir_fd=folder)
    if not stat.S_ISLNK(os.fstat(place).st_mode):
        return None, place
    try:
        return os.readlink("", dir_fd=place), -1
    finally:
        os.close(place)


def open_below(root: str, name: str) -> int:
    """Open what a name means below a root, as an ``O_PATH`` descriptor; may raise `OSError`."""
    top = os.open(root, _FOLDER)
    try:
        place, _, failure = _walk(top, name)
    finally:
        os.close(top)
    if failure:
        os.close(place)
        raise failure
    return place


def real(root: str, name: str) -> str:
    """Find the file that a name means below a root: absolute links are followed there, not here.

    What is there may be exchanged at once: `open_below` opens it.
    """
    try:
        top = os.open(root, _FOLDER)
    except OSError:
        return root + os.path.normpath("/" + name)
    try:
        place, names, failure = _walk(top, name)
        os.close(place)
    finally:
        os.close(top)
    if failure and failure.errno == errno.ELOOP:
        return TOO_MANY_LINKS
    return "/".join([root, *names])
