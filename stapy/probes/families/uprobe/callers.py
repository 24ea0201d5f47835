"""The calls that a callee's stack must show, as ``runtime/user/callers.h`` reads them.

The frame descriptions of the file say how far each return address is from the next one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.debuginfo.dwarf.read.frames import UnwindRow
from stapy.record import replace

if TYPE_CHECKING:
    from stapy.arch import Architecture
    from stapy.debuginfo.dwarf.query.answers import CodePlace
    from stapy.debuginfo.dwarf.query.callees import Callee
    from stapy.debuginfo.dwarf.query.dwarf_file import DwarfFile

_INT = 1 << 31
_NOTHING = [0, 0, 0, 0]


def frames(call: Callee, machine: Architecture) -> list[int] | None:
    """List the numbers of the row; None when the frames of one of the calls are not known."""
    place = call.place
    if place is None:
        return None
    if not call.frames:
        return []
    numbers = [len(call.frames)]
    rule = _rule(_row_of(call.frames[0][0].dwarf, place, machine), machine)
    if rule is None:
        return None
    numbers += rule
    for depth, frame in enumerate(call.frames, 1):
        rows: list[int] = []
        for where, address in frame:
            is_last = depth == len(call.frames)
            above = _NOTHING if is_last else _above(where, place, address, machine)
            if above is not None:
                rows += [address - place.address, *above]
        if not rows or any(not -_INT <= number < _INT for number in rows):
            return None
        numbers += [len(rows) // 5, *rows]
    return numbers


def _row_of(dwarf: DwarfFile, place: CodePlace, machine: Architecture) -> UnwindRow | None:
    if place.is_exact:  # nothing is saved yet but what the call has pushed
        return UnwindRow((machine.stack_pointer, machine.stack_arguments), {})
    return dwarf.frame(place)


def _above(
    dwarf: DwarfFile, place: CodePlace, address: int, machine: Architecture
) -> list[int] | None:
    """Encode how the frame of a call is left; None also where it has not saved its own return."""
    # What holds for a call is told of the byte before the one that it returns to.
    row = dwarf.frame(replace(place, address=address - 1, is_exact=False))
    rule = _rule(row, machine)
    return rule if rule is not None and rule[3] else None


def _rule(row: UnwindRow | None, machine: Architecture) -> list[int] | None:
    """Encode the rule of a frame; None for one that the runtime cannot follow.

    It is ``[by the frame pointer, offset of the frame's address, where the former is saved, where
    the return address is]``.
    """
    if row is None or not isinstance(row.address, tuple):
        return None
    register, offset = row.address
    if register not in (machine.frame_pointer, machine.stack_pointer):
        return None
    pointer = _saved(row, machine.frame_pointer)
    # A call pushes the return address right below the frame's, or puts it into a register.
    back = -machine.stack_arguments if machine.link is None else _saved(row, machine.link)
    if pointer is None or back is None:
        return None
    return [int(register == machine.frame_pointer), offset, pointer, back]


def _saved(row: UnwindRow, register: int) -> int | None:
    """Tell how far from the frame's address a register is saved; 0: it still is in the register."""
    saved = row.saved.get(register)
    if saved is None:
        return 0
    return saved.number if saved.name == "frame" else None
