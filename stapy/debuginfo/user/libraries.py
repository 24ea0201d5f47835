"""The libraries that a program is loaded with, as the dynamic linker would find them.

Neither the linker nor the program is run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from stapy.debuginfo import view
from stapy.debuginfo.errors import DebuginfoError
from stapy.debuginfo.user import processes
from stapy.debuginfo.user.linker_cache import cached
from stapy.kernel import roots
from stapy.run.ground.linker_cache import CACHE, FOLDERS

if TYPE_CHECKING:
    from stapy.debuginfo.user.file import UserFile
    from stapy.debuginfo.user.programs import Programs

_MOST = 4096  # libraries of one program


def loaded_with(programs: Programs, file: UserFile) -> list[str]:
    """List paths, without links, of all libraries a program needs, and of those they need."""
    real = _real_of(file)
    known = cached() if real is view.real else cached(Path(CACHE))
    found: dict[str, None] = {}
    waiting = [file]
    while waiting and len(found) < _MOST:
        needing = waiting.pop(0)
        for name in needing.dynamic.needed:
            for candidate in _candidates(name, needing, file, known):
                path = real(candidate)
                if path in found:
                    break
                try:
                    library = programs.open(path)
                except (DebuginfoError, OSError):
                    continue  # of another machine, or not there: the linker goes on looking
                found[path] = None
                waiting.append(library)
                break
    return list(found)


def _real_of(file: UserFile) -> Callable[[str], str]:
    """Choose what resolves links for a program: as the process sees them whose files it is of."""
    return view.real if view.is_ours() or view.covers(file.path) else os.path.realpath


def _candidates(
    name: str, needing: UserFile, program: UserFile, known: dict[str, str]
) -> Iterator[str]:
    if "/" in name:
        yield name
        return
    own = needing.dynamic
    # A runpath takes the place of the rpath, which those that are loaded later inherit.
    if not own.runpath:
        for file in (needing, program):
            for folder in _folders(file.dynamic.rpath, file):
                yield f"{folder}/{name}"
    for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":"):
        if folder:
            yield f"{folder}/{name}"
    for folder in _folders(own.runpath, needing):
        yield f"{folder}/{name}"
    if name in known:
        yield known[name]
    for folder in FOLDERS:
        yield f"{folder}/{name}"


def _folders(text: str, file: UserFile) -> Iterator[str]:
    origin = str(file.path.parent)
    for folder in text.split(":"):
        if folder:
            yield folder.replace("${ORIGIN}", origin).replace("$ORIGIN", origin)


def matching(programs: Programs, file: UserFile, pattern: str) -> list[str]:
    """Find libraries of a program by pattern; one by full path need not be needed."""
    if "/" in pattern and not any(char in pattern for char in "*?["):
        path = _real_of(file)(pattern)
        return [path] if view.is_file(path) else []
    needed = loaded_with(programs, file)
    names = {
        path: {view.shown(path), path.rpartition("/")[2], _soname(programs, path)}
        for path in needed
    }
    return [path for path in needed if any(fnmatchcase(name, pattern) for name in names[path])]


def matching_in(programs: Programs, pid: int, pattern: str) -> list[str]:
    """Find libraries that a process has loaded, by pattern of their names or paths.

    A full path, as the process sees it, need not be loaded.
    """
    loaded = processes.libraries_of(pid)
    if "/" in pattern and not any(char in pattern for char in "*?["):
        inside = str(roots.inside(Path(f"/proc/{pid}/root"), pattern))
        found = [path for _, path in loaded if _is_same(inside, path)]
        if found:
            return found[:1]
        if processes.sees_our_files(pid):
            return [os.path.realpath(pattern)] if view.is_file(pattern) else []
        return [inside] if view.is_file(inside) else []
    chosen = []
    for name, path in loaded:
        try:
            names = (name, path, name.rpartition("/")[2], _soname(programs, path))
        except DebuginfoError:
            continue  # code of a file that is no library
        if any(fnmatchcase(word, pattern) for word in names):
            chosen.append(path)
    return chosen


def _is_same(path: str, other: str) -> bool:
    try:
        return Path(path).samefile(other)
    except OSError:
        return False


def _soname(programs: Programs, path: str) -> str:
    return programs.open(path).dynamic.soname
