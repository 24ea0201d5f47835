"""Folders of shared connections that killed commands left in /tmp."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import stat
import time
from pathlib import Path

_NAME = re.compile(r"stapy-ssh-([0-9]+)-[0-9a-f]{12}")
_FRESH = 60.0  # seconds: a command of another container, whose number means nothing here, begins


def folder_name() -> str:
    """Make up a name for our folder that `sweep` knows."""
    return f"stapy-ssh-{os.getpid()}-{os.urandom(6).hex()}"


def sweep(below: Path = Path("/tmp")) -> None:
    """Remove those of this user whose command is dead and which no connection uses."""
    try:
        names = [path.name for path in below.iterdir()]
    except OSError:
        return
    for name in names:
        match = _NAME.fullmatch(name)
        if match and not _is_alive(int(match[1])):
            with contextlib.suppress(OSError):
                _remove(below / name)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        pass  # somebody else's
    return True


def _remove(folder: Path) -> None:
    """Remove one, unless it is somebody else's, or in use, or has what is none of ours."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        status = os.fstat(fd)
        if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) != 0o700:
            return
        if abs(time.time() - status.st_mtime) < _FRESH:
            return
        names = os.listdir(fd)  # noqa: PTH208
        for name in names:
            mode = os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode
            if not stat.S_ISSOCK(mode) or _is_heard(f"/proc/self/fd/{fd}/{name}"):
                return
        for name in names:
            os.unlink(name, dir_fd=fd)
    finally:
        os.close(fd)
    folder.rmdir()


def _is_heard(place: str) -> bool:
    """Tell whether a connection listens at a socket; doubt counts as yes."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asks:
        asks.setblocking(False)
        try:
            asks.connect(place)
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:
            pass
    return True
