"""The libraries that a program is loaded with, as the dynamic linker would find them.

``/etc/ld.so.cache`` is read as data; neither the linker nor the program is run.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from stapy.debuginfo.errors import DebuginfoError

if TYPE_CHECKING:
    from stapy.debuginfo.user.file import UserFile
    from stapy.debuginfo.user.programs import Programs

CACHE = Path("/etc/ld.so.cache")
FOLDERS = ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64",
           "/lib", "/usr/lib")  # fmt: skip
_MAGIC = b"glibc-ld.so.cache1.1"
_HEADER, _ROW = 48, struct.Struct("<iIIIQ")
_X86_64 = 0x0300  # flag of a row: a library of x86-64
_MOST = 4096  # libraries of one program


def cached(path: Path = CACHE) -> dict[str, str]:
    """Paths of libraries by name from the linker's cache; the first one of a name counts."""
    try:
        data = path.read_bytes()
    except OSError:
        return {}
    start = data.find(_MAGIC)
    if start < 0 or len(data) < start + _HEADER:
        return {}
    (count,) = struct.unpack_from("<I", data, start + len(_MAGIC))
    found: dict[str, str] = {}
    for at in range(min(count, (len(data) - start - _HEADER) // _ROW.size)):
        flags, name, value, _, _ = _ROW.unpack_from(data, start + _HEADER + at * _ROW.size)
        if flags & 0xFF00 == _X86_64:
            found.setdefault(_text(data, start + name), _text(data, start + value))
    return found


def _text(data: bytes, at: int) -> str:
    return data[at : data.find(b"\0", at)].decode("utf-8", "surrogateescape")


def loaded_with(programs: Programs, file: UserFile) -> list[str]:
    """Paths without links of all libraries that a program needs, also those of its libraries."""
    known = cached()
    found: dict[str, None] = {}
    waiting = [file]
    while waiting and len(found) < _MOST:
        needing = waiting.pop(0)
        for name in needing.dynamic.needed:
            for candidate in _candidates(name, needing, file, known):
                path = os.path.realpath(candidate)
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
    """Libraries of a program by pattern of their names; one by full path need not be needed."""
    if "/" in pattern and not any(char in pattern for char in "*?["):
        return [os.path.realpath(pattern)] if Path(pattern).is_file() else []
    needed = loaded_with(programs, file)
    names = {path: {path, path.rpartition("/")[2], _soname(programs, path)} for path in needed}
    return [path for path in needed if any(fnmatchcase(name, pattern) for name in names[path])]


def _soname(programs: Programs, path: str) -> str:
    return programs.open(path).dynamic.soname
