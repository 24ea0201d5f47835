"""The dynamic linker's cache, ``/etc/ld.so.cache``, read as data.

The linker is not run. Which of several libraries of a name it takes is for the processor to say.
"""

from __future__ import annotations

import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List, Optional, Tuple

CACHE = "/etc/ld.so.cache"
CPUINFO = "/proc/cpuinfo"
# Where the linker looks without a word from anybody.
FOLDERS = (
    *("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64"),
    *("/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/lib", "/usr/lib"),
)
MOST = 1 << 24  # bytes of a cache that are read
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


def levels_of(cpuinfo: str = CPUINFO) -> "List[str]":
    """List the levels of libraries that this processor runs."""
    try:
        with open(cpuinfo, encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return []
    flags = set(text.partition("\nflags")[2].partition("\n")[0].split())
    found = []
    for level, needed in _LEVELS.items():
        if not flags.issuperset(needed.split()):
            break
        found.append(level)
    return found


def libraries(data: bytes, levels: "Optional[List[str]]" = None) -> "Dict[str, str]":
    """Read a cache's bytes: library names to paths, of several the one the linker would take.

    ``levels`` are the kinds of processors whose libraries are run (default: of this one).
    """
    start = data.find(_MAGIC)
    if start < 0 or len(data) < start + _HEADER:
        return {}
    (count,) = struct.unpack_from("<I", data, start + len(_MAGIC))
    subfolders: Optional[List[str]] = None
    found: Dict[str, Tuple[int, str]] = {}
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


def _subfolders(data: bytes, start: int) -> "List[str]":
    """Read the names of the folders below glibc-hwcaps that rows tell by number."""
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
