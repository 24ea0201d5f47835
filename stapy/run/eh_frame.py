"""Descriptions of functions in ``.eh_frame``: from each place on, where the caller's frame is.

Every program has them for its exceptions, whether it uses frame pointers or not.  A row says what
holds from its place on, up to the next row: where the frame ends (CFA) and where the caller's frame
pointer is.  The return address lies right below the CFA on x86-64; on arm64 it is in the link
register at first, and then beside the frame pointer, or where the row says.

`runtime/user/objects.h` has the same numbers.
"""

from __future__ import annotations

import struct

from .leb128 import Damaged, signed, unsigned

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List, NamedTuple, Optional, Tuple

    Place = Tuple[int, int]  # how and by how much
    Rule = Tuple[int, int, int, int]  # of the CFA, of rbp
    Row = Tuple[int, Rule]

    class Cie(NamedTuple):
        """What the descriptions of many functions have in common."""

        code: int
        data: int
        encoding: int
        augmented: bool
        is_signal: bool
        cfa: Place
        fp: Place
        link: int
else:
    from collections import namedtuple

    Cie = namedtuple("Cie", "code data encoding augmented is_signal cfa fp link")

# How the CFA is found.
UNKNOWN, FROM_SP, FROM_FP, AT_FP, AT_SP, PLT, SIGNAL, END, FROM_REGISTER, NO_WAY = range(10)
# Where the caller's frame pointer is; of a pair the return address follows, of a link it is that
# alone, both so many words from the CFA.  Where they are the same as here the link register has
# it, where there is one.
SAME, AT_CFA, AT_FP_OFFSET, LOST, PAIR, LINK = range(6)

NOTHING = (UNKNOWN, 0, SAME, 0)
# Where the return address is: so far from the CFA, in its register (0), or not known.
_IN_REGISTER, _LOST_LINK = 0, 1


class Convention:
    """Numbers of registers, and where the return address is when a function begins."""

    def __init__(self, fp: int, sp: int, ra: int, link: int) -> None:
        self.fp, self.sp, self.ra, self.link = fp, sp, ra, link


_X86_64 = Convention(6, 7, 16, -8)
_ARM64 = Convention(29, 31, 30, _IN_REGISTER)
MACHINES = {62: _X86_64, 183: _ARM64}  # by ``e_machine``
# What a file may be made of to cost its reader time: no linker makes more of these.
_LETTERS = 64  # of what a common part has
_ENDS = 4096
_FDE = struct.Struct("<II").unpack_from
_POINTERS = {
    0: ("<Q", 8), 2: ("<H", 2), 3: ("<I", 4), 4: ("<Q", 8),
    10: ("<h", 2), 11: ("<i", 4), 12: ("<q", 8),
}  # fmt: skip
_PC_RELATIVE = 0x10
# The linker's stubs: 8 more bytes are on the stack from byte n of 16 on.
_STUB = bytes((0x77, 8, 0x80, 0, 0x3F, 0x1A, 0x30, 0x2A, 0x33, 0x24, 0x22))


def _cfa_expression(code: bytes) -> Place:
    """Decode the few expressions that compilers, people and linkers write for x86-64.

    Returns `NO_WAY` for any other.
    """
    if len(code) == len(_STUB) and code[:6] == _STUB[:6] and code[7:] == _STUB[7:]:
        return PLT, code[6] - 0x30
    try:
        if code[:1] in (b"\x76", b"\x77") and 6 in code:
            offset, at = signed(code, 1)
            kind = AT_FP if code[0] == 0x76 else AT_SP
            if code[at] == 6 and at + 1 == len(code):
                return kind, offset & 0xFFFFFF
            # breg n; deref; plus_uconst k
            if code[at] == 6 and code[at + 1] == 0x23:
                more, end = unsigned(code, at + 2)
                if end == len(code) and more < 256:
                    return kind, (offset & 0xFFFFFF) | more << 24
    except IndexError:
        pass
    return NO_WAY, 0


class FrameReader:
    """Reads one section of descriptions."""

    def __init__(self, data: bytes, address: int, machine: Convention = _X86_64) -> None:
        self.data = data
        self.address = address
        self.machine = machine
        self.functions: List[Tuple[int, int, List[Row]]] = []
        # Bytes to follow: all once, and what has been begun and was damaged.
        self._left = 2 * len(data)
        self._cies: Dict[int, Cie] = {}

    def pointer(self, at: int, encoding: int) -> "Tuple[int, int]":
        """Read a pointer in one of the encodings that files use; its value and the place behind it.

        Raises `Damaged` for any other encoding.
        """
        if encoding == 0xFF:
            return 0, at
        form = encoding & 15
        if form == 1:
            value, end = unsigned(self.data, at)
        elif form == 9:
            value, end = signed(self.data, at)
        elif form in _POINTERS:
            layout, size = _POINTERS[form]
            (value,) = struct.unpack_from(layout, self.data, at)
            end = at + size
        else:
            raise Damaged("pointer")
        if encoding & 0x70 == _PC_RELATIVE:
            value += self.address + at
        elif encoding & 0x70:
            raise Damaged("pointer")
        return value & (1 << 64) - 1, end

    def cie(self, at: int) -> Cie:
        """Read, once, the common part that stands at a place; raises `Damaged`."""
        known = self._cies.get(at)
        if known:
            return known
        data = self.data
        length, ident = _FDE(data, at)
        if ident or length >= 0xFFFFFFF0:
            raise Damaged("common part")
        end = at + 4 + length
        version = data[at + 8]
        stop = data.index(0, at + 9, at + 9 + _LETTERS)
        letters = data[at + 9 : stop]
        code, p = unsigned(data, stop + 1)
        factor, p = signed(data, p)
        if version == 1:
            p += 1
        else:
            _, p = unsigned(data, p)
        encoding, is_signal = 0, False
        if letters[:1] == b"z":
            size, p = unsigned(data, p)
            q, p = p, p + size
            for letter in letters[1:]:
                if letter == 0x52:  # R
                    encoding = data[q]
                    q += 1
                elif letter == 0x50:  # P
                    _, q = self.pointer(q + 1, data[q] & 0x0F)
                elif letter == 0x4C:  # L
                    q += 1
                elif letter == 0x53:  # S
                    is_signal = True
        link = self.machine.link
        start = Cie(code, factor, encoding, False, False, (UNKNOWN, 0), (SAME, 0), link)
        _, cfa, fp, link = self.follow(p, end, 0, start)
        found = Cie(code, factor, encoding, letters[:1] == b"z", is_signal, cfa, fp, link)
        self._cies[at] = found
        return found

    def follow(self, at: int, end: int, pc: int, cie: Cie) -> "Tuple[List[Row], Place, Place, int]":
        """Follow the instructions of a description; return its rows and the state at its end."""
        data, code, factor = self.data, cie.code, cie.data
        size = min(end, len(data)) - at
        if size < 0:  # what is before them says that it is longer than the whole
            raise Damaged("instructions begin behind their end")
        self._left -= size
        if self._left < 0:
            raise Damaged("one part in many places")
        cfa, fp, link = cie.cfa, cie.fp, cie.link
        saves_fp, saves_ra = 0x80 | self.machine.fp, 0x80 | self.machine.ra
        restores_fp, restores_ra = 0xC0 | self.machine.fp, 0xC0 | self.machine.ra
        kept: List[Tuple[Place, Place, int]] = []
        rows: List[Row] = []
        state = None
        while True:
            step = 0
            if at >= end:
                step = -1
            else:
                op = data[at]
                at += 1
                high = op & 0xC0
                if high == 0x40:
                    step = (op & 63) * code
                elif high == 0x80:
                    n, at = unsigned(data, at)
                    if op == saves_fp:
                        fp = (AT_CFA, n * factor)
                    elif op == saves_ra:
                        link = n * factor
                elif high == 0xC0:
                    if op == restores_fp:
                        fp = cie.fp
                    elif op == restores_ra:
                        link = cie.link
                elif op == 0x0E:
                    n, at = unsigned(data, at)
                    cfa = (cfa[0], n) if cfa[0] != FROM_REGISTER else self._place(cfa[1] >> 24, n)
                elif op == 0x02:
                    step = data[at] * code
                    at += 1
                elif op == 0x03:
                    step = int.from_bytes(data[at : at + 2], "little") * code
                    at += 2
                elif op == 0x04:
                    step = int.from_bytes(data[at : at + 4], "little") * code
                    at += 4
                elif op == 0x0A:
                    kept.append((cfa, fp, link))
                elif op == 0x0B:
                    if not kept:
                        raise Damaged("nothing was remembered")
                    cfa, fp, link = kept.pop()
                elif op == 0x0C:
                    register, at = unsigned(data, at)
                    n, at = unsigned(data, at)
                    cfa = self._place(register, n)
                elif op == 0x0D:
                    register, at = unsigned(data, at)
                    offset = cfa[1] & 0xFFFFFF if cfa[0] == FROM_REGISTER else cfa[1]
                    cfa = self._place(register, offset)
                elif op == 0x00:
                    pass
                else:
                    at, cfa, fp, link = self._rare(op, at, cie, cfa, fp, link)
            if step:
                now = (cfa, fp, link)
                if now != state:
                    rule = self._rule(cfa, fp, link)
                    if rows and rows[-1][0] == pc:
                        rows[-1] = (pc, rule)
                    elif not rows or rows[-1][1] != rule:
                        rows.append((pc, rule))
                    state = now
                if step < 0:
                    return rows, cfa, fp, link
                pc += step

    def _rare(
        self, op: int, at: int, cie: Cie, cfa: Place, fp: Place, link: int
    ) -> "Tuple[int, Place, Place, int]":
        """Run an instruction that few descriptions have; return the place behind and the rules.

        Raises `Damaged` for one that is not known.
        """
        data = self.data
        if op == 0x0F:
            size, at = unsigned(data, at)
            is_known = self.machine is _X86_64
            found = _cfa_expression(data[at : at + size]) if is_known else (NO_WAY, 0)
            return at + size, found, fp, link
        # arm64: signed from here on, with the place or without, or not any more, which the walk
        # need not know
        if op in (0x2C, 0x2D):
            return at, cfa, fp, link
        if op == 0x2E:
            _, at = unsigned(data, at)
            return at, cfa, fp, link
        if op == 0x13:
            n, at = signed(data, at)
            return at, (cfa[0], n * cie.data), fp, link
        if op not in (5, 6, 7, 8, 9, 0x10, 0x11, 0x12, 0x14, 0x15, 0x16, 0x2F):
            raise Damaged(f"instruction {op:#x}")
        register, at = unsigned(data, at)
        where: Place = (LOST, 0)
        if op in (5, 0x11, 0x2F):
            n, at = (signed if op == 0x11 else unsigned)(data, at)
            where = (AT_CFA, n * cie.data * (-1 if op == 0x2F else 1))
        elif op == 6:
            where = cie.fp if register == self.machine.fp else _of_link(cie.link)
        elif op == 8:
            where = (SAME, 0)
        elif op == 7:
            if register == self.machine.ra:
                return at, (END, 0), fp, cie.link
        elif op in (9, 0x14):
            _, at = unsigned(data, at)
        elif op == 0x15:
            _, at = signed(data, at)
        elif op == 0x12:
            n, at = signed(data, at)
            return at, self._place(register, n * cie.data), fp, link
        elif op in (0x10, 0x16):
            size, at = unsigned(data, at)
            code = data[at : at + size]
            at += size
            if op == 0x10 and code[:1] == b"\x76" and self.machine is _X86_64:
                n, end = signed(code, 1)
                if end == len(code):
                    where = (AT_FP_OFFSET, n)
        if register == self.machine.fp:
            fp = where
        elif register == self.machine.ra:
            link = {AT_CFA: where[1], SAME: _IN_REGISTER}.get(where[0], _LOST_LINK)
        return at, cfa, fp, link

    def _place(self, register: int, offset: int) -> Place:
        """Encode the CFA as a register plus an offset."""
        if register == self.machine.sp:
            return FROM_SP, offset
        if register == self.machine.fp:
            return FROM_FP, offset
        # A row has 8 bits more for which of the registers that a hit knows.
        return FROM_REGISTER, (offset & 0xFFFFFF) | register << 24

    def _rule(self, cfa: Place, fp: Place, link: int) -> Rule:
        """Make the rule of a row; `NO_WAY` where it cannot say where the return address is."""
        kind, offset = cfa
        if kind in (END, UNKNOWN, NO_WAY):
            return (kind, 0, SAME, 0)
        found = fp if self.machine.link else _of_pair(fp, link)
        if found is None or (self.machine.link and link != self.machine.link):
            return (NO_WAY, 0, SAME, 0)
        where, by = found
        if where in (PAIR, LINK):  # a frame may be large: counted in words
            if by % 8:
                return (NO_WAY, 0, SAME, 0)
            by //= 8
        if not -0x8000 <= by < 0x8000:
            if where in (PAIR, LINK):
                return (NO_WAY, 0, SAME, 0)
            where, by = LOST, 0
        if kind in (FROM_SP, FROM_FP) and not -(1 << 31) <= offset < 1 << 31:
            return (NO_WAY, 0, SAME, 0)
        return (kind, offset, where, by)

    def read(self) -> None:
        """Read all descriptions; what is damaged is left out."""
        data, at, size = self.data, 0, len(self.data)
        ends = 0
        while at + 8 <= size and ends < _ENDS:
            length, ident = _FDE(data, at)
            if not length:  # an end; some linkers put more behind it
                at += 4
                ends += 1
                continue
            end = at + 4 + length
            if end > size:
                break
            if ident:
                try:
                    self._function(at, end, at + 4 - ident)
                except (Damaged, IndexError, ValueError, struct.error):
                    pass
            at = end
        self.functions.sort(key=lambda row: row[0])

    def _function(self, at: int, end: int, common: int) -> None:
        cie = self.cie(common)
        start, p = self.pointer(at + 8, cie.encoding)
        size, p = self.pointer(p, cie.encoding & 15)
        if cie.augmented:
            more, p = unsigned(self.data, p)
            p += more
        if not size or not start:
            return
        if cie.is_signal:
            rows = [(start, (SIGNAL, 0, SAME, 0))]
        else:
            rows = self.follow(p, end, start, cie)[0]
        self.functions.append((start, start + size, rows))


def _of_link(link: int) -> Place:
    """Tell where a common part has the return address, as a place."""
    return (SAME, 0) if link == _IN_REGISTER else (AT_CFA, link)


def _of_pair(fp: Place, link: int) -> "Optional[Place]":
    """Join where frame pointer and return address are, as a row has room for; None for others."""
    if link == _IN_REGISTER:
        return fp if fp == (SAME, 0) else None
    if link == _LOST_LINK:
        return None
    if fp == (AT_CFA, link - 8):
        return PAIR, link - 8
    return (LINK, link) if fp == (SAME, 0) else None
