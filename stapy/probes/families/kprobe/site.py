"""One place of kernel code that is probed, as the family hands it on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.probes.family import PointError, number_of
from stapy.record import Record, new

if TYPE_CHECKING:
    from stapy.debuginfo.ctypes import FunctionType
    from stapy.debuginfo.dwarf.query.answers import CodePlace
    from stapy.parse.nodes import PointComponent

# Frames, each with its alternatives: from what a return address is told, and how far it is.
Frames = list[list[tuple[str, int]]]
MAX_ACTIVE = 65_535


class KprobeSite(Record):
    """One function or address; ``type`` is the prototype when the debug information has it.

    ``place`` is set when DWARF told the address.  ``callers`` are the return
    addresses that must be on the stack, the innermost frame's first: each counts
    from the place itself (""), or from a symbol of another module ("module:symbol").
    ``unasked_clone`` is a copy made by the compiler that a wildcard matched: of no use to a
    script that wants its variables.  ``ambiguity`` says why ``type`` may be another function's.
    """

    symbol: str | None
    module: str | None
    address: int
    offset: int
    is_return: bool
    maxactive: int
    type: FunctionType | None = None
    source: str = ""
    place: CodePlace | None = None
    callers: Frames = new(list)
    unasked_clone: bool = False
    ambiguity: str = ""


def maxactive_of(component: PointComponent | None) -> int:
    """Read the number of a return probe's ``.maxactive``, 0 without one.

    Raises `PointError` when it is out of range.
    """
    if component is None:
        return 0
    value = number_of(component) or 0
    if not 0 <= value <= MAX_ACTIVE:
        message = f"maxactive value out of range [0,{MAX_ACTIVE}]"
        raise PointError("E0212", message, component.span)
    return value
