"""Where behind a function's beginning a breakpoint costs one trap instead of two.

The kernel emulates ``push``, ``nop`` and direct branches under a breakpoint, and executes all else
elsewhere, behind a trap of its own. Programs that are compiled for indirect branch tracking begin
their functions with ``endbr64``, which does nothing, and mostly with ``push`` behind it. There a
breakpoint finds the registers and the stack as they were at the beginning, the instruction pointer
but for its four bytes, if the function is the only thing that comes by.
"""

from __future__ import annotations

import re
from array import array
from struct import unpack_from

from stapy.cache import Cache, key_of
from stapy.debuginfo import pack
from stapy.debuginfo.errors import DebuginfoError
from stapy.debuginfo.loading import kept
from stapy.debuginfo.user import x86
from stapy.debuginfo.user.file import UserFile
from stapy.debuginfo.user.flow import is_last, jumps_anywhere
from stapy.debuginfo.user.symbols import FunctionTable

ENDBR64 = b"\xf3\x0f\x1e\xfa"
_VERSION = 1
_LARGEST = 1 << 16  # bytes of a function that is looked at
_LONGEST_PART = 1 << 12  # bytes of a part of it that lies elsewhere
_PARTS = 256
_NEAR = 130  # how far a short jump leads, from where it begins
# What may be a call or a jump with a distance of four bytes, or a jump with one of one byte.
_FAR = re.compile(b"[\xe8\xe9]|\x0f[\x80-\x8f]")
_SHORT = re.compile(b"[\x70-\x7f\xe0-\xe3\xeb]")
_CALL = 0xE8
_BY_SLOT = 0x25  # jmp *SLOT(%rip), as of functions of other files


class Entries:
    """Answers for the functions of one file."""

    def __init__(self, file: UserFile, functions: FunctionTable, cache: Cache) -> None:
        self._file = file
        self._functions = functions
        self._cache = cache
        self._jumped: set[int] | None = None

    def distance(self, address: int) -> int:
        """Tell how far behind the beginning of a function its breakpoint may lie; mostly 0.

        It is more only where the instruction there is emulated, nothing but ``endbr64`` is before
        it, and nothing leads behind that: no call or jump of the file whose bytes tell where
        it goes, while the function has none that tells not.
        """
        code = self._file.read(address, len(ENDBR64) + x86.LONGEST)
        behind = address + len(ENDBR64)
        found = x86.decode(code, len(ENDBR64)) if code.startswith(ENDBR64) else None
        if found is None or not found.is_emulated:
            return 0
        if self._functions.last_start(behind) != address:
            return 0  # another name begins there
        closed = self._is_closed(address, behind) and not self._is_jumped_to(behind)
        return len(ENDBR64) if closed else 0

    # --- the function's own code ---------------------------------------------

    def _is_closed(self, address: int, behind: int) -> bool:
        """Tell whether all code of a function is known, and none leads behind its ``endbr64``.

        That is its own range, and whatever this jumps to that is no other function.
        """
        function = self._functions.at(address)
        size = function.size if function is not None and function.address == address else 0
        end = address + size
        if not behind < end <= address + _LARGEST or self._is_in_short_reach(address, end):
            return False
        ahead: set[int] = set()
        targets = self._targets(address, size, to_its_end=True)
        while targets is not None:
            if any(address < target <= behind for target in targets):
                return False
            parts = {row for row in targets if not address <= row < end} - ahead
            parts = {row for row in parts if self._functions.last_start(row) != row}
            if not parts:
                return True
            ahead |= parts
            if len(ahead) > _PARTS:
                return False
            found = [self._targets(part, _LONGEST_PART, to_its_end=False) for part in parts]
            targets = None if None in found else set().union(*(row or () for row in found))
        return False

    def _targets(self, start: int, size: int, *, to_its_end: bool) -> set[int] | None:
        """Collect where jumps lead from code on; None when one does not tell, or no code is there.

        Without ``to_its_end`` up to the first instruction that does not go on to the next.
        """
        code = self._file.read(start, size)
        found: set[int] = set()
        at = 0
        while at < len(code):
            size = x86.step(code, at)
            if size:
                at += size
                continue
            row = x86.decode(code, at)
            if row is None or (jumps_anywhere(row) and row.modrm != _BY_SLOT):
                return None
            if row.target is not None and row.opcode != _CALL:
                found.add(start + at + row.target)
            at += row.length
            if not to_its_end and is_last(row):
                return found
        return found if to_its_end else None

    def _is_in_short_reach(self, address: int, end: int) -> bool:
        """Tell whether something around a function may be a short jump behind its ``endbr64``."""
        behind = address + len(ENDBR64)
        for start, stop in ((address - _NEAR, address), (end, behind + _NEAR)):
            code = self._file.read(start, stop - start + 1) if start < stop else b""
            for match in _SHORT.finditer(code, 0, max(len(code) - 1, 0)):
                target = start + match.end() + 1 + unpack_from("<b", code, match.end())[0]
                if address < target <= behind:
                    return True
        return False

    # --- all others' -----------------------------------------------------------

    def _is_jumped_to(self, behind: int) -> bool:
        if self._jumped is None:
            file = self._file
            key = key_of("behind-endbr64", _VERSION, file.build_id, len(file.elf.data))
            data = kept(self._cache, key, self._made) if file.build_id else self._made()
            try:
                self._jumped = set(pack.numbers("Q", bytes(data)))
            except DebuginfoError:
                self._jumped = set(pack.numbers("Q", self._made()))
        return any(behind - row in self._jumped for row in range(len(ENDBR64)))

    def _made(self) -> bytes:
        """Collect where all that may be a call or a jump leads, of places behind an ``endbr64``.

        Any byte may begin one: what is none by chance leads elsewhere, or costs a trap.
        """
        found: set[int] = set()
        for start, end in self._file.code:
            code = bytes(self._file.elf.data[start:end])
            landings = {match.start() for match in re.finditer(re.escape(ENDBR64), code)}
            inside = {at + row for at in landings for row in range(1, len(ENDBR64) + 1)}
            targets = {
                match.end() + 4 + unpack_from("<i", code, match.end())[0]
                for match in _FAR.finditer(code, 0, max(len(code) - 4, 0))
            }
            base = self._file.address_of(start) or 0
            found.update(base + row for row in targets & inside)
        return array("Q", sorted(found)).tobytes()
