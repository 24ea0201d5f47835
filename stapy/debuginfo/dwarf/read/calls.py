"""Calls and what they pass: DWARF 5, section 3.4, and the form that GNU had before."""

from __future__ import annotations

from collections.abc import Iterator

from stapy.debuginfo.dwarf import constants as k
from stapy.debuginfo.dwarf.read.expressions import Op, decode
from stapy.debuginfo.dwarf.read.units import Die
from stapy.record import Record, new

_MAX_DEPTH = 64  # blocks and inlined functions in each other


class Argument(Record):
    """What a call passes, in terms of the frame that calls.

    ``location`` is where the called function finds it, empty when it is not
    passed at all; ``parameter`` the entry of what it is passed for, 0 when that
    is not told; ``value`` is empty when what is passed is not known.
    """

    location: list[Op]
    parameter: int
    value: list[Op]


class CallSite(Record):
    """One call: ``back`` is where it returns to, 0 when that is not told."""

    back: int
    function: Die
    is_tail: bool
    target: Die | None
    arguments: list[Argument] = new(list)


def calls(function: Die) -> Iterator[CallSite]:
    """Yield all calls of a function out of line, also of what is inlined into it."""
    for part in _parts(function, 0):
        yield CallSite(
            return_address(part),
            function,
            is_tail(part),
            target(part),
            [
                _argument(child)
                for child in part.children()
                if child.tag in (k.CALL_SITE_PARAMETER, k.GNU_CALL_SITE_PARAMETER)
            ],
        )


def _parts(entry: Die, depth: int) -> Iterator[Die]:
    for child in entry.children():
        if child.tag in (k.CALL_SITE, k.GNU_CALL_SITE):
            yield child
        elif child.tag in (k.LEXICAL_BLOCK, k.INLINED_SUBROUTINE) and depth < _MAX_DEPTH:
            yield from _parts(child, depth + 1)


def return_address(part: Die) -> int:
    """Read where the call that an entry describes returns to, 0 if it does not tell."""
    return part.number(k.AT_CALL_RETURN_PC) or part.number(k.AT_LOW_PC)


def is_tail(part: Die) -> bool:
    """Tell whether a call is a jump to another function, which returns in its stead."""
    return bool(part.number(k.AT_CALL_TAIL_CALL) or part.number(k.AT_GNU_TAIL_CALL))


def target(part: Die) -> Die | None:
    """Find the entry of the function that is called; None for a call by a pointer."""
    return part.refer(k.AT_CALL_ORIGIN) or part.refer(k.AT_ABSTRACT_ORIGIN)


def _argument(entry: Die) -> Argument:
    def expression(*attributes: int) -> list[Op]:
        found = next((entry.values[a] for a in attributes if a in entry.values), b"")
        return decode(found, entry.unit) if isinstance(found, bytes) else []

    parameter = entry.number(k.AT_CALL_PARAMETER) or entry.number(k.AT_ABSTRACT_ORIGIN)
    value = expression(k.AT_CALL_VALUE, k.AT_GNU_CALL_VALUE)
    return Argument(expression(k.AT_LOCATION), parameter, value)
