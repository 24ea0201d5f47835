"""What becomes of the files that places are in, as a process sees it that may wait for them."""

from __future__ import annotations

import os
import time

from . import inside
from .printable import one_line
from .programs import program_build_id
from .regular import open_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    from typing import Dict, List, Optional, Set, Tuple

    Held = Dict[str, Tuple[int, int]]  # device and inode of what was at a path

PATIENCE = 2.0  # seconds for all processes, of which there may be many thousands
LOOK, ELSEWHERE = b"l", b"e"
SAME, TOLD, END = b"s", b"t", b"e"  # begin an answer
_DELETED = " (deleted)"  # behind the name, as the kernel tells it


def serve(theirs: "_socket.socket", held: "Held") -> None:
    """Answer what the session asks, until it is no more.

    To `LOOK` there is an answer for each path that is still held, in their order: `SAME`, or `TOLD`
    and what to say, after which the path is not held any more.  To `ELSEWHERE` there is a hint in
    each, and `END`.  What is to be said is empty when there is nothing to say.
    """
    try:
        while True:
            asked = theirs.recv(1)
            if not asked:
                return
            if asked == LOOK:
                for path, known in list(held.items()):
                    text = _told(path, known)
                    if text is None:
                        theirs.send(SAME)
                    else:
                        del held[path]
                        theirs.send(TOLD + os.fsencode(text))
            else:
                for text in elsewhere(held):
                    theirs.send(TOLD + os.fsencode(text))
                theirs.send(END)
    except OSError:
        pass  # nobody listens


def _told(path: str, known: "Tuple[int, int]") -> "Optional[str]":
    """Call `change`; whatever goes wrong at one path, the others are looked at."""
    try:
        return change(path, known)
    except Exception:
        return None


def look(path: str, known: "Optional[Tuple[int, int]]") -> "Optional[Tuple[int, int]]":
    """Tell which file is at a path, None for none, ``known`` when that cannot be told."""
    try:
        place = inside.open_path(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return known
    try:
        found = os.fstat(place)
    except OSError:  # its server forgot it just now
        return known
    finally:
        os.close(place)
    return found.st_dev, found.st_ino


def change(path: str, known: "Tuple[int, int]") -> "Optional[str]":
    """Say that another file is at a path, or none; None when it is the same.

    "" when its container has ended, of which nobody needs to be told.
    """
    now = look(path, known)
    if now == known:
        return None
    if now:
        return (
            f"{inside.told(path)} was replaced while the session ran: what is run from "
            f"the new file{_build_id(path)} is not probed"
        )
    if path.startswith("/proc/"):
        return ""
    return (
        f"{inside.told(path)} was removed while the session ran: what is run from a "
        "file that has taken its place is not probed"
    )


def elsewhere(held: "Held") -> "List[str]":
    """Say of files that nobody has in memory which process has another one of that name.

    Of none, when there was no time to look at all processes.
    """
    wanted: "Dict[str, List[str]]" = {}
    for path in held:
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
            ours = {path for path in paths if _is_at(held, path, inode, name, pid)}
            had |= ours
            for path in () if ours else paths:
                others.setdefault(path, (pid, name))
    # Root lacks at most what a container's host hides.
    who = "nobody of yours" if is_hidden and os.geteuid() != 0 else "nobody"
    return [who + _other(path, *one) for path, one in sorted(others.items()) if path not in had]


def _is_at(held: "Held", path: str, inode: int, name: str, pid: str) -> bool:
    """Tell whether a file that a process has the code of is the one at a path."""
    return inode == held[path][1] or (name == path and _same_mounts(pid))


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
