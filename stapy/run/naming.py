"""Who may load a module under which name: one session at a time asks, a taken name is changed."""

from __future__ import annotations

import os
import time

from .elf import ModuleFile
from .errors import RunError

NAME_BYTES = 56  # with the NUL; four more on 32 bits
STRUCTURE = ".gnu.linkonce.this_module"
SIGNED = b"~Module signature appended~\n"
PATIENCE = 5.0


class Turn:
    """Held while a module is looked for and loaded, or unloaded.

    Otherwise two consumers of one script could each take the other's fresh
    module for one that a killed consumer left.  The lock is on a folder that
    every process may open: who keeps it for ever delays us, but no more.
    """

    def __init__(self, path: str = "/sys/module", patience: float = PATIENCE) -> None:
        self._path = path
        self._patience = patience
        self._fd = -1

    def __enter__(self) -> Turn:
        import fcntl

        try:
            self._fd = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            return self
        end = time.monotonic() + self._patience
        while True:
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return self
            except BlockingIOError:
                if time.monotonic() >= end:
                    return self
                time.sleep(0.01)
            except OSError:
                return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def end(self) -> None:
        """Let the next one go on; nothing when that happened already."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def state_of(name: str, folder: str = "/sys/module") -> str:
    """What a module says of its session: "loaded", "running", "stopped"; "" when none is there."""
    try:
        with open(f"{folder}/{name}/parameters/stapy_state", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def unique(name: str, number: int) -> str:
    """A name for a second session of the same module."""
    tail = f"__{number}"
    return name[: NAME_BYTES - 1 - len(tail)] + tail


def renamed(module: ModuleFile, name: str) -> bytes:
    """The module's file with another name in the structure that the kernel takes it from."""
    data = bytearray(module.elf.data)
    start, size = module.elf.place(STRUCTURE)
    old = module.name.encode() + b"\0"
    at = data.find(old, start, start + size)
    if at < 0 or at + NAME_BYTES > start + size:
        raise RunError(f"module '{module.path}' cannot be given another name")
    data[at : at + NAME_BYTES] = name.encode("ascii").ljust(NAME_BYTES, b"\0")
    # The signature is for the old name: a kernel that insists on one shall say so.
    return bytes(data[: -len(SIGNED)] if module.signed else data)
