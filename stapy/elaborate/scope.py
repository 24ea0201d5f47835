"""The context variables at one probe site, as the families describe them.

Plain data: a family says where each value is (an expression of
``program.py``) and which C type it has; ``targets.py`` does the rest.
"""

from __future__ import annotations

from stapy.debuginfo.ctypes import CType
from stapy.elaborate.program import Expr
from stapy.record import Record, new


class TargetVariable(Record):
    """One context variable.

    ``value`` gives a scalar as 64 bits; ``address`` the place in memory (an
    aggregate passed on the stack); ``parts`` the eight-byte pieces of a small
    struct that is passed in registers, of which the bits in ``gaps`` (start, end)
    are nowhere.  ``string`` marks a value that is text.
    """

    name: str  # with the dollar
    type: CType
    value: Expr | None = None
    address: Expr | None = None
    parts: list[Expr] = new(list)
    string: bool = False
    writable: bool = False
    gaps: list[tuple[int, int]] = new(list)


class TargetScope(Record):
    """What ``$name`` means at a site.

    ``groups`` are the variables behind ``$$parms``, ``$$vars``, ``$$locals``,
    ``$$return``; ``texts`` fixed strings such as ``$$name``.  ``entry`` is the
    scope at function entry for a return probe.  ``missing`` says why other
    variables cannot be had ("…needs debuginfo") and ``hint`` what to do.
    """

    module: str
    variables: dict[str, TargetVariable] = new(dict)
    groups: dict[str, list[str]] = new(dict)
    texts: dict[str, str] = new(dict)
    entry: TargetScope | None = None
    is_return: bool = False
    missing: str = ""
    hint: str = ""
    unavailable: dict[str, str] = new(dict)  # known, but nowhere at this place: name -> note
    key: str = ""  # sites with one key have equal variables
