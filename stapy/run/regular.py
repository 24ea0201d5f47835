"""Opening files that others may replace: what stands at a path may be a device a moment later."""

from __future__ import annotations

import errno
import os
import stat

from .inside import open_path


def open_place(place: int) -> int:
    """Open for reading what an ``O_PATH`` descriptor stands for."""
    return os.open(f"/proc/self/fd/{place}", os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)


def open_regular(path: str) -> int:
    """Open a regular file for reading; anything else, which opening may set off, is not opened.

    ``/proc/PID/root/…`` is what that process has there, see `inside`.

    Raises `OSError`, with EINVAL for what is no regular file.
    """
    place = open_path(path)
    try:
        if not stat.S_ISREG(os.fstat(place).st_mode):
            raise OSError(errno.EINVAL, "not a file")
        return open_place(place)
    finally:
        os.close(place)
