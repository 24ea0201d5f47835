"""What all points in kernel code ask: which files know it, may it be probed, how is it written.

``KprobeSite`` is made here of what the debug information tells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.diagnostics.suggest import listed, nearest
from stapy.probes import decide
from stapy.probes.code.ground import address_of, place_text
from stapy.probes.families.kprobe.site import KprobeSite, maxactive_of
from stapy.probes.family import PointError, text_of

if TYPE_CHECKING:
    from stapy.debuginfo.dwarf.index.reader import FunctionRow
    from stapy.debuginfo.dwarf.query.dwarf_file import DwarfFile
    from stapy.debuginfo.sites import FunctionSite
    from stapy.diagnostics import Span
    from stapy.parse.nodes import PointComponent
    from stapy.services import Services


def not_exported(component: PointComponent, name: str) -> PointError:
    """Make the error for an address whose function modules cannot call."""
    notes = [f"{address_of(component):#x} lies in '{name}', which is not exported"]
    return PointError("E0231", "no match", component.span, notes=notes)


def no_code(component: PointComponent, in_module: bool) -> PointError:
    """Make the error for an address that no function is known to have."""
    notes = [f"{address_of(component):#x} lies in no function that is known"]
    hint = "addresses are those of the kernel's image, before it is moved at boot"
    if in_module:
        hint = "addresses count from the start of the module's .text"
    hint += "; -g and kernel.statement().absolute take any other"
    return PointError("E0231", "no match", component.span, notes=notes, hint=hint)


def missing(what: str, span: Span, services: Services) -> PointError:
    """Make the error for what cannot be had without DWARF, where there is none."""
    notes = [f"{what} needs DWARF debug information, which BTF does not replace"]

    def tell(error: PointError) -> None:
        error.hint = services.debuginfo.missing_hint("lines")

    return PointError("E0233", "no match", span, notes=notes, explain=tell)


def module_of(found: dict[str, PointComponent], services: Services) -> str | None:
    """Read the pattern of modules, None for the kernel; `PointError` when it matches none."""
    if "module" not in found:
        return None
    component = found["module"]
    name = text_of(component)
    if not services.debuginfo.module_names(name):
        raise no_module(component, services)
    return name


def no_module(component: PointComponent, services: Services) -> PointError:
    """Make the error for a module that the kernel does not have."""
    name = text_of(component)

    def similar(error: PointError) -> None:
        inside = services.debuginfo.built_in(name)
        if inside:
            error.notes = [f"{listed(inside[:3])} is no module but built into this kernel"]
            error.hint = "ask the kernel itself: kernel.function(…)"
            return
        near = nearest(name.replace("-", "_"), services.debuginfo.module_names(), 2)
        if near:
            error.hint = f"did you mean {listed(near)}?"

    notes = [f"this kernel has no module '{name}'"]
    return PointError("E0231", "no match", component.span, notes=notes, explain=similar)


def dwarf_files(module: str | None, services: Services) -> list[DwarfFile]:
    """List the debug files of the kernel or of the modules that a pattern means."""
    info = services.debuginfo
    names = [None] if module is None else info.module_names(module)
    return [dwarf for dwarf in map(info.dwarf_of, names) if dwarf is not None]


def refusal(site: FunctionSite, is_return: bool, services: Services) -> str:
    """Say why a place must not be probed, "" when it may."""
    if site.section == ".init.text":
        return "its code is gone once the kernel has booted"
    if site.section:
        return f"the kernel refuses it ({site.section})"
    if site.place is not None and not site.place.is_exact:
        info = services.debuginfo
        dwarf = info.dwarf_of(site.module)
        what = info.safe("", dwarf.refused, site.place.address) if dwarf is not None else ""
        if what:
            return f"the kernel wants no probe there ({what})"
    # What holds an inlined function must not be probed counts as well.
    symbol, file = site.name, ""
    if site.place is not None:
        symbol, file = site.place.symbol, site.place.file
    guru = services.options.guru
    return decide.refusal(site.name, symbol, file, is_return=is_return, guru=guru)


def kprobe_site(site: FunctionSite, found: dict[str, PointComponent]) -> KprobeSite:
    """Make a place the family's record."""
    place = site.place
    return KprobeSite(
        place.symbol if place is not None else site.name,
        site.module,
        0,
        place.offset if place is not None else 0,
        "return" in found,
        maxactive_of(found.get("maxactive")),
        site.type,
        site.source,
        place,
    )


def declared(name: str, module: str | None, services: Services) -> str:
    """Write ``name@file:line`` of a function that cheaper sources found, where DWARF tells.

    Functions of one name are several, and which is meant is not known: the name alone.
    """
    dwarf = services.debuginfo.dwarf_of(module, download=False)
    if dwarf is None:
        return name
    rows: list[FunctionRow] = []
    rows = services.debuginfo.safe(rows, lambda: list(dwarf.index.functions(name)))
    # A function of a header that units have copies of is one row for each of them.
    texts = {
        place_text(row)
        for row in rows
        if row.name == name and any(not site.inlined for site in row.sites)
    }
    return texts.pop() if len(texts) == 1 else name
