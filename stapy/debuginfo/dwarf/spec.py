"""Function patterns with a file and lines: ``name@file:line`` and its relatives."""

from __future__ import annotations

import re

from stapy.record import Record

_EVERY = (1, 2**31)
_LINES = re.compile(r"(?P<mark>[:+])(?P<first>\d+|\*)(?:-(?P<last>\d+))?$")


class Spec(Record):
    """A pattern in parts; ``lines`` is None for the function's entry, both ends included."""

    function: str
    file: str = ""
    lines: tuple[int, int] | None = None
    relative: bool = False
    many: bool = False

    @property
    def named(self) -> bool:
        """True when the function is named without a wildcard."""
        return not any(char in self.function for char in "*?[")


def parse(text: str) -> Spec | None:
    """The parts of ``name[@file[:line|:first-last|:*|+offset]]``; None when it is malformed."""
    function, at, rest = text.partition("@")
    if not at:
        # SystemTap takes lines without a file as well: "name+3".
        found = _LINES.search(function)
        if found is None:
            return Spec(function) if function else None
        rest, function = found.group(), function[: found.start()]
    found = _LINES.search(rest)
    file = rest[: found.start()] if found else rest
    if not function or (at and not file):
        return None
    if found is None:
        return Spec(function, file)
    if found["first"] == "*":
        return None if found["last"] else Spec(function, file, _EVERY, False, True)
    first = int(found["first"])
    last = int(found["last"]) if found["last"] else first
    if last < first:
        return None
    return Spec(function, file, (first, last), found["mark"] == "+", last > first)
