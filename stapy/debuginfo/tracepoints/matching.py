"""Tracepoints of a kernel and its modules by pattern.

Names come from BTF, systems from headers or else from the image or module itself.  Without BTF
symbols have the names and headers the parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from stapy.debuginfo import ctypes as c
from stapy.debuginfo.glob import has_wildcard, literal_prefix, matcher
from stapy.debuginfo.loading import Loaded
from stapy.debuginfo.tracepoints.headers import HeaderPoints
from stapy.debuginfo.tracepoints.modules import module_tracepoints
from stapy.debuginfo.tracepoints.systems import image_systems, trace_systems
from stapy.debuginfo.units import KernelUnits
from stapy.record import Record

if TYPE_CHECKING:
    from stapy.debuginfo.dwarf.query.dwarf_file import DwarfFile


class Tracepoint(Record):
    """One tracepoint; ``system`` is "" for one without an event that no header declares."""

    system: str
    name: str
    module: str | None
    params: list[c.Parameter]


class Tracepoints:
    """All tracepoints; the systems that they belong to are read on first use."""

    def __init__(self, units: KernelUnits, open_object: Callable[[Path], DwarfFile | None]) -> None:
        self._units = units
        self.by_headers = HeaderPoints(units, open_object)
        self._systems: dict[str, str] | None = None
        self._of_image: dict[str, str] | None = None
        self._of_modules: dict[tuple[str, str], str] = {}  # filled by `_module_points`

    def matching(self, pattern: str, module: str | None) -> list[Tracepoint]:
        """Find tracepoints by ``name`` or ``system:name``, see `Debuginfo.tracepoints`."""
        system, _, name = pattern.rpartition(":")
        if module is None:
            found = self._in_unit(system, name, None, self._units.loaded)
            if found:
                return found
        wanted = matcher((module or "*").replace("-", "_"))
        owners = {
            owner
            for point, owner in self._module_points(name)
            if matcher(name)(point) and wanted(owner)
        }
        return [
            point
            for owner in sorted(owners)
            for unit, loaded in self._units.units(owner)
            for point in self._in_unit(system, name, unit, loaded)
        ]

    def _module_points(self, pattern: str) -> Iterator[tuple[str, str]]:
        prefix = literal_prefix(pattern)
        lines = module_tracepoints(self._units.kernel, self._units.btf, self._units.cache)
        for line in lines.with_prefix(prefix.encode()):
            point, owner, *system = (prefix + line.decode()).split(" ")
            self._of_modules[point, owner] = "".join(system)
            yield point, owner

    def _in_unit(
        self, system: str, name: str, module: str | None, loaded: Loaded
    ) -> list[Tracepoint]:
        btf = loaded.btf
        found: list[Tracepoint] = []
        for point in self._names(name, module, loaded):
            owner = self._system(point, module)
            if system and not self._in_system(system, owner, point, module):
                continue
            params: list[c.Parameter] | None
            if btf is None:
                params = self.by_headers.parameters(point)
            else:
                params = self._units.safe(None, btf.tracepoint, point)
            if params is not None:
                found.append(Tracepoint(owner, point, module, params))
        return found

    def _names(self, pattern: str, module: str | None, loaded: Loaded) -> list[str]:
        """List the points of the kernel (None) or of a module that match."""
        if loaded.btf is not None:
            return list(loaded.btf.tracepoints(pattern))
        if module is None:
            return list(self.by_headers.names(pattern, self._names_in_modules))
        matches = matcher(pattern)
        points = self._module_points(pattern)
        return sorted({point for point, owner in points if owner == module and matches(point)})

    def _names_in_modules(self) -> set[str]:
        return {point for point, _ in self._module_points("*")}

    def names(self) -> list[str]:
        """List all tracepoints of the kernel itself, without their parameters."""
        return self._names("*", None, self._units.loaded)

    def _system(self, point: str, module: str | None) -> str:
        own = self._of_modules.get((point, module)) if module is not None else None
        if own:
            return own
        if self._systems is None:
            self._systems = trace_systems(self._units.kernel, self._units.cache)
        found = self._systems.get(point, "")
        btf = self._units.btf
        if not found and module is None and btf is not None:
            if self._of_image is None:  # takes a second, once: most have a header
                self._of_image = image_systems(self._units.kernel, btf, self._units.cache)
            found = self._of_image.get(point, "")
        return found

    @staticmethod
    def _in_system(wanted: str, owner: str, point: str, module: str | None) -> bool:
        if owner:
            return matcher(wanted)(owner)
        # Its header is not among the kernel's: by custom names start with the system's.
        return wanted == module or has_wildcard(wanted) or point.startswith(wanted + "_")
