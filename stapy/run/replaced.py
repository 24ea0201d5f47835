"""Whether the files that places are in are those that programs are run from.

A package manager puts a new file at the old one's path: what is started from then on is another
program, in which nothing is armed, and nothing in its silence says so.  Nor does anything when all
that runs is another file of that name.
"""

from __future__ import annotations

import os
import time

from . import inside
from .programs import program_build_id
from .regular import open_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Dict, Iterator, List, Optional, Set, Tuple

    from .ground.manifest import Manifest

INTERVAL = 10.0  # seconds between two looks
# What stands for a file of one process, by whatever name it has or had.
_OF_ONE = ("/exe", "/map_files/")
_DELETED = " (deleted)"  # behind the name, as the kernel tells it


class Replacements:
    """The files of a session by where they are; each that is another one by now is told once."""

    def __init__(self, manifest: Manifest, namespaces: int, tell: "Callable[[str], None]") -> None:
        """Note which files are there, right after they were handed over.

        ``tell`` prints a warning, ``namespaces`` is the process of -N.
        """
        self._tell = tell
        self._held: "Dict[str, Tuple[int, int]]" = {}
        for named, row in sorted((manifest.get("files") or {}).items()):
            path = inside.place(named, manifest, namespaces)
            found = None if _is_of_one(path) or not row.get("identity") else _look(path)
            if found:
                self._held[path] = found
        self._next = time.monotonic() + INTERVAL

    @property
    def patience(self) -> "Optional[int]":
        """Milliseconds until `serve` wants to be called, None for never."""
        if not self._held:
            return None
        return max(0, int((self._next - time.monotonic()) * 1000)) + 1

    def serve(self) -> None:
        """Look, when it is time to."""
        if self._held and time.monotonic() >= self._next:
            self.look()

    def look(self) -> None:
        """Tell of what was replaced or removed since the last look."""
        self._next = time.monotonic() + INTERVAL
        for path, held in list(self._held.items()):
            now = _look(path)
            if now == held:
                continue
            if now:
                self._tell(
                    f"{inside.told(path)} was replaced while the session ran: what is run from "
                    f"the new file{_build_id(path)} is not probed"
                )
            elif not path.startswith("/proc/"):  # the container has ended
                self._tell(
                    f"{inside.told(path)} was removed while the session ran: what is run from a "
                    "file that has taken its place is not probed"
                )
            del self._held[path]

    def elsewhere(self) -> "List[str]":
        """Say of files that nobody has in memory which process has another one of that name."""
        wanted = {_key(path): path for path in self._held}
        had: "Set[str]" = set()
        others: "Dict[str, str]" = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            for inode, name in _code_of(pid):
                path = wanted.get(_key(name.replace(_DELETED, "")), "")
                if not path:
                    continue
                of_ours = name == inside.shown(path) and _same_mounts(pid)
                if of_ours or inode == self._held[path][1]:
                    had.add(path)
                else:
                    others.setdefault(path, _other(path, pid, name))
        return [text for path, text in sorted(others.items()) if path not in had]


def _key(path: str) -> str:
    """Cut a path to a name; of a library with the number that means it when it is loaded."""
    name, is_library, version = os.path.basename(path).partition(".so.")
    return name + is_library + version.split(".")[0]


def _code_of(pid: str) -> "Iterator[Tuple[int, str]]":
    """Yield inode and name of each file that a process has the code of."""
    try:
        with open(f"/proc/{pid}/maps", "rb") as file:
            rows = [line.split(None, 5) for line in file]
    except OSError:
        return  # it has ended, is not ours, or is the kernel's
    for row in rows:
        if len(row) == 6 and b"x" in row[1] and row[5].startswith(b"/"):
            yield int(row[4]), os.fsdecode(row[5].rstrip(b"\n"))


def _same_mounts(pid: str) -> bool:
    try:
        return os.path.samefile(f"/proc/{pid}/ns/mnt", "/proc/self/ns/mnt")
    except OSError:
        return False


def _other(path: str, pid: str, name: str) -> str:
    text = f"nobody has {inside.told(path)} in memory; process {pid} has "
    if name.endswith(_DELETED):
        return text + f"one that was deleted: process({pid}) means what that has"
    if name == inside.shown(path):
        return text + f"that of its own mount namespace: --target-namespaces={pid} means that"
    return text + f"'{name}'"


def _is_of_one(path: str) -> bool:
    return path.startswith("/proc/") and any(part in path for part in _OF_ONE)


def _look(path: str) -> "Optional[Tuple[int, int]]":
    """Tell which file is at a path, None for none."""
    try:
        place = inside.open_path(path)
    except OSError:
        return None
    try:
        found = os.fstat(place)
    finally:
        os.close(place)
    return found.st_dev, found.st_ino


def _build_id(path: str) -> str:
    """Name the build that is at a path, "" for what has no build-id."""
    try:
        fd = open_regular(path)
    except OSError:
        return ""
    try:
        found = program_build_id(fd)
    except OSError:
        found = ""
    finally:
        os.close(fd)
    return f" (build-id {found})" if found else ""
