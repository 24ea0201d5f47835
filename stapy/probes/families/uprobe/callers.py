"""The calls that a callee's stack must show, as ``runtime/user/callers.h`` reads them.

The frame descriptions of the file say how far each return address is from the next one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.record import replace

if TYPE_CHECKING:
    from stapy.debuginfo.dwarf.query.answers import CodePlace
    from stapy.debuginfo.dwarf.query.callees import Callee
    from stapy.debuginfo.dwarf.query.dwarf_file import DwarfFile
    from stapy.debuginfo.dwarf.read.frames import UnwindRow

_FRAME_POINTER, _STACK_POINTER = 6, 7
_INT = 1 << 31
_NOTHING = [0, 0, 0]


def frames(call: Callee) -> list[int] | None:
    """List the numbers of the row; None when the frames of one of the calls are not known."""
    place = call.place
    if place is None:
        return None
    if not call.frames:
        return []
    numbers = [len(call.frames)]
    dwarf = call.frames[0][0].dwarf
    rule = _rule(dwarf.frame(place))
    if rule is None:
        return None
    numbers += rule
    for depth, frame in enumerate(call.frames, 1):
        rows: list[int] = []
        for where, address in frame:
            above = _above(where, place, address) if depth < len(call.frames) else _NOTHING
            if above is not None:
                rows += [address - place.address, *above]
        if not rows or any(not -_INT <= number < _INT for number in rows):
            return None
        numbers += [len(rows) // 4, *rows]
    return numbers


def _above(dwarf: DwarfFile, place: CodePlace, address: int) -> list[int] | None:
    # What holds for a call is told of the byte before the one that it returns to.
    return _rule(dwarf.frame(replace(place, address=address - 1, is_exact=False)))


def _rule(row: UnwindRow | None) -> list[int] | None:
    """Encode the rule of a frame; None for one that the runtime cannot follow.

    It is ``[by the frame pointer, offset of the frame's address, where the former is saved]``.
    """
    if row is None or not isinstance(row.address, tuple):
        return None
    register, offset = row.address
    if register not in (_FRAME_POINTER, _STACK_POINTER):
        return None
    saved = row.saved.get(_FRAME_POINTER)
    if saved is not None and saved.name != "frame":
        return None
    return [int(register == _FRAME_POINTER), offset, saved.number if saved is not None else 0]
