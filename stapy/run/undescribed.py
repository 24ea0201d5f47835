"""Code of arm64 that no ``.eh_frame`` describes, known by its instructions.

Linkers of arm64 describe no stubs, and the vdso and programs that bring a restorer of their own
do not say where handlers of signals return to.
"""

from __future__ import annotations

import struct
from bisect import bisect_right

from .eh_frame import FROM_SP, LINK, SAME, SIGNAL
from .userfile import ARM64, STUBS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List, Tuple

    from .eh_frame import Row
    from .userfile import UserFile

    Part = Tuple[int, int, List[Row]]  # where code begins and ends in the file, its rows

SIGNAL_RULE = (SIGNAL, 0, SAME, 0)
_PLAIN = (FROM_SP, 0, SAME, 0)
# What the first stub and that of thread variables push: the address returned to, or not.
_PUSHES = (
    (struct.pack("<I", 0xA9BF7BF0), (FROM_SP, 16, LINK, -1)),  # stp x16, x30, [sp, #-16]!
    (struct.pack("<I", 0xA9BF0FE2), (FROM_SP, 16, SAME, 0)),  # stp x2, x3, [sp, #-16]!
)
_STUB = 32  # bytes of one of these two
_BTI_C = struct.pack("<I", 0xD503245F)


def undescribed(described: "List[Part]", file: UserFile) -> "List[Part]":
    """List such code, as far as no description reaches.

    Where handlers return to is found by the instruction before it, as for a return address of a
    call.
    """
    found = _stubs(file)
    found += [
        (start, start + 12, [(start, SIGNAL_RULE)])
        for start in (max(at - 4, 0) for at in file.signal_returns())
    ]
    return _clipped(found, described) if found else []


def _stubs(file: UserFile) -> "List[Part]":
    if file.machine != ARM64:
        return []
    parts: List[Part] = []
    for section in (file.sections.get(name) for name in STUBS):
        start = file.code_offset(section.address) if section and section.size else None
        if not section or start is None:
            continue
        code = file.content(section)
        last = file.code_offset(section.address + section.size - 1)
        if not code or last != start + section.size - 1:
            continue
        rows: List[Row] = [(start, _PLAIN)]
        for push, rule in _PUSHES:
            at = code.find(push)
            if at >= 0:
                begin = at - 4 if code[max(at - 4, 0) : at] == _BTI_C else at
                end = min(begin + _STUB, len(code))
                rows += [(start + at + 4, rule), (start + end, _PLAIN)]
        rows.sort(key=lambda row: row[0])
        parts.append((start, start + section.size, rows))
    return parts


def _clipped(found: "List[Part]", described: "List[Part]") -> "List[Part]":
    """Cut off what descriptions have as well."""
    ordered = sorted((start, stop) for start, stop, _ in described)
    starts = [start for start, _ in ordered]
    ends = [0]  # of all before a place
    for _, stop in ordered:
        ends.append(max(ends[-1], stop))
    kept: List[Part] = []
    for start, stop, rows in found:
        number = bisect_right(starts, start)
        first = max(start, ends[number])
        if number < len(starts):
            stop = min(stop, starts[number])
        if first >= stop:
            continue
        cut: List[Row] = []
        for pc, rule in rows:
            if cut and pc <= first:
                cut.pop()
            cut.append((max(pc, first), rule))
        kept.append((first, stop, cut))
    return kept
