"""Finds the debug file of a build among some, and opens it.

What reads DWARF is imported when there is a file to read and not before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from stapy.cache import Cache
from stapy.debuginfo.elf import ElfFile
from stapy.debuginfo.errors import DebuginfoError

if TYPE_CHECKING:
    from stapy.debuginfo.dwarf.query.dwarf_file import DwarfFile


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
            from stapy.debuginfo.dwarf.query.dwarf_file import DwarfFile
            from stapy.debuginfo.dwarf.query.indexed import open_index

            index = open_index(elf, elf.build_id(), path, cache, notice)
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
