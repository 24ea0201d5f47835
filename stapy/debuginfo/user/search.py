"""From the name of a program in a probe point to the file that is meant."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path


def program(name: str, path: str | None = None) -> str | None:
    """Find the file that a name means, as a path without links; None when there is none.

    A name with a slash is a path; another one is looked for like a command, in the
    folders of ``path`` (default: ``$PATH``).  The file of a path need not be there,
    since a module may run on another machine.
    """
    if not name:
        return None
    if "/" in name:
        return os.path.realpath(name)
    for folder in _folders(path):
        candidate = Path(folder, name)
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return os.path.realpath(candidate)
    return None


def commands(path: str | None = None) -> list[str]:
    """Names of all commands in the folders of ``path`` (default: ``$PATH``), for suggestions."""
    found: set[str] = set()
    for folder in _folders(path):
        try:
            found.update(entry.name for entry in Path(folder).iterdir())
        except OSError:
            continue
    return sorted(found)


def _folders(path: str | None) -> Iterator[str]:
    text = os.environ.get("PATH", os.defpath) if path is None else path
    return (folder or "." for folder in text.split(os.pathsep))
