"""The files that a pattern of paths stands for."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from glob import escape, glob


def matches(pattern: str) -> Iterator[str]:
    """Yield the names that a pattern of paths stands for; ``**`` is all folders below one.

    Links to folders are not followed by ``**``: they may lead in a circle.
    """
    parts = pattern.split("/")
    if "**" not in parts:
        yield from glob(pattern)  # noqa: PTH207 - it may be relative
        return
    at = parts.index("**")
    while at + 1 < len(parts) and parts[at + 1] == "**":
        del parts[at + 1]
    above = "/".join(parts[:at]) or ("/" if at else ".")
    for top in glob(above):  # noqa: PTH207
        for folder, below, names in os.walk(top):
            below[:] = [name for name in below if not name.startswith(".")]
            if parts[at + 1 :]:
                yield from matches("/".join([escape(folder), *parts[at + 1 :]]))
            else:
                yield from (f"{folder}/{name}" for name in names if not name.startswith("."))


def files_of(names: list[str], real: Callable[[str], str]) -> list[str]:
    """Resolve names of files to paths without links, sorted, each once; folders are left out.

    A folder is resolved once, for a pattern with ``**`` may have a hundred thousand files.
    """
    folders: dict[str, str] = {}
    found = set()
    for name in names:
        folder, slash, base = name.rpartition("/")
        try:
            mode = os.lstat(name).st_mode
        except OSError:
            continue
        if stat.S_ISLNK(mode) or not slash or base in ("", ".", ".."):
            found.add(real(name))
        elif not stat.S_ISDIR(mode):
            if folder not in folders:
                folders[folder] = real(folder or "/").rstrip("/")
            found.add(f"{folders[folder]}/{base}")
    return sorted(found)
