"""The context variables at one probe site, as the families describe them.

Plain data: a family says where each value is (an expression of
`program`) and which C type it has; ``targets.py`` does the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from stapy.debuginfo.ctypes import CType
from stapy.ir.program import Expr
from stapy.record import Record, new


class TargetVariable(Record):
    """One context variable.

    ``value`` gives a scalar as 64 bits; ``address`` the place in memory (an
    aggregate passed on the stack); ``parts`` the eight-byte pieces of a small
    struct that is passed in registers, of which the bits in ``gaps`` (start, end)
    are nowhere.  ``is_text`` marks a value that is text; one that is ``writable`` is the script's
    own to set, guru or not, and perhaps not ``readable``.  ``behind`` is set for a
    pointer that has no value, since what it points to is nowhere in memory: it
    gives that (or says why not), and the pointer points ``behind_offset`` bytes into it.
    """

    name: str  # with the dollar
    type: CType
    value: Expr | None = None
    address: Expr | None = None
    parts: list[Expr] = new(list)
    is_text: bool = False
    writable: bool = False
    readable: bool = True
    gaps: list[tuple[int, int]] = new(list)
    behind: Callable[[], TargetVariable | str] | None = None
    behind_offset: int = 0
    is_user: bool = False  # in the memory of the program, and so is what a pointer points to


class TargetScope(Record):
    """What ``$name`` means at a site.

    ``groups`` are the variables behind ``$$parms``, ``$$vars``, ``$$locals``,
    ``$$return``; ``texts`` fixed strings such as ``$$name``.  ``entry`` is the
    scope at function entry for a return probe.  ``missing`` says why other
    variables cannot be had ("…needs debuginfo") and ``hint`` what to do; ``ambiguity``
    why those that there are may be another function's; ``unknown`` is the whole error of a scope
    whose variables are few and fixed.

    ``is_user`` says that all of it is in a program's memory.

    ``deeper`` gives the scope of the same place by a source that costs more;
    ``outside``, which only the last source has, gives type and address of a variable
    that the function's source sees outside of it.
    """

    module: str
    variables: dict[str, TargetVariable] = new(dict)
    groups: dict[str, list[str]] = new(dict)
    texts: dict[str, str] = new(dict)
    entry: TargetScope | None = None
    is_return: bool = False
    missing: str = ""
    hint: str = ""
    way: Callable[[], str] | None = None  # gives the hint where it takes a while to find
    ambiguity: str = ""
    unknown: str = ""
    # Known, but nowhere at this place: what tells why, which may take a while.
    unavailable: dict[str, Callable[[], str]] = new(dict)
    key: str = ""  # sites with one key have equal variables
    deeper: Callable[[], TargetScope | None] | None = None
    outside: Callable[[str], tuple[CType, Expr] | None] | None = None
    is_user: bool = False  # a place of a user program: ``module`` is its file
    # Of a user program: the same for all of its variables, ``name`` or ``name@file``.
    everywhere: Callable[[str], tuple[CType, Expr] | None] | None = None
    # Of a user program: enumeration constants that the function's source sees.
    constant: Callable[[str], int | None] | None = None

    def whole(self) -> TargetScope:
        """Return what the last source knows of this place: this scope itself when it is that."""
        found = self.deeper() if self.deeper is not None else None
        return found if found is not None else self

    def find(self, name: str) -> TargetVariable | None:
        """Find a variable by its name, every source asked; None when none has it."""
        found = self.variables.get(name)
        if found is None and self.deeper is not None and not self.is_return:
            found = self.whole().variables.get(name)
        return found

    def members(self, group: str) -> Iterator[tuple[str, TargetVariable | None]]:
        """Yield the variables of a group by name; None for one that is nowhere here."""
        names = list(self.groups[group])
        rest: dict[str, TargetVariable] = {}
        if self.deeper is not None and not self.is_return:
            deeper = self.whole()
            rest = deeper.variables
            names += [name for name in deeper.groups.get(group, ()) if name not in names]
        for name in names:
            yield name, self.variables.get(name) or rest.get(name)
