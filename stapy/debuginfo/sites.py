"""What the facade answers about places that can be probed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.debuginfo import ctypes as c
from stapy.record import Record, new

if TYPE_CHECKING:
    from stapy.debuginfo.dwarf.query.answers import CodePlace

BTF = "BTF"
SYMBOLS = "symbol table"
DWARF = "DWARF"
EXPORTS = "exports"


class FunctionSite(Record):
    """One function out of line.

    ``type`` is None when only its name is known.  ``section`` is "" or says why
    the kernel refuses to probe it (a value of `symbols.MARKS`; ".init.text" is
    gone after boot).  ``namesakes`` counts the functions of this name.

    ``ambiguity`` says why ``type`` may be that of another function, "" when it is not.

    ``place`` is set when DWARF tells the address: then the site is that place,
    an inlined instance or a statement perhaps.
    """

    name: str
    module: str | None
    type: c.FunctionType | None
    source: str
    section: str = ""
    namesakes: int = 1
    place: CodePlace | None = None
    ambiguity: str = ""


class FunctionSites(Record):
    """What DWARF answered.

    ``is_available`` is False without debug information, ``is_valid`` for a pattern
    that is malformed.  ``near_lines`` have code where the line asked for has
    none; ``functions`` counts those that the pattern names.
    """

    sites: list[FunctionSite]
    is_available: bool
    is_valid: bool
    near_lines: list[int] = new(list)
    functions: int = 0
