"""What points in code stand on: the kernel and its modules, or one file of a program.

Which files describe it, what must not be probed, and how its family writes down a place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from stapy.probes.family import Match, number_of

if TYPE_CHECKING:
    from stapy.debuginfo.dwarf.index.reader import FunctionRow
    from stapy.debuginfo.dwarf.query.answers import CodePlace
    from stapy.debuginfo.dwarf.query.callees import Callee, Elsewhere
    from stapy.debuginfo.dwarf.query.dwarf_file import DwarfFile
    from stapy.debuginfo.sites import FunctionSite, Places
    from stapy.diagnostics import Span
    from stapy.parse.nodes import PointComponent, ProbePoint
    from stapy.probes.family import PointError
    from stapy.services import Services

Found = dict[str, "PointComponent"]


class Ground(Protocol):
    """Code that a point lies in; ``found`` are the components of the point by their names."""

    point: ProbePoint
    found: Found
    services: Services

    @property
    def files(self) -> list[DwarfFile]:
        """The debug files of all that the point may mean."""

    def places(self, text: str, *, allow_nearest: bool, lines_as_functions: bool) -> Places:
        """All places that a pattern means; see `Debuginfo.places`."""

    def file_of(self, place: CodePlace) -> DwarfFile | None:
        """The debug file that told of a place."""

    def site_at(self, place: CodePlace) -> FunctionSite:
        """A place with what cheaper sources know about it."""

    def refusal(self, site: FunctionSite) -> str:
        """Why a place must not be probed, "" when it may."""

    def refusal_hint(self, refusal: str) -> str:
        """What can be done about that, "" when nothing is known."""

    def exports(self, site: FunctionSite) -> bool:
        """True for a function that others can link to."""

    def written(self, place: CodePlace | FunctionRow) -> str:
        """``name@file:line``, as points are printed."""

    def match(self, site: FunctionSite, texts: dict[str, str], callers: Any = None) -> Match:
        """The site of the family; ``texts`` are printed for the components of those names.

        ``callers`` is what `frames` gave of the call that is meant.
        """

    def elsewhere(self, name: str) -> Elsewhere | None:
        """Who else defines a function that a debug file only declares."""

    def outside(self, call: Callee) -> FunctionSite | None:
        """A called function of which no debug file tells."""

    def frames(self, call: Callee) -> Any:
        """The calls that must be on the stack; None when that cannot be told."""

    def missing(self, what: str, span: Span) -> PointError:
        """The error when there is no debug information."""

    def no_code(self, component: PointComponent) -> PointError:
        """The error for an address that no function is known to have."""

    def not_exported(self, component: PointComponent, name: str) -> PointError:
        """The error for an address whose function others cannot call."""

    def other_names(self, name: str) -> list[str]:
        """Names that debug information may have for the function of a symbol."""

    def similar(self, name: str) -> list[str]:
        """The nearest names of functions."""


def address_of(component: PointComponent) -> int:
    """The number in a component as an address."""
    return (number_of(component) or 0) & (2**64 - 1)


def place_text(place: CodePlace | FunctionRow) -> str:
    """``name@file:line`` of a place, or of a function of the index."""
    function = getattr(place, "function", "") or getattr(place, "name", "")
    return f"{function}@{place.file}:{place.line}" if place.file else str(function)
