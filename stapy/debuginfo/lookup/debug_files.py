"""The debug files of a kernel and its modules: looked for, opened, fetched, each once.

The DWARF reader is imported when there is a file to read and not before.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from stapy.cache import Cache

if TYPE_CHECKING:
    from stapy.debuginfo.dwarf.query.dwarf_file import DwarfFile
    from stapy.debuginfo.facade import Debuginfo


class DebugFiles:
    """By module, None for the kernel itself."""

    def __init__(self, info: Debuginfo, cache: Cache) -> None:
        self._info = info
        self._cache = cache
        self._known: dict[str | None, DwarfFile | None] = {}
        self._fetched: set[str | None] = set()  # servers were asked about these

    def of(self, module: str | None, here: bool) -> DwarfFile | None:
        """See `Debuginfo.dwarf_of`."""
        module = module and module.replace("-", "_")
        if module in ("kernel", "vmlinux"):
            module = None
        if module not in self._known:
            self._known[module] = self._installed(module)
        servers = "DEBUGINFOD_URLS" in os.environ and module not in self._fetched
        if self._known[module] is None and servers and not here:
            self._fetched.add(module)
            self._known[module] = self._from_server(module)
        return self._known[module]

    def _installed(self, module: str | None) -> DwarfFile | None:
        paths = self._places(module)
        if not paths:
            return None
        from stapy.debuginfo.lookup.places import open_dwarf

        found, problems = open_dwarf(self._info, module, paths, self._cache)
        for problem in problems:
            self._info.warn(problem)
        return found

    def _from_server(self, module: str | None) -> DwarfFile | None:
        from stapy.debuginfo.lookup.places import fetch_dwarf

        found, problems = fetch_dwarf(self._info, module, self._cache)
        for problem in problems:
            self._info.warn(problem)
        return found

    def _places(self, module: str | None) -> list[Path]:
        """Files that may be the one, the surest first."""
        from stapy.debuginfo.dwarf.files.paths import existing, kernel_files, module_files

        info = self._info
        if module is None:
            return existing(kernel_files(info.kernel, info.loaded.build_id))
        loaded = info.module(module)
        if loaded is None:
            return []
        path, build_id = info.kernel.modules.path(module), loaded.build_id
        found = existing(module_files(info.kernel, path, build_id, loaded.has_dwarf))
        if path is not None and not build_id:
            from stapy.debuginfo.dwarf.files.separate import separate_files
            from stapy.debuginfo.elf import ElfFile

            found += info.safe([], lambda: separate_files(ElfFile.open(path), path))
        return found
