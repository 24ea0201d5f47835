"""Places of DWARF by pattern, with what the cheaper sources know about them."""

from __future__ import annotations

from collections.abc import Container

from stapy.debuginfo import ctypes as c
from stapy.debuginfo.dwarf.query.answers import Answer, CodePlace, distinct
from stapy.debuginfo.dwarf.query.dwarf_file import DwarfFile
from stapy.debuginfo.dwarf.query.spec import Spec, parse
from stapy.debuginfo.lookup.debug_files import DebugFiles
from stapy.debuginfo.lookup.functions import Functions
from stapy.debuginfo.sites import DWARF, FunctionSite, FunctionSites
from stapy.debuginfo.symbols.table import section_of
from stapy.debuginfo.units import KernelUnits

Known = Container[tuple[str, str | None]]  # symbols with their modules


class PlaceLookup:
    """Answers for `Debuginfo`, whose methods of these names say what is asked."""

    def __init__(self, units: KernelUnits, functions: Functions, files: DebugFiles) -> None:
        self._units = units
        self._functions = functions
        self._files = files

    def places(
        self,
        text: str,
        module: str | None,
        *,
        allow_nearest: bool,
        lines_as_functions: bool,
        download: bool,
        known: Known,
    ) -> FunctionSites:
        """Find the places that a pattern means in the kernel or in some modules."""
        spec = parse(text)
        result = FunctionSites([], False, spec is not None)
        if spec is None:
            file = None if module is not None else self._files.of(None, download=download)
            result.is_available = module is not None or file is not None
            return result
        for name, _ in self._units.units(module):
            dwarf = self._files.of(name, download=download)
            if dwarf is not None:
                result.is_available = True
                found = self._units.safe(
                    Answer(), _find, dwarf, spec, allow_nearest, lines_as_functions
                )
                self._add(result, found, known, spec.lines is None)
        return result

    def _add(self, result: FunctionSites, found: Answer, known: Known, by_function: bool) -> None:
        """Take an answer, each place once."""
        result.near_lines += [line for line in found.near_lines if line not in result.near_lines]
        result.functions += found.functions
        sections: dict[str, str] = {}  # the places of one answer share many symbols
        for place in distinct(found.places, by_function):
            if place.is_exact and (place.symbol, place.module) in known:
                continue
            if place.symbol not in sections:
                sections[place.symbol] = self._section(place)
            result.sites.append(self._site(place, sections[place.symbol]))

    def site_at(self, place: CodePlace) -> FunctionSite:
        """Tell of one place what the cheaper sources know."""
        return self._site(place, self._section(place))

    def _section(self, place: CodePlace) -> str:
        units = self._units
        loaded = units.module(place.module) if place.module is not None else units.loaded
        if loaded is None or loaded.symbols is None:
            return ""
        return section_of(loaded.symbols.kinds(place.symbol))

    def _site(self, place: CodePlace, section: str) -> FunctionSite:
        type: c.FunctionType | None = None
        units = self._units
        loaded = units.module(place.module) if place.module is not None else units.loaded
        if (
            place.is_exact
            and loaded is not None
            and loaded.btf is not None
            and loaded.btf.has_function(place.function)
        ):
            exact = self._functions.exact
            known = units.safe(None, exact, place.function, place.module, loaded)
            # Of two functions of one name BTF does not say which one it describes.
            if known is not None and known.namesakes == 1 and not known.ambiguity:
                type = known.type
        return FunctionSite(place.function, place.module, type, DWARF, section, 1, place)


def _find(dwarf: DwarfFile, spec: Spec, allow_nearest: bool, lines_as_functions: bool) -> Answer:
    return dwarf.find(spec, allow_nearest=allow_nearest, lines_as_functions=lines_as_functions)
