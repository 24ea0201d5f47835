"""One place of a program that is probed, and how its point is printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.probes import programs
from stapy.probes.family import print_component
from stapy.record import Record, new

if TYPE_CHECKING:
    from stapy.debuginfo.dwarf.query.answers import CodePlace
    from stapy.debuginfo.user.file import UserFile
    from stapy.parse.nodes import ProbePoint
    from stapy.probes.programs import Head


class UprobeSite(Record):
    """One place of a program: ``address`` as it was linked, ``offset`` in the file.

    ``program`` and ``pid`` say whose processes (see `Head`).  ``function`` is the name
    of the function that the place is in, ``place`` what DWARF knows of it, where it was
    found by that.  ``callers`` are the calls that must be on the stack, as
    ``runtime/user/callers.h`` has them.  ``stub`` is what is called by the place, a stub.
    """

    file: UserFile
    program: str | None
    pid: int
    function: str
    address: int
    offset: int
    is_return: bool
    optional: bool
    place: CodePlace | None = None
    callers: list[int] = new(list)
    stub: str = ""

    @property
    def user_files(self) -> dict[str, str]:
        """Paths of the files that the consumer must open, with what they are told by."""
        return programs.opened_files(self.file, self.program)


def site_at(point: ProbePoint, head: Head, name: str, address: int) -> UprobeSite:
    """A place of a head's file, whose code has the address."""
    offset = head.file.code_offset(address)
    assert offset is not None
    is_return = any(component.name == "return" for component in point.components)
    optional = point.optional or point.sufficient
    return UprobeSite(head.file, head.program, head.pid, name, address, offset, is_return, optional)


def text_of_point(point: ProbePoint, head: Head, texts: dict[str, str]) -> str:
    """The point as it is printed; ``texts`` are those of the components that say which place."""
    below = [
        texts.get(component.name) or print_component(component)
        for component in point.components[1:]
        if component.name != "library"
    ]
    return ".".join([head.shown, *below])
