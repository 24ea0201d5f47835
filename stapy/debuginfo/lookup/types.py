"""Types, constants and variables by name: which source has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from stapy.debuginfo import ctypes as c
from stapy.debuginfo.btf.reader import Btf
from stapy.debuginfo.lookup.debug_files import DebugFiles
from stapy.debuginfo.units import KernelUnits

if TYPE_CHECKING:
    from stapy.debuginfo.dwarf.query.dwarf_file import DwarfFile

_HEADER = frozenset('<"')  # what names of headers stand in
# Types of C that scripts cast to and kernels do not define, or some do not.
_STANDARD: dict[str, c.CType] = {
    "intptr_t": c.Typedef("intptr_t", c.Int("long int", 8, True)),
    "uintptr_t": c.Typedef("uintptr_t", c.Int("long unsigned int", 8, False)),
}


class TypeLookup:
    """Answers for `Debuginfo`, whose methods of the same names say what is asked.

    ``modules`` may name headers to be compiled, too: ``kernel<linux/fs.h>``, and programs by
    their paths.
    """

    def __init__(
        self,
        units: KernelUnits,
        files: DebugFiles,
        compiled: Callable[[str], Path | None],
        programs: Callable[[str], DwarfFile | None],
    ) -> None:
        self._units = units
        self._files = files
        self._compiled = compiled
        self._programs = programs
        self._header_types: dict[str, DwarfFile | None] = {}

    def _btfs(self, modules: list[str]) -> Iterator[Btf]:
        if self._units.loaded.btf is not None:
            yield self._units.loaded.btf
        for name in modules:
            found = self._units.module(name)
            if found is not None and found.btf is not None:
                yield found.btf

    def type(self, name: str, modules: list[str]) -> c.CType | None:
        """Ask for a type: the kernel's BTF, that of modules, then DWARF, then headers.

        Headers and programs that are named come first. None when nobody knows it.
        """
        # A user's header may have another struct of that name than the kernel.
        users = [spec for spec in modules if spec and spec[0] in _HEADER]
        found = self._type_of_headers(name, users) if users else None
        if found is not None:
            return found
        for path in modules:
            program = self._programs(path) if path.startswith("/") else None
            found = self._units.safe(None, program.type, name) if program is not None else None
            if found is not None:
                return found
        modules = [module for module in modules if not module.startswith("/")]
        declared: c.CType | None = None
        for btf in self._btfs(modules):
            found = self._units.safe(None, btf.type, name)
            if isinstance(found, c.Struct) and found.is_declaration:
                declared = declared or found
            elif found is not None:
                return found
        for unit in dict.fromkeys((*modules, None)):
            dwarf = self._files.of(unit, download=False)
            found = self._units.safe(None, dwarf.type, name) if dwarf is not None else None
            if found is not None:
                return found
        return self._type_of_headers(name, modules) or declared or _STANDARD.get(name)

    def _type_of_headers(self, name: str, modules: list[str]) -> c.CType | None:
        for spec in modules:
            if _HEADER & set(spec):
                dwarf = self._dwarf_of_headers(spec)
                found: c.CType | None = None
                if dwarf is not None:
                    found = self._units.safe(None, dwarf.type, name)
                if found is not None:
                    return found
        return None

    def _dwarf_of_headers(self, spec: str) -> DwarfFile | None:
        """Open the types of ``kernel<linux/fs.h>`` and the like, or None.

        The headers are compiled for it, once.
        """
        if spec not in self._header_types:
            path = self._compiled(spec)
            found = self._files.of_object(path) if path is not None else None
            self._header_types[spec] = found
        return self._header_types[spec]

    def enumerator(self, name: str, modules: list[str]) -> int | None:
        """Ask for a constant's value: the modules' BTF, then the kernel's; or None.

        It has all, anonymous ones too.  DWARF is asked about modules that were built
        without it, as out of tree; it is no index, and too slow for a whole kernel.
        """
        value: int | None = None
        for path in modules:
            program = self._programs(path) if path.startswith("/") else None
            if program is not None:
                value = self._units.safe(None, program.enumerator, name)
            if value is not None:
                return value
        modules = [module for module in modules if not module.startswith("/")]
        for unit in dict.fromkeys((*modules, None)):
            loaded = self._units.module(unit) if unit is not None else self._units.loaded
            if loaded is not None and loaded.btf is not None:
                value = self._units.safe(None, loaded.btf.enumerator, name)
            elif unit is not None:
                dwarf = self._files.of(unit, download=False)
                value = (
                    self._units.safe(None, dwarf.enumerator, name) if dwarf is not None else None
                )
            if value is not None:
                return value
        return None

    def variable(self, name: str, modules: list[str]) -> c.CType | None:
        """Find the type of a global variable in BTF only; None when that has none."""
        for btf in self._btfs(modules):
            found: c.CType | None = self._units.safe(None, btf.variable, name)
            if found is not None:
                return found
        return None
