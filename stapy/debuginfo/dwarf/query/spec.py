"""Function patterns with a file and lines: ``name@file:line`` and its relatives."""

from __future__ import annotations

from stapy.patterns import compiled_when_used
from stapy.record import Record

EVERY = (1, 2**31)  # all lines of a function
_CUT = compiled_when_used(r"[:+][\d*,-]+$")
_LINES = compiled_when_used(r"(?<!:)(?P<mark>[:+])(?P<lines>\*|\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*)$")


class Spec(Record):
    """A pattern in parts; ``lines`` are ranges with both ends, None for the function's entry."""

    function: str
    file: str = ""
    lines: list[tuple[int, int]] | None = None
    is_relative: bool = False

    @property
    def has_plain_name(self) -> bool:
        """True when the function is named without a wildcard."""
        return not any(char in self.function for char in "*?[")


def parse(text: str) -> Spec | None:
    """Split ``name[@file[:lines|+lines]]`` into its parts; None when it is malformed.

    Lines are ``*`` or numbers and ranges with commas in between.
    """
    function, at, rest = text.partition("@")
    if not at:
        # SystemTap takes lines without a file as well: "name+3".
        found = _LINES().search(function)
        if found is None:
            return Spec(function) if function else None
        rest, function = found.group(), function[: found.start()]
    found = _LINES().search(rest)
    file = rest[: found.start()] if found else rest
    if not function or (at and not file) or _CUT().search(file):
        return None
    if found is None:
        return Spec(function, file)
    ranges = [EVERY] if found["lines"] == "*" else list(map(_range, found["lines"].split(",")))
    if any(last < first for first, last in ranges):
        return None
    return Spec(function, file, ranges, found["mark"] == "+")


def _range(text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    return int(first), int(last or first)
