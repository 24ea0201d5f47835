"""The dynamic linker's cache, ``/etc/ld.so.cache``, read as data.

The linker is not run. Which of several libraries of a name it takes is for the processor to say.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

from stapy.debuginfo import view
from stapy.debuginfo.elf import open_regular
from stapy.paths import is_file

CACHE = Path("/etc/ld.so.cache")
CPUINFO = Path("/proc/cpuinfo")
FOLDERS = ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64",
           "/lib", "/usr/lib")  # fmt: skip
_MOST = 1 << 24  # bytes of a cache that are read
_MAGIC = b"glibc-ld.so.cache1.1"
_HEADER, _ROW = 48, struct.Struct("<iIIIQ")
_X86_64 = 0x0300  # flag of a row: a library of x86-64


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


def cached(path: Path | None = None, levels: list[str] | None = None) -> dict[str, str]:
    """Paths of libraries by name from the linker's cache: of several the one that it would take.

    ``levels`` are the kinds of processors whose libraries are run (default: of this one), ``path``
    is the cache (default: of those whose files are meant).
    """
    try:
        with open_regular(path or Path(view.real(str(CACHE)))) as file:
            data = file.read(_MOST)
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


def by_name(name: str) -> str | None:
    """Find a library as a program without a path of its own would; None for what is no library.

    The names are those of files, ``libc.so.6``.  The path is without links.
    """
    if ".so" not in name or "/" in name:
        return None
    places = [f"{folder}/{name}" for folder in _told_folders()]
    places += [path for path in (cached().get(name),) if path]
    places += [f"{folder}/{name}" for folder in FOLDERS]
    return next((path for path in map(view.real, places) if is_file(path)), None)


def library_folders() -> list[str]:
    """Folders where the linker may find libraries, in its order, each once."""
    known = [os.path.dirname(path) for path in cached().values()]  # noqa: PTH120 - of thousands
    return list(dict.fromkeys(map(_placed, [*_told_folders(), *known, *FOLDERS])))


def _placed(folder: str) -> str:
    return folder if view.is_ours() else view.real(folder)


def _told_folders() -> list[str]:
    return [folder for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
