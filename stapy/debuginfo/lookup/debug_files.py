"""The debug files of a kernel and its modules: looked for, opened, fetched, each once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from stapy.debuginfo.dwarf.files.paths import existing, kernel_files, module_files
from stapy.debuginfo.dwarf.files.separate import separate_files
from stapy.debuginfo.dwarf.query.opener import find_first, open_first
from stapy.debuginfo.elf import ElfFile
from stapy.debuginfo.units import KernelUnits
from stapy.terminal import progress

if TYPE_CHECKING:
    from stapy.debuginfo.dwarf.query.dwarf_file import DwarfFile

Opened = tuple["DwarfFile | None", list[str]]  # a file, and what is wrong


class DebugFiles:
    """By module, None for the kernel itself."""

    def __init__(self, units: KernelUnits) -> None:
        self._units = units
        self._known: dict[str | None, DwarfFile | None] = {}
        self._fetched: set[str | None] = set()  # servers were asked about these

    def of(self, module: str | None, *, download: bool = True) -> DwarfFile | None:
        """Open the file of the kernel or a module, or None; ``download`` asks servers, too."""
        module = module and module.replace("-", "_")
        if module in ("kernel", "vmlinux"):
            module = None
        if module not in self._known:
            self._known[module] = self._told(self._installed(module))
        servers = "DEBUGINFOD_URLS" in os.environ and module not in self._fetched
        if self._known[module] is None and servers and download:
            self._fetched.add(module)
            self._known[module] = self._told(self._from_server(module))
        return self._known[module]

    def installed(self) -> tuple[Path | None, list[str]]:
        """Name the kernel's installed debug file, and what is wrong with others; opens no index."""
        return find_first(self._places(None), self._build_id(None))

    def of_object(self, path: Path) -> DwarfFile | None:
        """Open an object file that was compiled for its types; None when it is damaged."""
        return open_first([path], "", None, self._units.cache, lambda _: None)[0]

    def _told(self, opened: Opened) -> DwarfFile | None:
        """Take a file that was opened, None for none, and warn of what is wrong."""
        found, problems = opened
        for problem in problems:
            self._units.warn(problem)
        return found

    def _installed(self, module: str | None) -> Opened:
        paths = self._places(module)
        return self._open(paths, module) if paths else (None, [])

    def _from_server(self, module: str | None) -> Opened:
        build_id = self._build_id(module)
        if not build_id or not os.environ.get("DEBUGINFOD_URLS"):
            return None, []
        from stapy.debuginfo.dwarf.files.debuginfod import fetch

        what = f"module {module}" if module is not None else "the kernel"
        path, problems = fetch(build_id, what, progress.tell)
        if path is None:
            return None, problems
        found, more = self._open([path], module)
        return found, problems + more

    def _open(self, paths: list[Path], module: str | None) -> Opened:
        """Open the first of some files that is of the kernel or module."""
        units = self._units
        code = units.kernel.modules.path(module) if module is not None else None
        build_id = self._build_id(module)
        # What takes a while is told now, not with the other messages.
        return open_first(paths, build_id, module, units.cache, progress.tell, code)

    def _build_id(self, module: str | None) -> str:
        units = self._units
        loaded = units.loaded if module is None else units.module(module)
        return loaded.build_id if loaded is not None else ""

    def _places(self, module: str | None) -> list[Path]:
        """List files that may be the one, the surest first."""
        units = self._units
        if module is None:
            return existing(kernel_files(units.kernel, units.loaded.build_id))
        loaded = units.module(module)
        if loaded is None:
            return []
        path, build_id = units.kernel.modules.path(module), loaded.build_id
        found = existing(module_files(units.kernel, path, build_id, loaded.has_dwarf))
        if path is not None and not build_id:
            found += units.safe([], lambda: separate_files(ElfFile.open(path), path))
        return found
