"""The canonical frame address at an instruction, from ``.debug_frame``."""

from __future__ import annotations

import struct
from bisect import bisect_right

from stapy.debuginfo.dwarf.numbers import sleb, uleb
from stapy.debuginfo.dwarf.sections import Sections
from stapy.record import Record

_CIE = 0xFFFFFFFF
Rule = tuple[int, int]  # register, offset


class _Common(Record):
    """What several functions share."""

    code_align: int
    program: bytes
    valid: bool


class Frames:
    """All frame descriptions of one file; listed once, on first use."""

    def __init__(self, sections: Sections) -> None:
        self._data = bytes(sections.section("frame"))
        self._commons: dict[int, _Common] = {}
        self._starts: list[int] = []
        self._rows: list[tuple[int, int, int, int, int]] = []
        self._list()

    def _list(self) -> None:
        data, at, rows = self._data, 0, []
        head, body = struct.Struct("<II").unpack_from, struct.Struct("<QQ").unpack_from
        while at + 24 <= len(data):
            length, common = head(data, at)
            end = at + 4 + length
            if length >= 0xFFFFFFF0 or end > len(data):
                break
            if common != _CIE:
                start, size = body(data, at + 8)
                rows.append((start, start + size, common, at + 24, end))
            at = end
        rows.sort()
        self._rows = rows
        self._starts = [row[0] for row in rows]

    def cfa(self, address: int) -> Rule | None:
        """``(register, offset)`` whose sum is the frame address; None when it is not so simple."""
        row = bisect_right(self._starts, address) - 1
        if row < 0 or address >= self._rows[row][1]:
            return None
        start, _, common_at, first, end = self._rows[row]
        try:
            common = self._common(common_at)
            if not common.valid:
                return None
            rule = _run(common.program, 0, len(common.program), 0, 0, common.code_align, None)
            return _run(self._data, first, end, start, address, common.code_align, rule)
        except (IndexError, struct.error, _Unknown):
            return None

    def _common(self, at: int) -> _Common:
        found = self._commons.get(at)
        if found is None:
            data = self._data
            (length,) = struct.unpack_from("<I", data, at)
            end, version = at + 4 + length, data[at + 8]
            # Augmented rules are of .eh_frame, which the kernel does not keep.
            valid = data[at + 9] == 0 and version in (1, 3, 4)
            where = at + 10 + (2 if version == 4 else 0)
            align, where = uleb(data, where)
            _, where = sleb(data, where)
            _, where = uleb(data, where) if version > 1 else (0, where + 1)
            found = self._commons[at] = _Common(align, data[where:end], valid)
        return found


class _Unknown(Exception):
    """A rule that is no register plus offset."""


def _run(
    data: bytes, at: int, end: int, place: int, address: int, align: int, rule: Rule | None
) -> Rule | None:
    """The rule in force at an address."""
    initial, kept = rule, []
    while at < end:
        code = data[at]
        at += 1
        high, low = code & 0xC0, code & 0x3F
        if high == 0x40:
            place += low * align
        elif high == 0x80:
            _, at = uleb(data, at)
        elif high == 0xC0 or code == 0:
            pass
        elif code == 0x01:
            (place,) = struct.unpack_from("<Q", data, at)
            at += 8
        elif code in (0x02, 0x03, 0x04):
            size = {2: 1, 3: 2, 4: 4}[code]
            place += int.from_bytes(data[at : at + size], "little") * align
            at += size
        elif code in (0x05, 0x09, 0x14):  # rules of other registers
            _, at = uleb(data, at)
            _, at = uleb(data, at)
        elif code in (0x06, 0x07, 0x08, 0x2E):
            _, at = uleb(data, at)
        elif code == 0x0A:
            kept.append(rule)
        elif code == 0x0B:
            rule = kept.pop() if kept else initial
        elif code == 0x0C:
            register, at = uleb(data, at)
            offset, at = uleb(data, at)
            rule = register, offset
        elif code == 0x0D:
            register, at = uleb(data, at)
            rule = register, rule[1] if rule else 0
        elif code == 0x0E:
            offset, at = uleb(data, at)
            rule = (rule[0] if rule else 0), offset
        elif code in (0x10, 0x16):
            _, at = uleb(data, at)
            size, at = uleb(data, at)
            at += size
        elif code in (0x11, 0x15):
            _, at = uleb(data, at)
            _, at = sleb(data, at)
        else:
            raise _Unknown(code)
        if place > address and address:
            # The advance took us beyond: what came before it holds.
            return rule
    return rule
