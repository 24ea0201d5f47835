"""Which points are not made for the machine of a session's kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.probes.family import PointError

if TYPE_CHECKING:
    from stapy.parse.nodes import ProbePoint
    from stapy.services import Services

# Points that are made where those of a family, or with a component, are not.
_OF_FUNCTIONS = 'process("PATH").function("NAME") is made for it'
_INSTEAD = {".callee": _OF_FUNCTIONS, ".callees": _OF_FUNCTIONS}


def check_machine(family: str, point: ProbePoint, services: Services) -> None:
    """Raise `PointError` for a point of a family that is not made for the session's machine."""
    machine = services.machine
    name = _refused(family, point, machine.refused)
    if not name:
        return
    release = getattr(services.kernel, "release", "")
    raise PointError(
        "E0265",
        f"{name} probes are not made for {machine.name}",
        point.span,
        notes=[f"kernel {release} is for {machine.name}"],
        hint=_INSTEAD.get(name, ""),
    )


def _refused(family: str, point: ProbePoint, refused: tuple[str, ...]) -> str:
    """Name what of a point is refused: its family, or one of its components; "" for nothing."""
    if family in refused:
        return family
    names = (component.name for component in point.components)
    return next((f".{name}" for name in names if f"{family}.{name}" in refused), "")
