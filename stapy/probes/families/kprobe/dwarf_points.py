"""What DWARF adds to functions of the kernel that are told by an address or a plain name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.probes import signatures
from stapy.probes.code import points
from stapy.probes.code.ground import address_of
from stapy.probes.families.kprobe import places
from stapy.probes.families.kprobe.ground import KernelGround
from stapy.probes.family import Match, PointError, print_component
from stapy.record import replace

if TYPE_CHECKING:
    from stapy.debuginfo.sites import FunctionSite
    from stapy.parse.nodes import ProbePoint
    from stapy.services import Services


def by_address(point: ProbePoint, services: Services) -> list[Match]:
    """Find the function that a link address lies in, by DWARF or else by a table of symbols.

    Raises `PointError` when there is none or it must not be probed.
    """
    ground = KernelGround(point, services)
    module, found = ground.module, ground.found
    component = found["function"]
    files = ground.files
    if files:
        from stapy.probes.code import labels_and_callees

        return labels_and_callees.resolve(ground, files)
    address = address_of(component)
    entry = services.debuginfo.function_at(address, module)
    if entry is None:
        raise ground.no_code(component)
    if "exported" in found and not ground.exports(entry.site):
        raise places.not_exported(component, entry.site.name)
    why = ground.refusal(entry.site)
    if why:
        notes = [f"'{entry.site.name}' must not be probed: {why}"]
        raise PointError("E0231", "no match", component.span, notes=notes)
    site = places.kprobe_site(entry.site, found)
    made = replace(site, symbol=entry.symbol, offset=entry.offset)
    texts = {"function": f"function({entry.address:#x})"}
    text = ".".join(texts.get(c.name) or print_component(c) for c in point.components)
    return [Match(text, made)]


def others(
    point: ProbePoint,
    text: str,
    types: str | None,
    known: set[tuple[str, str | None]],
    services: Services,
) -> list[Match]:
    """Find what only DWARF knows of functions named without a file; nothing without it.

    Inlined instances, functions whose symbols the compiler named (``f.isra.0``),
    each of several functions of one name.  ``types`` are the parameters that
    were asked for; ``known`` are the symbols, with their modules, that cheaper
    sources of names have given.
    """
    try:
        ground = KernelGround(point, services)
    except PointError:  # there is no such module
        return []
    answer = ground.places(text, download=False, known=known)
    if types is not None:
        answer.sites = [site for site in answer.sites if _fits(site, types, services)]
    if not answer.sites:
        return []
    try:
        return points.matches(text, answer, ground)
    except PointError:  # all of them are refused
        return []


def _fits(site: FunctionSite, types: str, services: Services) -> bool:
    info = services.debuginfo
    dwarf = info.dwarf_of(site.module)
    prototype = info.safe(None, dwarf.prototype, site.place) if dwarf is not None else None
    return prototype is not None and signatures.fits(prototype, types)
