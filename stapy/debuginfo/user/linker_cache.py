"""Where the dynamic linker of those whose files are meant finds libraries."""

from __future__ import annotations

import os
from pathlib import Path

from stapy.debuginfo import view
from stapy.debuginfo.elf import open_regular
from stapy.run.ground.linker_cache import CACHE, FOLDERS, MOST, libraries


def cached(path: Path | None = None, levels: list[str] | None = None) -> dict[str, str]:
    """Read the linker's cache: library names to paths, of several the one that it would take.

    ``levels`` are the kinds of processors whose libraries are run (default: of this one), ``path``
    is the cache (default: of those whose files are meant).
    """
    try:
        with open_regular(path or Path(view.real(CACHE))) as file:
            return libraries(file.read(MOST), levels)
    except OSError:
        return {}


def by_name(name: str) -> str | None:
    """Find a library as a program without a path of its own would; None for what is no library.

    The names are those of files, ``libc.so.6``.  The path is without links.
    """
    if ".so" not in name or "/" in name:
        return None
    places = [f"{folder}/{name}" for folder in _told_folders()]
    places += [path for path in (cached().get(name),) if path]
    places += [f"{folder}/{name}" for folder in FOLDERS]
    return next((path for path in map(view.real, places) if view.is_file(path)), None)


def library_folders() -> list[str]:
    """List the folders where the linker may find libraries, in its order, each once."""
    known = [os.path.dirname(path) for path in cached().values()]  # noqa: PTH120 - of thousands
    return list(dict.fromkeys(map(_placed, [*_told_folders(), *known, *FOLDERS])))


def _placed(folder: str) -> str:
    return folder if view.is_ours() else view.real(folder)


def _told_folders() -> list[str]:
    return [folder for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
