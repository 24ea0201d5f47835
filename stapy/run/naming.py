"""Who may load a module under which name: one session at a time asks, a taken name is changed."""

from __future__ import annotations

import os
import time

from . import mark
from .elf import SIGNED, STRUCTURE, ModuleFile
from .errors import RunError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Sequence, Union

NAME_BYTES = 56  # with the NUL; four more on 32 bits
LOCK = "stapy-run.lock"
# Folders of root that every running system has; only root may open the file in them.
LOCK_FOLDERS = ("/run", "/dev")
PATIENCE = 5.0


class Turn:
    """Held while a module is looked for and loaded, or unloaded.

    Otherwise two consumers of one script could each take the other's fresh
    module for one that a killed consumer left.  The lock is on a file that only
    root can open: nobody else can hold us up, and one of root's that
    never ends delays us, but no more.
    """

    def __init__(self, folders: Sequence[str] = LOCK_FOLDERS, patience: float = PATIENCE) -> None:
        self._folders = folders
        self._patience = patience
        self._fd = -1

    def __enter__(self) -> Turn:
        import fcntl

        self._fd = self._open()
        end = time.monotonic() + self._patience
        while self._fd >= 0:
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= end:
                    break
                time.sleep(0.01)
            except OSError:
                break
        return self

    def _open(self) -> int:
        """Open the lock's file; -1 when there is no place for it."""
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        for folder in self._folders:
            try:
                fd = os.open(f"{folder}/{LOCK}", flags, 0o600)
            except OSError:
                continue
            status = os.fstat(fd)
            # What somebody else made, or may open, is no lock of ours.
            if status.st_uid == os.geteuid() and not status.st_mode & 0o077:
                return fd
            os.close(fd)
        return -1

    def __exit__(self, *error: object) -> None:
        self.end()

    def end(self) -> None:
        """Let the next one go on; nothing when that happened already."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def unique(name: str, number: Union[int, str]) -> str:
    """Make a name for a second session of the same module."""
    tail = f"__{number}"
    return name[: NAME_BYTES - 1 - len(tail)] + tail


def free_name(name: str, number: int) -> str:
    """Find a name for a second session that nothing in the kernel has."""
    found = unique(name, number)
    more = 1
    while mark.is_loaded(found):
        found = unique(name, f"{number}_{more}")
        more += 1
    return found


def renamed(module: ModuleFile, name: str) -> bytes:
    """Copy the module's file with another name in the structure the kernel takes it from.

    Raises `RunError` when that has no room.
    """
    data = bytearray(module.elf.data)
    start, size = module.elf.place(STRUCTURE)
    old = module.name.encode() + b"\0"
    at = data.find(old, start, start + size)
    if at < 0 or at + NAME_BYTES > start + size:
        raise RunError(f"module '{module.path}' cannot be given another name")
    data[at : at + NAME_BYTES] = name.encode("ascii").ljust(NAME_BYTES, b"\0")
    # The signature is for the old name: a kernel that insists on one shall say so.
    return bytes(data[: -len(SIGNED)] if module.signed else data)
