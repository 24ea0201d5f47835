"""Moves breakpoints at functions' beginnings to where a hit costs one trap instead of two."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.probes.families.uprobe.site import UprobeSite
from stapy.probes.programs import ProgramSite

if TYPE_CHECKING:
    from pathlib import Path

    from stapy.ir.program import DerivedProbe
    from stapy.services import Services

NO_SHIFT = "STAPY_NO_SHIFT"  # -D


def move(probes: list[DerivedProbe], services: Services) -> None:
    """Set the distances of the sites of all probes that may have one.

    Where something else is probed at the very beginning, a statement or a mark, or where the
    breakpoint would go, all stay: rows of one place run in the order of the script.
    """
    if NO_SHIFT in services.options.defines:
        return
    sites = [site for probe in probes for site in probe.sites if isinstance(site, ProgramSite)]
    functions = [site for site in sites if isinstance(site, UprobeSite) and site.is_entry]
    taken = {
        (_identity(site.file.path), site.place_offset)
        for site in sites
        if not (isinstance(site, UprobeSite) and site.is_entry)
    }
    for site in functions:
        distance = services.debuginfo.programs.distance(site.file, site.address)
        place = _identity(site.file.path)
        if not taken & {(place, site.offset), (place, site.offset + distance)}:
            site.distance = distance


def _identity(path: Path) -> tuple[int, int] | Path:
    """Tell files apart as the kernel does, for which one with two names is one file."""
    try:
        status = path.stat()
    except OSError:
        return path
    return status.st_dev, status.st_ino
