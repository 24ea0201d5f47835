"""Frame tables: how the caller's frame is found from each place in a file's code.

Made from ``.eh_frame`` (`eh_frame.py`), where that has nothing by the code (`undescribed.py`), and
packed for the kernel.  Rows are those of the file, not of memory: whoever maps it can use them.
"""

from __future__ import annotations

import struct

from .eh_frame import MACHINES, NOTHING, FrameReader
from .undescribed import SIGNAL_RULE, undescribed
from .userfile import UserFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List, Tuple

    from .eh_frame import Row, Rule
    from .undescribed import Part

_PADDING = 15  # bytes between functions that need no description
_REACH = 1 << 30  # bytes of code; no linker makes more


def rows_of(file: UserFile) -> "List[Row]":
    """List rows of a whole file by offset, each other than the one before it."""
    parts = _described(file)
    parts += undescribed(parts, file)
    parts.sort(key=lambda part: part[0])
    flat: List[Row] = []
    end = 0

    def add(place: int, rule: Rule) -> None:
        if not flat or flat[-1][1] != rule:
            flat.append((place, rule))

    for start, stop, rows in parts:
        if flat and (start > end + _PADDING or (start > end and flat[-1][1] == SIGNAL_RULE)):
            add(end, NOTHING)
        for pc, rule in rows:
            if pc >= stop:
                break
            if pc >= end:
                add(pc, rule)
        end = max(end, stop)
    if flat:
        add(end, NOTHING)
    return flat


def _described(file: UserFile) -> "List[Part]":
    """List the functions that ``.eh_frame`` describes."""
    machine = MACHINES.get(file.machine)
    if machine is None:
        return []
    data, address = file.unwinding()
    reader = FrameReader(data, address, machine)
    reader.read()
    parts: List[Part] = []
    for start, stop, rows in reader.functions:
        place = file.code_offset(start)
        if place is None or file.code_offset(stop - 1) is None:
            continue
        shift = place - start
        parts.append((place, stop + shift, [(pc + shift, rule) for pc, rule in rows]))
    return parts


def packed(rows: "List[Row]") -> "Tuple[int, bytes, bytes, bytes, bytes]":
    """Pack rows: the base, and the bytes of first[], low[], rule[] and rules[].

    A row is found by the KiB that its place is in: first[k] is the first row at or behind
    base + 1024 k.  Each 64 KiB begin with a row, so that the low half of a place is enough.
    """
    first: List[int] = []
    low: List[int] = []
    chosen: List[int] = []
    rules: Dict[Rule, int] = {NOTHING: 0}
    if not rows:
        return 0, b"", b"", b"", b""
    base = rows[0][0] & ~0xFFFF
    block = -1
    kib = 0
    current = 0
    for place, rule in rows:
        at = place - base
        if at >= _REACH:
            break
        while block < at >> 16:
            block += 1
            start = block << 16
            if start != at:
                while kib << 10 <= start:
                    first.append(len(low))
                    kib += 1
                low.append(0)
                chosen.append(current)
        current = rules.setdefault(rule, len(rules))
        if current > 0xFFFF:
            current = rules[NOTHING]
        while kib << 10 <= at:
            first.append(len(low))
            kib += 1
        low.append(at & 0xFFFF)
        chosen.append(current)
    end = min(rows[-1][0] - base, _REACH - 1)
    while kib << 10 <= end:
        first.append(len(low))
        kib += 1
    first.append(len(low))
    texts = bytearray()
    for kind, offset, where, by in list(rules)[:0x10000]:
        texts += struct.pack("<IhBB", offset & 0xFFFFFFFF, by, kind, where)
    halves = f"<{len(low)}H"
    packed_first = struct.pack(f"<{len(first)}I", *first)
    return base, packed_first, struct.pack(halves, *low), struct.pack(halves, *chosen), bytes(texts)
