"""``.plt``: calls of functions that other files define, at the stubs of the calling file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.debuginfo.glob import matcher
from stapy.debuginfo.user import plt
from stapy.diagnostics.suggest import nearest
from stapy.ir.literals import quote_name
from stapy.probes import armable
from stapy.probes.families.uprobe.site import lines_of, site_at, text_of_point
from stapy.probes.family import Match, PointError, only_lines, text_of
from stapy.record import replace

if TYPE_CHECKING:
    from stapy.debuginfo.user.plt import Stub
    from stapy.parse.nodes import PointComponent, ProbePoint
    from stapy.probes.programs import Head
    from stapy.services import Services


def resolve(
    point: ProbePoint, found: dict[str, PointComponent], head: Head, services: Services
) -> list[Match]:
    """Find the stubs that a point means; raises `PointError` when there is none."""
    component = found["plt"]
    pattern = text_of(component) if component.arg is not None else "*"
    known = services.debuginfo.programs.stubs(head.file)
    fits = matcher(pattern)
    stubs = [stub for stub in known if fits(stub.name)]
    if not stubs:
        raise _no_match(component, known, head)
    if "return" in found:
        stubs = armable.returnable_stubs(stubs, head.file, found["return"])
    is_pattern = component.arg is None or any(char in pattern for char in "*?[")
    places = [(stub.name, stub.address) for stub in stubs]
    taken = armable.accepted(places, head.file, component, services, is_pattern=is_pattern)
    stubs = [stub for stub in stubs if stub.address in taken]
    if only_lines(services):
        return lines_of(point, head, "plt", [stub.name for stub in stubs])
    matches = []
    for stub in stubs:
        text = text_of_point(point, head, {"plt": f"plt({quote_name(stub.name)})"})
        site = site_at(point, head, stub.name, stub.address)
        matches.append(Match(text, replace(site, stub=stub.name)))
    return matches


def _no_match(component: PointComponent, known: list[Stub], head: Head) -> PointError:
    pattern, path = text_of(component), head.file.path
    notes = [f"'{path}' calls no function of another file that matches '{pattern}'"]
    if not known:
        notes = [f"'{path}' has no table of calls to other files (.plt)"]
    hint = ""
    if pattern in plt.called(head.file):
        notes = [f"'{path}' calls '{pattern}' without a stub, as -fno-plt has it done"]
        hint = f'.library("*").function({quote_name(pattern)}) is the function itself'
    notes += head.notes()

    def similar(error: PointError) -> None:
        near = nearest(pattern, [stub.name for stub in known], 2)
        if near:
            error.hint = "did you mean " + " or ".join(f"'{name}'" for name in near) + "?"

    explain = None if hint else similar
    return PointError("E0231", "no match", component.span, notes=notes, hint=hint, explain=explain)
