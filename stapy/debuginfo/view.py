"""Whose files the names of programs mean: ours, or those of a process (``--target-namespaces``).

Its mount namespace is looked into from outside, by ``/proc/PID/root``: a path that is found there
begins with that, so whoever opens it finds the file without being told of any namespace.  Links
are followed as that process would follow them, for the kernel would take absolute ones for ours.
"""

from __future__ import annotations

import os
from pathlib import Path

from stapy.kernel.roots import inside

_root = ""


def look_in(pid: int | None) -> None:
    """Let names mean files of a process from now on; of our own without one."""
    global _root
    _root = f"/proc/{pid}/root" if pid else ""


def root() -> str:
    """The folder in front of all paths that are looked up, "" for our own."""
    return _root


def is_ours() -> bool:
    """True where names mean our own files."""
    return not _root


def covers(path: Path | str) -> bool:
    """True for a path that leads into the namespace of that process."""
    return bool(_root) and str(path).startswith(_root + "/")


def real(path: str) -> str:
    """The path without links; one that has been found here before stays here."""
    if not _root:
        return os.path.realpath(path)
    found = inside(Path(_root), path.removeprefix(_root))
    return str(found) if str(found) != _root else _root + "/"


def placed(pattern: str) -> str:
    """A pattern of paths, as it is to be searched from outside."""
    if not _root:
        return pattern
    from glob import escape

    # Links on the way to the first wildcard lead somewhere there, not here.
    parts = pattern.split("/")
    plain = next(i for i, part in enumerate([*parts, "*"]) if set(part) & set("*?["))
    return "/".join([escape(real("/".join(parts[:plain]))), *parts[plain:]])


def place() -> str:
    """Words for a message that says where something was not found, "" for our own files."""
    return "" if not _root else f" in the name spaces of process {_root.split('/')[2]}"


def shown(path: Path | str) -> str:
    """A path as that process has it, for points and messages."""
    return str(path).removeprefix(_root) if covers(path) else str(path)
