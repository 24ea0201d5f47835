"""Whose files the names of programs mean: ours, those of a process (``--target-namespaces``), or
those of a guest of another architecture (``--vm``), which has a file tree of its own.

A process's mount namespace is looked into from outside, by ``/proc/PID/root``: a path that is
found there begins with that, so whoever opens it finds the file without being told of any
namespace.  Links are followed as that process would follow them, for the kernel would take absolute
ones for ours.  A guest's tree is a folder here, which its paths begin with as long as they are
looked at; the module has them as the guest does (`there`).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from stapy.kernel.roots import inside, open_place, status

_WILDCARDS = set("*?[")
_root = ""
_is_tree = False  # the root is a folder of ours, which nobody knows where the module runs


def look_in(pid: int | None) -> None:
    """Let names mean files of a process from now on; of our own without one."""
    global _root, _is_tree
    _root, _is_tree = f"/proc/{pid}/root" if pid else "", False


def look_in_tree(folder: str) -> None:
    """Let names mean files of a tree from now on, which will be the root where the module runs."""
    global _root, _is_tree
    _root, _is_tree = folder, True


def is_tree() -> bool:
    """Tell whether names mean files of a tree."""
    return _is_tree


def there(path: Path | str) -> str:
    """Return how a file is called where the module runs."""
    return shown(path) if _is_tree else str(path)


def root() -> str:
    """Return the folder in front of all paths that are looked up, "" for our own."""
    return _root


def is_ours() -> bool:
    """Tell whether names mean our own files."""
    return not _root


def covers(path: Path | str) -> bool:
    """Tell whether a path leads into the namespace of that process."""
    return bool(_root) and str(path).startswith(_root + "/")


def real(path: str) -> str:
    """Resolve the links of a path; one that has been found here before stays here."""
    if not _root:
        return os.path.realpath(path)
    found = inside(Path(_root), path.removeprefix(_root))
    return str(found) if str(found) != _root else _root + "/"


def exists(path: Path | str) -> bool:
    """Tell whether something is there for us, with links followed where it lies."""
    try:
        status(path)
    except (OSError, ValueError):
        return False
    return True


def is_file(path: Path | str) -> bool:
    """Tell whether a file is there for us."""
    try:
        return stat.S_ISREG(status(path).st_mode)
    except (OSError, ValueError):
        return False


def is_command(path: str) -> bool:
    """Tell whether a file is there that we may run."""
    try:
        place = open_place(path)
    except (OSError, ValueError):
        return False
    try:
        is_regular = stat.S_ISREG(os.fstat(place).st_mode)
        return is_regular and os.access(f"/proc/self/fd/{place}", os.X_OK)
    finally:
        os.close(place)


def names_in(folder: Path | str) -> list[str]:
    """List the names in a folder; raises `OSError` for what is none."""
    place = open_place(folder)
    try:
        return os.listdir(f"/proc/self/fd/{place}")  # noqa: PTH208 - names are all that is asked
    finally:
        os.close(place)


def matching(pattern: str) -> list[str]:
    """List the files and folders that a pattern matches, as `glob.glob` finds ours."""
    if not _root:
        from glob import glob

        return glob(pattern, recursive=True)  # noqa: PTH207 - it may be relative
    return list(dict.fromkeys(_matching(_root, [part for part in pattern.split("/") if part])))


def _matching(folder: str, parts: list[str]) -> Iterator[str]:
    """Yield what matches below a folder there; each link is followed there first."""
    if not parts:
        yield folder
        return
    part, rest = parts[0], parts[1:]
    if not set(part) & _WILDCARDS:
        yield from _matching(real(f"{folder}/{part}"), rest)
        return
    if part == "**":  # any folders, or none; not those that links lead to, which may be above
        yield from _matching(folder, rest)
    for name, is_folder in _entries(folder):
        if name.startswith(".") and not part.startswith("."):
            continue
        if part == "**":
            if is_folder:
                yield from _matching(f"{folder}/{name}", parts)
            elif not rest:
                yield f"{folder}/{name}"
        elif fnmatchcase(name, part):
            yield from _matching(real(f"{folder}/{name}"), rest)


def _entries(folder: str) -> list[tuple[str, bool]]:
    """List names in a folder there, and whether they are folders; empty for what is none."""
    try:
        place = open_place(folder)
        try:
            with os.scandir(f"/proc/self/fd/{place}") as rows:
                return sorted((row.name, row.is_dir(follow_symlinks=False)) for row in rows)
        finally:
            os.close(place)
    except OSError:
        return []


def place() -> str:
    """Say for a message where something was not found, "" for our own files."""
    if _is_tree:
        return f" among the programs of guests, in {_root}"
    return "" if not _root else f" in the name spaces of process {_root.split('/')[2]}"


def shown(path: Path | str) -> str:
    """Cut a path to what that process has, for points and messages."""
    return str(path).removeprefix(_root) if covers(path) else str(path)


def without_root(text: str) -> str:
    """Cut the paths that a message names to what that process has."""
    return text.replace(_root + "/", "/") if _root else text
