"""The indices of debug files, which are made once and cached."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from stapy.cache import Cache, file_identity, key_of
from stapy.debuginfo.dwarf.index.reader import VERSION, DwarfIndex
from stapy.debuginfo.elf import ElfFile, map_file
from stapy.debuginfo.errors import DebuginfoError

KIND = "debuginfo"
_LONG = 100 << 20  # indexing a file of so many bytes takes more than a second


def open_index(
    elf: ElfFile, build_id: str, path: Path, cache: Cache, notice: Callable[[str], None]
) -> DwarfIndex:
    """Open the index of a debug file; ``notice`` is told when it takes seconds to build."""
    # Stripped and repacked files of one build differ in size.
    name = (build_id, path.stat().st_size) if build_id else file_identity(path)
    key = key_of("dwarf", VERSION, *name)
    found = _cached(cache, key)
    if found is not None:
        return found
    with cache.lock(KIND, key):
        found = _cached(cache, key)
        if found is not None:
            return found
        if len(elf.data) > _LONG:
            notice(f"building the index of {path} (once, some seconds)")
        from stapy.debuginfo.dwarf.index.build import build

        content = build(elf)
        cache.put_bytes(KIND, key, content)
        return DwarfIndex(content)


def _cached(cache: Cache, key: str) -> DwarfIndex | None:
    path = cache.get(KIND, key)
    if path is None:
        return None
    try:
        return DwarfIndex(map_file(path), path)
    except DebuginfoError:
        return None
