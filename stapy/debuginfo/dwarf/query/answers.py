"""What a debug file answers: places, with what calls pass there."""

from __future__ import annotations

from collections.abc import Iterator

from stapy.debuginfo.dwarf.read.expressions import Op
from stapy.record import Record, new


class CodePlace(Record):
    """One address that can be probed.

    ``symbol`` and ``offset`` say where it is in a kernel that was moved, and in
    a ``module`` (None: the kernel itself) wherever that was loaded; ``address``
    is that of the debug file, good for questions to its debug file only.
    ``entry`` is the function or inlined instance that it lies in, as an offset
    of ``.debug_info``.  ``is_exact`` is True for the first instruction of a
    function out of line.
    """

    function: str
    file: str
    line: int
    symbol: str
    offset: int
    address: int
    entry: int
    inlined: bool
    is_exact: bool
    module: str | None = None


class Answer(Record):
    """Places for a pattern; ``near_lines`` when the function has no code at the line asked for."""

    places: list[CodePlace] = new(list)
    near_lines: list[int] = new(list)
    functions: int = 0


def distinct(places: list[CodePlace], by_function: bool) -> Iterator[CodePlace]:
    """Yield each place once; ``by_function`` tells of places not asked for by their lines.

    An instance of an inlined function is a place of its own even where the
    function around it, or another instance, begins at the same instruction;
    so is a statement for each of its lines and each function that holds it.
    """
    seen: set[tuple[int, str, int]] = set()
    for place in places:
        apart = place.inlined or not by_function
        key = (place.address, place.function, place.line) if apart else (place.address, "", 0)
        if key not in seen:
            seen.add(key)
            yield place


class Passing(Record):
    """What a call that returns to ``back`` passes, in terms of the frame at ``place``."""

    back: int
    place: CodePlace
    ops: list[Op]
