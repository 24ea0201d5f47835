"""The last step of pass 2: what a module takes along of the kernel and of modules.

It costs more than the rest of the pass where source lines are asked for, so that it is done
for programs that are translated only.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from stapy.debuginfo import view
from stapy.debuginfo.user import search
from stapy.debuginfo.user.file import machine_of
from stapy.paths import is_file
from stapy.probes.families.uprobe import shift

if TYPE_CHECKING:
    from stapy.debuginfo.lookup.line_pack import LineTable
    from stapy.ir.program import Program
    from stapy.services import Services

LINES = "lines"  # /* pragma:lines */ in embedded C


def take_along(program: Program, services: Services) -> None:
    """Put the kernel's names, build-ids and the tables of source lines into the program."""
    program.release = str(getattr(services.kernel, "release", ""))
    program.arch = str(getattr(services.kernel, "arch", ""))
    program.build_ids = _build_ids(program, services)
    shift.move(program.probes, services)
    _check_options(services)
    if LINES in program.features:
        program.line_tables = _line_tables(program, services)


def _build_ids(program: Program, services: Services) -> dict[str, str]:
    """Collect builds of the kernel and of modules with probes: loading is refused by them."""
    defines = services.options.defines
    if "STP_NO_BUILDID_CHECK" in defines:
        return {}
    if "STP_FULL_VERREL_CHECK" in defines:  # also for scripts that ask nothing about it
        services.debuginfo.loaded  # noqa: B018
    sites = (site for probe in program.probes for site in probe.sites)
    modules = {getattr(site, "module", None) for site in sites}
    known: dict[str, str] = services.debuginfo.build_ids(sorted(filter(None, modules)))
    return known


def _line_tables(program: Program, services: Services) -> list[LineTable]:
    """List those of the kernel, of modules in the probe points, and of those of ``-d``."""
    tables = (services.debuginfo.line_table(module) for module in _modules(program, services))
    return [table for table in tables if table is not None]


def _modules(program: Program, services: Services) -> list[str | None]:
    """List the kernel (None) and modules by name, each once."""
    found: dict[str | None, None] = {None: None}  # in order
    for probe in program.probes:
        for site in probe.sites:
            module = getattr(site, "module", None)
            if module:
                found[module.replace("-", "_")] = None
    info = services.debuginfo
    names = list(services.options.debug_modules)
    if services.options.all_modules:
        names += info.loaded_modules()
    for name in names:
        found.update(dict.fromkeys(info.module_names(name) if "/" not in name else ()))
    return list(found)


def _check_options(services: Services) -> None:
    """Warn of ``-d`` that names nothing: it hurts nobody."""
    for name in services.options.debug_modules:
        if "/" in name:
            why = _unfit(name, services)
            if why:
                services.diagnostics.warning("W0681", f"-d {name}: {why}")
        elif name not in ("kernel", "vmlinux") and not services.debuginfo.module_names(name):
            path = search.code_of(name)
            services.diagnostics.warning(
                "W0681",
                f"-d {name}: no module of this kernel, and no path of a program",
                hint=f"-d {path} is the program of that name" if path else "",
            )


def _unfit(path: str, services: Services) -> str:
    """Say why nothing will be known of a program of ``-d``, "" when something may."""
    programs = services.debuginfo.programs
    place = Path(view.real(path) if view.is_tree() else path)
    if not is_file(place):
        return "no such file"
    found = machine_of(place)
    if found in ("", programs.machine.name):
        return ""
    return f"it is for {found}, not for {programs.machine.name}"
