"""One place of a program that is probed, and how its point is printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.ir.literals import quote_names
from stapy.probes.family import Match, print_component
from stapy.probes.programs import ProgramSite
from stapy.record import new

if TYPE_CHECKING:
    from stapy.debuginfo.dwarf.query.answers import CodePlace
    from stapy.parse.nodes import ProbePoint
    from stapy.probes.programs import Head


class UprobeSite(ProgramSite):
    """A place in a program's code: ``address`` as it was linked, ``offset`` in the file.

    ``function`` is the name of the function that it is in, ``place`` what DWARF knows of it,
    where it was found by that.  ``callers`` are the calls that must be on the stack, as
    ``runtime/user/callers.h`` has them.  ``stub`` is what is called by the place, a stub.
    ``is_entry`` is True where the beginning of a function is meant, whose breakpoint may lie
    ``distance`` bytes behind it (`shift.py`).
    """

    function: str
    address: int
    offset: int
    is_return: bool
    place: CodePlace | None = None
    callers: list[int] = new(list)
    stub: str = ""
    is_entry: bool = False
    distance: int = 0

    @property
    def place_offset(self) -> int:
        """Where the place that is meant is in the file."""
        return self.offset


def site_at(
    point: ProbePoint,
    head: Head,
    name: str,
    address: int,
    place: CodePlace | None = None,
    callers: list[int] | None = None,
    *,
    is_entry: bool = False,
) -> UprobeSite:
    """Make the site of a place in a head's file, whose code has the address."""
    offset = head.file.code_offset(address)
    assert offset is not None
    is_return = any(component.name == "return" for component in point.components)
    optional = point.optional or point.sufficient
    return UprobeSite(head.file, head.program, head.pid, optional, name, address, offset,
                      is_return, place, callers or [], is_entry=is_entry)  # fmt: skip


def lines_of(point: ProbePoint, head: Head, word: str, names: list[str]) -> list[Match]:
    """List matches without sites: the point with each of some names behind a word."""
    before, _, behind = text_of_point(point, head, {word: "\0"}).partition("\0")
    return [Match(f"{before}{word}({name}){behind}", None) for name in quote_names(names)]


def text_of_point(point: ProbePoint, head: Head, texts: dict[str, str]) -> str:
    """Print the point; ``texts`` are those of the components that say which place."""
    return ".".join([texts.get(name) or printed for name, printed in printed_parts(point, head)])


def printed_parts(point: ProbePoint, head: Head) -> list[tuple[str, str]]:
    """List the names of a point's components, and how each is printed; "" is that of its file."""
    below = [
        (component.name, print_component(component))
        for component in point.components[1:]
        if component.name != "library"
    ]
    return [("", head.shown), *below]
