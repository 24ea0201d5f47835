"""Opens debug files with their indices, which are made once and cached."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from stapy.cache import Cache, file_identity, key_of
from stapy.debuginfo.dwarf.index.reader import VERSION, DwarfIndex
from stapy.debuginfo.dwarf.query.dwarf_file import DwarfFile
from stapy.debuginfo.elf import ElfFile, map_file
from stapy.debuginfo.errors import DebuginfoError

KIND = "debuginfo"
_LONG = 100 << 20  # indexing a file of so many bytes takes more than a second


def open_first(
    paths: Iterable[Path],
    build_id: str,
    module: str | None,
    cache: Cache,
    notice: Callable[[str], None],
    code: Path | None = None,
) -> tuple[DwarfFile | None, list[str]]:
    """Open the first of some files that belongs to a build, or None; list what is wrong.

    ``build_id`` is that of the kernel or module, "" when it is not known: then
    any file will do.  ``notice`` is told when an index takes seconds to build.
    ``code`` is the module's own file.
    """
    problems: list[str] = []
    for path in paths:
        try:
            elf = _fitting(path, build_id, problems)
            if elf is None:
                continue
            index = _index(elf, elf.build_id(), path, cache, notice)
            return DwarfFile(path, index, elf, module, code), problems
        except (DebuginfoError, OSError) as error:
            problems.append(str(error))
    return None, problems


def find_first(paths: Iterable[Path], build_id: str) -> tuple[Path | None, list[str]]:
    """Name the file that `open_first` would take, without opening its index."""
    problems: list[str] = []
    for path in paths:
        try:
            if _fitting(path, build_id, problems) is not None:
                return path, problems
        except (DebuginfoError, OSError) as error:
            problems.append(str(error))
    return None, problems


def _fitting(path: Path, build_id: str, problems: list[str]) -> ElfFile | None:
    """Open a file that has DWARF of this build; None, perhaps with a problem, when it has not."""
    elf = ElfFile.open(path)
    if elf.section(".debug_info") is None:
        return None
    own = elf.build_id()
    if build_id and own != build_id:
        theirs = f"its build-id is {own}" if own else "it has no build-id"
        problems.append(f"{path} belongs to another build: {theirs}, not {build_id}")
        return None
    return elf


def _index(
    elf: ElfFile, build_id: str, path: Path, cache: Cache, notice: Callable[[str], None]
) -> DwarfIndex:
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
