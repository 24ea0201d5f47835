"""Which bytes of a function are instructions, by following its code from the beginning.

Decoding one instruction after the other goes wrong behind data in the code, and comes out between
two instructions of it. What jumps and calls that tell where they lead come by is code.
"""

from __future__ import annotations

from bisect import bisect_left

from stapy.debuginfo.user import x86
from stapy.debuginfo.user.file import UserFile

_INDIRECT = 0xFF
_RETURNS = frozenset((0xC2, 0xC3, 0xCA, 0xCB, 0xCF, 0xF4))
_JUMPS, _CALL = (0xE9, 0xEB), 0xE8
_UNDEFINED = 0x0B  # ud2, behind 0f


def jumps_anywhere(row: x86.Instruction) -> bool:
    """Tell whether an instruction jumps to where a register or memory says."""
    plain = row.map == x86.ONE_BYTE and not row.is_vector
    return plain and row.opcode == _INDIRECT and row.modrm >> 3 & 7 in (4, 5)


def is_last(row: x86.Instruction) -> bool:
    """Tell whether what follows an instruction is not executed after it."""
    if row.is_vector:
        return False
    if row.map == x86.MAP_0F:
        return row.opcode == _UNDEFINED
    if row.map != x86.ONE_BYTE:
        return False
    return row.opcode in _RETURNS or row.opcode in _JUMPS or jumps_anywhere(row)


class Flow:
    """The code of one function, from its first address up to ``end``.

    ``is_whole`` is False where that is not its own end.
    """

    def __init__(self, file: UserFile, start: int, end: int, *, is_whole: bool) -> None:
        self._start, self._end = start, end
        self._code = file.read(start, end - start)
        self._sizes: dict[int, int] = {}  # of instructions, by address
        self._is_whole = is_whole
        self._follow()
        self._begins = sorted(self._sizes)

    def _follow(self) -> None:
        ahead = [self._start]
        while ahead:
            at = ahead.pop()
            while self._start <= at < self._end and at not in self._sizes:
                size = x86.step(self._code, at - self._start)
                row = None if size else x86.decode(self._code, at - self._start)
                if not size and row is None:
                    break
                self._sizes[at] = size or (row.length if row is not None else 0)
                if row is not None and row.target is not None and row.opcode != _CALL:
                    ahead.append(at + row.target)
                if row is not None and is_last(row):
                    break
                at += self._sizes[at]

    def why_not(self, address: int) -> str:
        """Say why an instruction is not proven to begin at an address, "" when one is."""
        at = bisect_left(self._begins, address)
        for begin in self._begins[max(at - x86.LONGEST, 0) : at]:
            if begin + self._sizes[begin] > address:
                return f"({begin:#x} is)"
        if address in self._sizes:
            return ""
        return self._why_not_between(address, at)

    def _why_not_between(self, address: int, at: int) -> str:
        """Say why not of an address that no jump which tells where it leads comes by.

        It may be code, of a table of cases, of a handler of exceptions, or of a part of the
        function that lies elsewhere. Then from the code before it to the code behind it there
        are nothing but instructions.
        """
        if not at:
            return "what the function begins with is no instruction"
        before = self._begins[at - 1]
        here = before + self._sizes[before]
        end = self._begins[at] if at < len(self._begins) else self._end
        around = here
        while here < end:
            around = here if here <= address else around
            row = x86.decode(self._code, here - self._start)
            if row is None:
                return "there may be data before it"
            here += row.length
        if here != end and self._is_whole:
            return "there may be data before it"
        return "" if around == address else f"({around:#x} is)"
