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
from stapy.debuginfo.user import search

if TYPE_CHECKING:
    from stapy.debuginfo.user.file import UserFile
    from stapy.debuginfo.user.programs import Programs

CACHE = Path("/etc/ld.so.cache")
CPUINFO = Path("/proc/cpuinfo")
FOLDERS = ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64",
           "/lib", "/usr/lib")  # fmt: skip
_MAGIC = b"glibc-ld.so.cache1.1"
_HEADER, _ROW = 48, struct.Struct("<iIIIQ")
_X86_64 = 0x0300  # flag of a row: a library of x86-64
_MOST = 4096  # libraries of one program


# Directories below glibc-hwcaps, the best one last, with what a processor must have for them.
_LEVELS = {
    "x86-64-v2": "cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3",
    "x86-64-v3": "avx avx2 bmi1 bmi2 f16c fma abm movbe xsave",
    "x86-64-v4": "avx512f avx512bw avx512cd avx512dq avx512vl",
}
_EXTENSIONS, _SUBFOLDERS = 0xEAA42174, 1
_IN_SUBFOLDER = 1 << 30  # in the upper half of a row's last word, whose lower half is a number


def levels_of(cpuinfo: Path = CPUINFO) -> list[str]:
    """The levels of libraries that this processor runs."""
    try:
        text = cpuinfo.read_text()
    except OSError:
        return []
    flags = set(text.partition("\nflags")[2].partition("\n")[0].split())
    found = []
    for level, needed in _LEVELS.items():
        if not flags.issuperset(needed.split()):
            break
        found.append(level)
    return found


def cached(path: Path = CACHE, levels: list[str] | None = None) -> dict[str, str]:
    """Paths of libraries by name from the linker's cache: of several the one that it would take.

    ``levels`` are the kinds of processors whose libraries are run (default: of this one).
    """
    try:
        data = path.read_bytes()
    except OSError:
        return {}
    start = data.find(_MAGIC)
    if start < 0 or len(data) < start + _HEADER:
        return {}
    (count,) = struct.unpack_from("<I", data, start + len(_MAGIC))
    subfolders: list[str] | None = None
    found: dict[str, tuple[int, str]] = {}
    for at in range(min(count, (len(data) - start - _HEADER) // _ROW.size)):
        flags, name_at, value, _, word = _ROW.unpack_from(data, start + _HEADER + at * _ROW.size)
        if flags & 0xFF00 != _X86_64:
            continue
        rank = 0
        if word:
            if subfolders is None:
                subfolders = _subfolders(data, start)
                levels = levels_of() if levels is None else levels
            level = subfolders[word & 0xFFFFFFFF : (word & 0xFFFFFFFF) + 1]
            if not word >> 32 & _IN_SUBFOLDER or not level or level[0] not in (levels or ()):
                continue
            rank = 1 + list(_LEVELS).index(level[0])
        name = _text(data, start + name_at)
        if name not in found or rank > found[name][0]:
            found[name] = rank, _text(data, start + value)
    return {name: path for name, (_, path) in found.items()}


def _subfolders(data: bytes, start: int) -> list[str]:
    """Names of the folders below glibc-hwcaps that rows tell by number."""
    try:
        (at,) = struct.unpack_from("<I", data, start + 32)
        magic, count = struct.unpack_from("<II", data, start + at)
        if not at or magic != _EXTENSIONS:
            return []
        for number in range(min(count, 16)):
            tag, _, place, size = struct.unpack_from("<IIII", data, start + at + 8 + 16 * number)
            if tag == _SUBFOLDERS and size <= 4096:
                words = struct.unpack_from(f"<{size // 4}I", data, start + place)
                return [_text(data, start + word) for word in words]
    except struct.error:
        pass
    return []


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


def matching_in(programs: Programs, pid: int, pattern: str) -> list[str]:
    """Libraries that a process has loaded, by pattern of their names or paths.

    A full path, as the process sees it, need not be loaded.
    """
    loaded = search.libraries_of(pid)
    if "/" in pattern and not any(char in pattern for char in "*?["):
        inside = f"/proc/{pid}/root{pattern}"
        found = [path for _, path in loaded if _is_same(inside, path)]
        if found:
            return found[:1]
        if search.sees_our_files(pid):
            return [os.path.realpath(pattern)] if Path(pattern).is_file() else []
        return [inside] if Path(inside).is_file() else []
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
