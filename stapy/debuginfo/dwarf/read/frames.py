"""Frames of functions at each instruction: DWARF 5, section 6.4.

From ``.debug_frame``, which kernels have, and from ``.eh_frame``, by which programs unwind.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from stapy.debuginfo.dwarf.numbers import sleb, uleb
from stapy.debuginfo.dwarf.read.sections import Sections
from stapy.debuginfo.elf import SHT_NOBITS, ElfFile
from stapy.record import Record

_CIE = 0xFFFFFFFF
_MOST_LETTERS = 16  # of an augmentation; compilers write five at most
_FORMS = {0x00: "<Q", 0x03: "<I", 0x04: "<Q", 0x0B: "<i", 0x0C: "<q"}
Address = tuple[int, int] | bytes
"""A register (by its DWARF number) plus an offset, or an expression."""


class Saved(NamedTuple):
    """How a register of the caller is found again.

    ``frame n``: in memory n bytes from the frame address; ``sum n``: that address
    itself; ``memory``, ``value``: by an expression, in memory or not;
    ``register n``: in another one; ``lost``: not at all.
    """

    name: str
    number: int = 0
    expression: bytes = b""


class UnwindRow(NamedTuple):
    """What holds at an instruction: the frame address, and registers that are saved somewhere.

    A register without a row has what it had in the caller, if it is one that
    functions have to leave as it is.
    """

    address: Address
    saved: dict[int, Saved]


class _Common(Record):
    """What several functions share; ``encoding`` says how ``.eh_frame`` writes addresses.

    Its instructions stay where they are: functions could name any number of these that overlap.
    """

    code_align: int
    data_align: int
    first: int
    last: int
    is_valid: bool
    encoding: int = 0
    augmented: bool = False


class _Function(NamedTuple):
    """Where the description of a function is."""

    start: int
    end: int
    table: _DebugFrames
    common: int
    first: int
    last: int


class Frames:
    """All frame descriptions of one file; listed once, on first use.

    ``unwind`` is the program's own file: its debug file has no ``.eh_frame``.
    """

    def __init__(self, sections: Sections, unwind: ElfFile | None = None) -> None:
        rows = list(_DebugFrames(bytes(sections.section("frame"))).functions())
        section = unwind.section(".eh_frame") if unwind is not None else None
        if unwind is not None and section is not None and section.type != SHT_NOBITS:
            table = _Unwinding(bytes(unwind.content(section)), section.address)
            known = {row.start for row in rows}
            rows += [row for row in table.functions() if row.start not in known]
        rows.sort(key=lambda row: row.start)
        self._rows = rows
        self._starts = [row.start for row in rows]

    def row(self, address: int) -> UnwindRow | None:
        """Compute what holds at an address; None where nothing is described."""
        at = bisect_right(self._starts, address) - 1
        if at < 0 or address >= self._rows[at].end:
            return None
        found = self._rows[at]
        try:
            common = found.table.common(found.common)
            if not common.is_valid:
                return None
            program = _Program(common, found.start, address)
            program.run(found.table.data, common.first, common.last)
            program.begin()
            program.run(found.table.data, found.first, found.last)
        except (IndexError, struct.error, _Unknown):
            return None
        return None if program.rule is None else UnwindRow(program.rule, program.saved)


def unwound(elf: ElfFile) -> set[int]:
    """List the addresses where ``.eh_frame`` describes that a function begins."""
    section = elf.section(".eh_frame")
    if section is None or section.type == SHT_NOBITS:
        return set()
    table = _Unwinding(bytes(elf.content(section)), section.address)
    return {row.start for row in table.functions()}


class _DebugFrames:
    """The bytes of ``.debug_frame``."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._commons: dict[int, _Common] = {}

    def functions(self) -> Iterator[_Function]:
        """Yield all functions that are described."""
        data, at = self.data, 0
        head, body = struct.Struct("<II").unpack_from, struct.Struct("<QQ").unpack_from
        while at + 24 <= len(data):
            length, common = head(data, at)
            end = at + 4 + length
            if length >= 0xFFFFFFF0 or end > len(data):
                break
            if common != _CIE:
                start, size = body(data, at + 8)
                yield _Function(start, start + size, self, common, at + 24, end)
            at = end

    def common(self, at: int) -> _Common:
        """Read, once, what several functions share, at its offset in the section."""
        found = self._commons.get(at)
        if found is None:
            found = self._commons[at] = self._read_common(at)
        return found

    def _read_common(self, at: int) -> _Common:
        data = self.data
        (length,) = struct.unpack_from("<I", data, at)
        end, version = at + 4 + length, data[at + 8]
        valid = data[at + 9] == 0 and version in (1, 3, 4)
        where = at + 10 + (2 if version == 4 else 0)
        code, where = uleb(data, where)
        align, where = sleb(data, where)
        _, where = uleb(data, where) if version > 1 else (0, where + 1)
        return _Common(code, align, where, min(end, len(data)), valid)


class _Unwinding(_DebugFrames):
    """The bytes of ``.eh_frame``, which lies at an address: what counts from there is moved."""

    def __init__(self, data: bytes, address: int) -> None:
        super().__init__(data)
        self._address = address

    def functions(self) -> Iterator[_Function]:
        """Yield all functions that are described, up to the first that is damaged."""
        data, at = self.data, 0
        while at + 8 <= len(data):
            length, back = struct.unpack_from("<II", data, at)
            end = at + 4 + length
            if length < 4 or length >= 0xFFFFFFF0 or end > len(data):
                break
            if back:
                try:
                    found = self._function(at, at + 4 - back, end)
                except (IndexError, struct.error, _Unknown):
                    break
                if found is not None:
                    yield found
            at = end

    def _function(self, at: int, common: int, end: int) -> _Function | None:
        if common < 0:
            raise _Unknown
        shared = self.common(common)
        if not shared.is_valid:
            return None
        start, where = self._pointer(at + 8, shared.encoding)
        size, where = self._pointer(where, shared.encoding & 0x0F)
        if shared.augmented:
            length, where = uleb(self.data, where)
            where += length
        return _Function(start, start + size, self, common, where, end)

    def _pointer(self, at: int, encoding: int) -> tuple[int, int]:
        form = _FORMS.get(encoding & 0x0F)
        if form is None or encoding & 0x70 not in (0, 0x10):
            raise _Unknown(encoding)
        (value,) = struct.unpack_from(form, self.data, at)
        if encoding & 0x10:
            value += self._address + at
        return value & (1 << 64) - 1, at + struct.calcsize(form)

    def _read_common(self, at: int) -> _Common:
        data = self.data
        length, mark = struct.unpack_from("<II", data, at)
        end, version = at + 4 + length, data[at + 8]
        letters_end = data.find(b"\0", at + 9, at + 9 + _MOST_LETTERS + 1)
        if letters_end < 0 or end > len(data):
            raise _Unknown
        letters = data[at + 9 : letters_end].decode("latin-1")
        code, where = uleb(data, letters_end + 1)
        align, where = sleb(data, where)
        _, where = uleb(data, where) if version > 1 else (0, where + 1)
        augmented = letters.startswith("z")
        encoding, first = 0, where
        if augmented:
            size, where = uleb(data, where)
            first = where + size
            for letter in letters[1:]:
                if letter == "R":
                    encoding = data[where]
                    where += 1
                elif letter == "P":
                    _, where = self._pointer(where + 1, data[where] & 0x0F)
                elif letter == "L":
                    where += 1
        if max(where, first) > end:
            raise _Unknown
        valid = mark == 0 and version in (1, 3) and (augmented or not letters)
        return _Common(code, align, first, end, valid, encoding, augmented)


class _Unknown(Exception):
    """An instruction that is not known, or a description that is damaged."""


class _Program:
    """Runs call frame instructions up to an address."""

    def __init__(self, common: _Common, place: int, address: int) -> None:
        self._code, self._align = common.code_align, common.data_align
        self._place, self._address = place, address
        self.rule: Address | None = None
        self.saved: dict[int, Saved] = {}
        self._initial: tuple[Address | None, dict[int, Saved]] = (None, {})
        self._kept: list[tuple[Address | None, dict[int, Saved]]] = []

    def begin(self) -> None:
        """End the common part: registers are restored to what holds now."""
        self._initial = self.rule, dict(self.saved)

    def run(self, data: bytes, at: int, end: int) -> None:
        """Run all instructions, up to the one that goes beyond the address."""
        while at < end and self._place <= self._address:
            code = data[at]
            high, low = code & 0xC0, code & 0x3F
            if high == 0x40:
                self._place += low * self._code
                at += 1
            elif high == 0x80:
                number, at = uleb(data, at + 1)
                self.saved[low] = Saved("frame", number * self._align)
            elif high == 0xC0:
                self._restore(low)
                at += 1
            elif code <= 0x04:
                at = self._advance(data, at + 1, code)
            elif code in (0x0A, 0x0B):
                self._keep(code)
                at += 1
            elif code == 0x2D:  # arm64: the return address is signed from here on, or not any more
                at += 1
            elif code in (0x0C, 0x0D, 0x0E, 0x0F, 0x12, 0x13):
                at = self._frame(data, at + 1, code)
            else:
                at = self._register(data, at + 1, code)

    def _advance(self, data: bytes, at: int, code: int) -> int:
        if code == 0x01:
            (self._place,) = struct.unpack_from("<Q", data, at)
            return at + 8
        size = {0: 0, 2: 1, 3: 2, 4: 4}[code]
        self._place += int.from_bytes(data[at : at + size], "little") * self._code
        return at + size

    def _keep(self, code: int) -> None:
        if code == 0x0A:
            self._kept.append((self.rule, dict(self.saved)))
        else:
            self.rule, saved = self._kept.pop() if self._kept else self._initial
            self.saved = dict(saved)

    def _restore(self, register: int) -> None:
        initial = self._initial[1].get(register)
        if initial is not None:
            self.saved[register] = initial
        else:
            self.saved.pop(register, None)

    def _frame(self, data: bytes, at: int, code: int) -> int:
        """Run an instruction about the frame address; return the offset behind it."""
        if code == 0x0F:
            size, at = uleb(data, at)
            self.rule = data[at : at + size]
            return at + size
        register, offset = self.rule if isinstance(self.rule, tuple) else (0, 0)
        if code in (0x0C, 0x0D, 0x12):
            register, at = uleb(data, at)
        if code in (0x0C, 0x0E):
            offset, at = uleb(data, at)
        elif code in (0x12, 0x13):
            offset, at = sleb(data, at)
            offset *= self._align
        self.rule = register, offset
        return at

    def _register(self, data: bytes, at: int, code: int) -> int:
        """Run an instruction about another register; return the offset behind it.

        Raises `_Unknown` for a code that is not known.
        """
        if code == 0x2E:  # GNU's size of arguments, which nothing depends on
            return uleb(data, at)[1]
        register, at = uleb(data, at)
        if code == 0x06:
            self._restore(register)
        elif code == 0x07:
            self.saved[register] = Saved("lost")
        elif code == 0x08:
            self.saved.pop(register, None)
        elif code in (0x05, 0x11, 0x14, 0x15):
            number, at = (sleb if code in (0x11, 0x15) else uleb)(data, at)
            name = "frame" if code in (0x05, 0x11) else "sum"
            self.saved[register] = Saved(name, number * self._align)
        elif code == 0x09:
            number, at = uleb(data, at)
            self.saved[register] = Saved("register", number)
        elif code in (0x10, 0x16):
            size, at = uleb(data, at)
            name = "memory" if code == 0x10 else "value"
            self.saved[register] = Saved(name, 0, data[at : at + size])
            at += size
        else:
            raise _Unknown(code)
        return at
