"""Target variables of places that DWARF told."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from stapy.debuginfo import ctypes
from stapy.debuginfo.errors import DebuginfoError
from stapy.ir.program import Expr
from stapy.ir.scope import TargetScope, TargetVariable
from stapy.probes import abi
from stapy.probes.values.location import describe
from stapy.probes.values.numbers import Unavailable, address_of, per_cpu_address

if TYPE_CHECKING:
    from collections.abc import Callable

    from stapy.debuginfo.dwarf.query.answers import CodePlace
    from stapy.debuginfo.dwarf.query.dwarf_file import DwarfFile
    from stapy.debuginfo.dwarf.read.variables import DwarfVariable
    from stapy.services import Services

_SHOWN_RUNS = 3  # of lines, in a message


def scope(site: Any, services: Services) -> TargetScope:
    """Describe the parameters and locals at a place."""
    place: CodePlace = site.place
    dwarf = _file_of(place, services)
    found: dict[str, TargetVariable] = {}
    parameters: list[str] = []
    locals_: list[str] = []
    unavailable: dict[str, Callable[[], str]] = {}
    missing = f"these are the variables of '{place.function}'"
    try:
        for variable in dwarf.variables(place):
            name = "$" + variable.name
            try:
                found[name] = describe(variable, place, dwarf)
            except Unavailable as error:
                unavailable[name] = partial(where_else, variable, place, dwarf, str(error))
            (parameters if variable.is_parameter else locals_).append(name)
    except DebuginfoError as error:  # what was read before the damage is good
        missing = str(error)
    return TargetScope(
        place.module or "kernel",
        found,
        {"$$parms": parameters, "$$locals": locals_, "$$vars": parameters + locals_},
        missing=missing,
        key=f"dwarf:{place.module}:{place.address:#x}:{place.entry:#x}",
        unavailable=unavailable,
        outside=outside(place, services),
    )


def _file_of(place: CodePlace, services: Services) -> DwarfFile:
    """Return the debug file that told of a place."""
    dwarf = services.debuginfo.dwarf_of(place.module)
    assert dwarf is not None  # there would be no `CodePlace`
    return dwarf


def outside(
    place: CodePlace, services: Services
) -> Callable[[str], tuple[ctypes.CType, Expr] | None]:
    """Make what finds the globals and statics that the source of a place sees.

    It gives type and address, or None.
    """
    dwarf = _file_of(place, services)

    def find(name: str) -> tuple[ctypes.CType, Expr] | None:
        try:
            found = dwarf.unit_variable(place.entry, name)
            return None if found is None else (found[0], address_of(found[1], dwarf))
        except (Unavailable, DebuginfoError):
            return None

    return find


def return_scope(site: Any, entry: TargetScope, services: Services) -> TargetScope:
    """Describe the result of a function of DWARF only; parameters are saved at entry."""
    place: CodePlace = site.place
    debuginfo = services.debuginfo
    own: dict[str, TargetVariable] = {}
    dwarf = _file_of(place, services)
    prototype = debuginfo.safe(None, dwarf.prototype, place)
    result = abi.result(prototype, services.machine) if prototype is not None else None
    if result is not None:
        own["$return"] = result
    unknown = abi.unknown_result(prototype, services.machine)
    shown = [*own, *unknown]
    names = entry.groups["$$parms"]
    groups = {"$$return": shown, "$$vars": [*names, *shown], "$$parms": names, "$$locals": []}
    return TargetScope(
        entry.module,
        own,
        groups,
        entry=entry,
        is_return=True,
        missing=entry.missing,
        key=f"{entry.key}:return",
        unavailable={**entry.unavailable, **unknown, **abi.no_result(prototype)},
    )


def where_else(variable: DwarfVariable, place: CodePlace, dwarf: DwarfFile, why: str) -> str:
    """Say why a variable is not there, and the nearest lines of its function where it is."""
    runs = dwarf.lines_with(place, variable) if variable.ranges else []
    if not runs:
        return why or "the compiler has optimised it out"

    def distance(run: tuple[int, int]) -> int:
        return max(run[0] - place.line, place.line - run[1], 0)

    near = sorted(sorted(runs, key=distance)[:_SHOWN_RUNS])
    shown = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in near)
    more = " …" if len(runs) > len(near) else ""
    return f"it is available at {place.file}:{shown}{more}"


def global_variable(
    name: str, module: str | None, services: Services
) -> tuple[ctypes.CType, Expr] | None:
    """Find type and address of ``name`` or ``name@file`` in the kernel (None) or a module.

    Without DWARF BTF has the per-CPU variables; None when nothing knows it.
    """
    plain, _, file = name.partition("@")
    info = services.debuginfo
    dwarf = info.dwarf_of(module)
    if dwarf is not None:
        try:
            found = dwarf.global_variable(plain, file)
            return None if found is None else (found[0], address_of(found[1], dwarf))
        except (Unavailable, DebuginfoError):
            return None
    if file or not (module or services.machine.per_cpu_from_zero):
        return None  # BTF tells no address, but how far from the first one it is
    place = info.per_cpu(plain, module)
    return None if place is None else (place[0], per_cpu_address(place[1], module))
