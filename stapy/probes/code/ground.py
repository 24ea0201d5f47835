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
    from stapy.debuginfo.sites import FunctionSite, FunctionSites
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

    def places(self, text: str, *, allow_nearest: bool, lines_as_functions: bool) -> FunctionSites:
        """Find all places that a pattern means; `Debuginfo.places` has the arguments."""

    def file_of(self, place: CodePlace) -> DwarfFile | None:
        """Return the debug file that told of a place; None when it is gone."""

    def site_at(self, place: CodePlace) -> FunctionSite:
        """Describe a place with what cheaper sources know about it."""

    def refusal(self, site: FunctionSite) -> str:
        """Say why a place must not be probed, "" when it may."""

    def refusal_hint(self, refusal: str) -> str:
        """Say what can be done about a refusal, "" when nothing is known."""

    def exports(self, site: FunctionSite) -> bool:
        """Tell whether others can link to a function."""

    def written(self, place: CodePlace | FunctionRow) -> str:
        """Write ``name@file:line``, as points are printed."""

    def match(self, site: FunctionSite, texts: dict[str, str], callers: Any = None) -> Match:
        """Make the site of the family; ``texts`` are printed for the components of those names.

        ``callers`` is what `frames` gave of the call that is meant.
        """

    def elsewhere(self, name: str) -> Elsewhere | None:
        """Find who else defines a function that a debug file only declares, or None."""

    def outside(self, call: Callee) -> FunctionSite | None:
        """Find a called function of which no debug file tells, or None."""

    def frames(self, call: Callee) -> Any:
        """List the calls that must be on the stack; None when that cannot be told."""

    def missing(self, what: str, span: Span) -> PointError:
        """Make the error for missing debug information."""

    def no_code(self, component: PointComponent) -> PointError:
        """Make the error for an address that no function is known to have."""

    def not_exported(self, component: PointComponent, name: str) -> PointError:
        """Make the error for an address whose function others cannot call."""

    def other_names(self, name: str) -> list[str]:
        """List names that debug information may have for the function of a symbol."""

    def similar(self, name: str) -> list[str]:
        """Suggest the nearest names of functions."""


def address_of(component: PointComponent) -> int:
    """Read the number in a component as an address, 0 without one."""
    return (number_of(component) or 0) & (2**64 - 1)


def place_text(place: CodePlace | FunctionRow, path: str = "") -> str:
    """Write ``name@file:line`` of a place, or of a function of the index.

    ``path`` is that of the file where it is known better.
    """
    function = getattr(place, "function", "") or getattr(place, "name", "")
    file = path or place.file
    return f"{function}@{file}:{place.line}" if file else str(function)
