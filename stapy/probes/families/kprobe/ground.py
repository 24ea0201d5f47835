"""Kernel code as the ground of points that DWARF places.

Addresses are told relative to a symbol, for the kernel moves at each boot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.debuginfo.dwarf.query.callees import Elsewhere
from stapy.ir.literals import quote_name
from stapy.probes import blocklist
from stapy.probes.code.ground import place_text
from stapy.probes.families.kprobe import places
from stapy.probes.family import Match, PointError, print_component

if TYPE_CHECKING:
    from collections.abc import Container

    from stapy.debuginfo.dwarf.index.reader import FunctionRow
    from stapy.debuginfo.dwarf.query.answers import CodePlace
    from stapy.debuginfo.dwarf.query.callees import Callee
    from stapy.debuginfo.dwarf.query.dwarf_file import DwarfFile
    from stapy.debuginfo.sites import FunctionSite, FunctionSites
    from stapy.diagnostics import Span
    from stapy.parse.nodes import PointComponent, ProbePoint
    from stapy.probes.families.kprobe.site import Frames
    from stapy.services import Services

_INT = 1 << 31  # callers are told by 32-bit distances


class KernelGround:
    """The kernel, or the modules of a name."""

    def __init__(self, point: ProbePoint, services: Services) -> None:
        self.point = point
        self.services = services
        self.found = {component.name: component for component in point.components}
        self.module = places.module_of(self.found, services)

    @property
    def files(self) -> list[DwarfFile]:
        """The debug files of the kernel or of those modules."""
        return places.dwarf_files(self.module, self.services)

    def places(
        self,
        text: str,
        *,
        allow_nearest: bool = False,
        lines_as_functions: bool = False,
        download: bool = True,
        known: Container[tuple[str, str | None]] = (),
    ) -> FunctionSites:
        """Find all places that a pattern means."""
        return self.services.debuginfo.places(
            text,
            self.module,
            allow_nearest=allow_nearest,
            lines_as_functions=lines_as_functions,
            download=download,
            known=known,
        )

    def file_of(self, place: CodePlace) -> DwarfFile | None:
        """Return the debug file that told of a place."""
        return self.services.debuginfo.dwarf_of(place.module)

    def site_at(self, place: CodePlace) -> FunctionSite:
        """Describe a place with what cheaper sources know about it."""
        return self.services.debuginfo.site_at(place)

    def refusal(self, site: FunctionSite) -> str:
        """Say why a place must not be probed, "" when it may."""
        return places.refusal(site, "return" in self.found, self.services)

    def refusal_hint(self, refusal: str) -> str:
        """Say what can be done about a refusal, "" when nothing is known."""
        return blocklist.hint(refusal)

    def exports(self, site: FunctionSite) -> bool:
        """Tell whether modules can call a function."""
        return bool(self.services.debuginfo.exported(site.name))

    def written(self, place: CodePlace | FunctionRow) -> str:
        """Write ``name@file:line``, as points are printed."""
        return place_text(place)

    def match(
        self, site: FunctionSite, texts: dict[str, str], callers: Frames | None = None
    ) -> Match:
        """Make a match of a place; ``texts`` stand for the components of those names."""
        if site.module is not None:
            texts = {"module": f"module({quote_name(site.module)})", **texts}
        text = ".".join(texts.get(c.name) or print_component(c) for c in self.point.components)
        made = places.kprobe_site(site, self.found)
        made.callers = callers or []
        return Match(text, made)

    def elsewhere(self, name: str) -> Elsewhere | None:
        """Find the module, or the kernel, that exports a function, or None."""
        info = self.services.debuginfo
        module = info.exporter(name)
        if module is None:
            return None
        dwarf = info.dwarf_of(module, download=False)
        return Elsewhere(name, None if module == "kernel" else module, dwarf)

    def outside(self, call: Callee) -> FunctionSite | None:
        """Find a called function of which no debug file tells, or None."""
        assert call.outside is not None
        return self.services.debuginfo.function(call.name, call.outside.module)

    def frames(self, call: Callee) -> Frames | None:
        """List return addresses as a site has them; None when one cannot be told."""
        frames: Frames = []
        for frame in call.frames:
            rows: list[tuple[str, int]] = []
            for dwarf, address in frame:
                told = _told(call, dwarf, address)
                if told is None or not -_INT <= told[1] < _INT:
                    return None
                rows.append(told)
            frames.append(rows)
        return frames

    def missing(self, what: str, span: Span) -> PointError:
        """Make the error for missing DWARF."""
        return places.missing(what, span, self.services)

    def no_code(self, component: PointComponent) -> PointError:
        """Make the error for an address of no function."""
        return places.no_code(component, "module" in self.found)

    def not_exported(self, component: PointComponent, name: str) -> PointError:
        """Make the error for an address whose function modules cannot call."""
        return places.not_exported(component, name)

    def other_names(self, name: str) -> list[str]:
        """Return none: aliases of kernel functions have entries of their own."""
        return []

    def similar(self, name: str) -> list[str]:
        """Suggest the nearest names of functions, at most two."""
        files = self.files
        module = files[0].module if files else self.module
        return self.services.debuginfo.similar_functions(name, 2, module)


def _told(call: Callee, dwarf: DwarfFile, address: int) -> tuple[str, int] | None:
    """Express a return address by the place itself, or by a symbol of the module that has it.

    Returns symbol ("" for the place) and distance; None when neither is possible.
    """
    if call.place is not None and dwarf.module == call.place.module:
        return "", address - call.place.address
    anchor = dwarf.index.anchor(address)
    if dwarf.module is None or anchor is None:
        return None
    return f"{dwarf.module}:{anchor[0]}", anchor[1]
