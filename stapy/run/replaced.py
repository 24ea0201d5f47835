"""Whether the files that places are in are those that programs are run from.

A package manager puts a new file at the old one's path: what is started from then on is another
program, in which nothing is armed, and nothing in its silence says so.  Nor does anything when all
that runs is another file of that name.
"""

from __future__ import annotations

import os
import time

from . import inside
from .printable import one_line
from .programs import program_build_id
from .regular import open_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Dict, List, Optional, Set, Tuple

    from .ground.manifest import Manifest

INTERVAL = 10.0  # seconds between two looks
PATIENCE = 2.0  # seconds for all processes, of which there may be many thousands
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
            found = None if _is_of_one(path) or not row.get("identity") else _look(path, None)
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
            now = _look(path, held)
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
        """Say of files that nobody has in memory which process has another one of that name.

        Of none, when there was no time to look at all processes.
        """
        wanted: "Dict[str, List[str]]" = {}
        for path in self._held:
            wanted.setdefault(_key(path), []).append(path)
        had: "Set[str]" = set()
        others: "Dict[str, Tuple[str, str]]" = {}
        is_hidden = False
        until = time.monotonic() + PATIENCE
        for pid in filter(str.isdigit, os.listdir("/proc")):
            if time.monotonic() > until:
                return []
            try:
                code = _code_of(pid, [os.fsencode(key) for key in wanted])
            except PermissionError:
                is_hidden = True
                continue
            for inode, name in code:
                paths = wanted.get(_key(name.replace(_DELETED, "")), [])
                ours = {path for path in paths if self._is_at(path, inode, name, pid)}
                had |= ours
                for path in () if ours else paths:
                    others.setdefault(path, (pid, name))
        # Root lacks at most what a container's host hides.
        who = "nobody of yours" if is_hidden and os.geteuid() != 0 else "nobody"
        return [who + _other(path, *one) for path, one in sorted(others.items()) if path not in had]

    def _is_at(self, path: str, inode: int, name: str, pid: str) -> bool:
        """Tell whether a file that a process has the code of is the one at a path."""
        return inode == self._held[path][1] or (name == path and _same_mounts(pid))


def _key(path: str) -> str:
    """Cut a path to a name; of a library with the number that means it when it is loaded."""
    name, is_library, version = os.path.basename(path).partition(".so.")
    return name + is_library + version.split(".")[0]


def _code_of(pid: str, names: "List[bytes]") -> "List[Tuple[int, str]]":
    """List inode and name of each file that a process has the code of, if one has such a name.

    Raises `PermissionError` for a process that is not ours to look at.
    """
    try:
        with open(f"/proc/{pid}/maps", "rb") as file:
            text = file.read()
    except PermissionError:
        raise
    except OSError:
        return []  # it has ended, or is the kernel's
    if not any(name in text for name in names):
        return []
    rows = [line.split(None, 5) for line in text.split(b"\n")]
    return [
        (int(row[4]), os.fsdecode(row[5]))
        for row in rows
        if len(row) == 6 and b"x" in row[1] and row[5].startswith(b"/")
    ]


def _same_mounts(pid: str) -> bool:
    try:
        return os.path.samefile(f"/proc/{pid}/ns/mnt", "/proc/self/ns/mnt")
    except OSError:
        return False


def _other(path: str, pid: str, name: str) -> str:
    text = f" has {inside.told(path)} in memory; process {pid} has "
    if name.endswith(_DELETED):
        return text + f"one that was deleted: process({pid}) means what that has"
    if name == inside.shown(path):
        return text + f"that of its own mount namespace: --target-namespaces={pid} means that"
    return text + f"'{one_line(name)}'"


def _is_of_one(path: str) -> bool:
    return path.startswith("/proc/") and any(part in path for part in _OF_ONE)


def _look(path: str, known: "Optional[Tuple[int, int]]") -> "Optional[Tuple[int, int]]":
    """Tell which file is at a path, None for none, ``known`` when that cannot be told."""
    try:
        place = inside.open_path(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return known
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
