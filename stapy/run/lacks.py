"""What this Python lacks: Debian's `python3-minimal` has no `ctypes`, `termios` or `resource`.

What can be done without is done without; for the rest one line says what is missing for what.
`tests/run/test_bare.py` runs all of us without what that package lacks.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List

# Where programs of the system are; root's PATH is not always root's.
_FOLDERS = ("/usr/sbin", "/sbin", "/usr/bin", "/bin")


def lacks(name: str) -> bool:
    """Tell whether a module of the standard library is not there."""
    try:
        __import__(name)
    except ImportError:
        return True
    return False


def advice(name: str) -> str:
    """Say how to come to a module of the standard library that is missing."""
    return f"this Python has no module {name}: apt-get install libpython3-stdlib"


def program(name: str) -> "List[str]":
    """Find a program of the system, as the first words of a command line; [] without it."""
    for folder in (*_FOLDERS, *os.get_exec_path()):
        path = f"{folder}/{name}"
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return [path]
    return []


def run(words: "List[str]", fd: int = -1) -> "tuple[int, str]":
    """Run a program of the system; return its status, as `os.waitpid` has it, and what it said.

    ``fd``: a file that it finds as descriptor 3. Keys that interrupt us do not reach it.
    """
    from .signals import signal

    heard, said = os.pipe()
    try:
        try:
            actions = [(os.POSIX_SPAWN_DUP2, said, 1), (os.POSIX_SPAWN_DUP2, said, 2)]
            if fd >= 0:
                actions.append((os.POSIX_SPAWN_DUP2, fd, 3))
            pid = os.posix_spawn(
                words[0],
                words,
                {"PATH": ":".join(_FOLDERS), "LC_ALL": "C"},  # for messages that we know
                file_actions=actions,
                setpgroup=0,
                setsigmask=(),
                setsigdef=(signal.SIGPIPE, signal.SIGCHLD),
            )
        finally:
            os.close(said)
        text = b""
        while len(text) < 1 << 16:
            block = os.read(heard, 4096)
            if not block:
                break
            text += block
    finally:
        os.close(heard)
    _, status = os.waitpid(pid, 0)
    return status, text.decode("utf-8", "replace").strip()
