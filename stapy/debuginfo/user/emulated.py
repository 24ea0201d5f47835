"""Where behind a function's beginning a breakpoint costs one trap instead of two.

The kernel emulates ``push`` under a breakpoint, and executes most else elsewhere, behind a trap of
its own. Programs that are compiled for indirect branch tracking begin their functions with
``endbr64``, which does nothing, and mostly with ``push`` behind it. There a breakpoint finds the
registers and the stack as they were at the beginning, the instruction pointer but for its four
bytes, if the function is the only thing that comes by.

Other instructions that the kernel emulates are left alone: ``nop`` and short jumps are what tracers
patch at run time, and a call would be missed by shadow stacks.
"""

from __future__ import annotations

import re
from struct import unpack_from
from typing import NamedTuple

from stapy.debuginfo.user import x86
from stapy.debuginfo.user.file import UserFile
from stapy.debuginfo.user.flow import is_last, jumps_anywhere
from stapy.debuginfo.user.reached import ENDBR64, Reached
from stapy.debuginfo.user.symbols import FunctionTable

_LARGEST = 1 << 16  # bytes of a function that is looked at
_LONGEST_PART = 1 << 12  # bytes of a part of it that lies elsewhere
_PARTS = 256
_OFTEN = 4  # how often all code of a file is decoded; functions lie one over the other in none
_NEAR = 130  # how far a short jump leads, from where it begins
_PUSHES = range(0x50, 0x58)
_SHORT = re.compile(b"[\x70-\x7f\xe0-\xe3\xeb]")  # what may be a jump with a distance of one byte
_CALL = 0xE8
_OVER = 64  # bytes that a call leads over which is none
# What compilers call parts that lie elsewhere, and what they jump by instead of by a register.
_PART = re.compile(r"\.(cold|part)\b|_thunk|retpoline")
_BY_SLOT = 0x25  # jmp *SLOT(%rip), as of functions of other files


class Entries:
    """Answers for the functions of one file."""

    def __init__(self, file: UserFile, functions: FunctionTable, reached: Reached) -> None:
        self._file = file
        self._functions = functions
        self._reached = reached
        self._known: dict[int, int] = {}
        self._left = 0  # bytes that may still be decoded
        if reached.is_bounded:
            self._left = _LARGEST + _OFTEN * sum(row.file_size for row in file.executable)

    def distance(self, address: int) -> int:
        """Tell how far behind the beginning of a function its breakpoint may lie; mostly 0.

        It is more only where the instruction there is emulated, nothing but ``endbr64`` is before
        it, and nothing leads behind that: no call or jump of the file whose bytes tell where
        it goes, and no address in it, while the function has no jump that tells not.
        """
        if address not in self._known:
            self._known[address] = self._distance(address) if self._left > 0 else 0
        return self._known[address]

    def _distance(self, address: int) -> int:
        code = self._file.read(address, len(ENDBR64) + x86.LONGEST)
        behind = address + len(ENDBR64)
        found = x86.decode(code, len(ENDBR64)) if code.startswith(ENDBR64) else None
        if found is None or not (found.is_emulated and found.opcode in _PUSHES):
            return 0
        if self._functions.last_start(behind) != address:
            return 0  # another name begins there
        if not self._is_closed(address, behind):
            return 0
        reached = any(self._reached.has(row) for row in range(address + 1, behind + 1))
        return 0 if reached else len(ENDBR64)

    # --- the function's own code ---------------------------------------------

    def _is_closed(self, address: int, behind: int) -> bool:
        """Tell whether all code of a function is known, and none leads behind its ``endbr64``.

        That is its own range, and whatever this jumps to that is no other function.
        """
        function = self._functions.at(address)
        size = function.size if function is not None and function.address == address else 0
        end = address + size
        if not behind < end <= address + _LARGEST or self._is_in_short_reach(address):
            return False
        whole = self._code(address, size, to_its_end=True)
        ahead: set[int] = set()
        found = [whole]
        while whole is not None and None not in found:
            targets = set().union(*(row.targets for row in found if row is not None))
            inside = {row for row in targets if address <= row < end}
            if not inside <= whole.begins or any(address < row <= behind for row in inside):
                return False
            parts = {row for row in targets - inside - ahead if self._is_part(row)}
            if not parts:
                return True
            ahead |= parts
            if len(ahead) > _PARTS:
                return False
            found = [self._code(part, _LONGEST_PART, to_its_end=False) for part in parts]
        return False

    def _is_part(self, address: int) -> bool:
        """Tell whether no other function begins at an address, but perhaps a part of one."""
        if self._functions.last_start(address) != address:
            return True
        return any(_PART.search(name) for name in self._functions.aliases(address))

    def _code(self, start: int, size: int, *, to_its_end: bool) -> _Code | None:
        """Decode code; None when a jump does not tell where it leads, or something is no code.

        Without ``to_its_end`` up to the first instruction that does not go on to the next.
        """
        code = self._file.read(start, size)
        found = _Code(set(), set())
        at, goes_on = 0, True
        while at < len(code):
            found.begins.add(start + at)
            length = x86.step(code, at)
            if length:
                at, goes_on = at + length, True
                self._left -= length
                continue
            row = x86.decode(code, at)
            if row is None or (jumps_anywhere(row) and row.modrm != _BY_SLOT):
                return None
            is_call = row.target is not None and row.opcode == _CALL
            if is_call and self._is_jump_by_return(start + at, row):
                return None
            if row.target is not None and not is_call:
                found.targets.add(start + at + row.target)
            at += row.length
            self._left -= row.length
            goes_on = not is_last(row)
            if not to_its_end and not goes_on:
                return found
            goes_on = goes_on and not is_call  # of what does not return
        return found if to_its_end and at == size and not goes_on else None

    def _is_jump_by_return(self, address: int, row: x86.Instruction) -> bool:
        """Tell whether a call may only get an address onto the stack, which is changed there."""
        target = address + (row.target or 0)
        if not 0 <= target - address - row.length <= _OVER:
            return False
        return self._functions.last_start(target) != target

    def _is_in_short_reach(self, address: int) -> bool:
        """Tell whether something around may be a short jump behind a function's ``endbr64``."""
        behind = address + len(ENDBR64)
        for row in self._file.executable:
            start = max(row.address, address - _NEAR)
            code = self._file.read(start, max(behind + _NEAR - start, 0))
            for match in _SHORT.finditer(code, 0, max(len(code) - 1, 0)):
                target = start + match.end() + 1 + unpack_from("<b", code, match.end())[0]
                if address < target <= behind:
                    return True
        return False


class _Code(NamedTuple):
    """Where instructions of decoded code begin, and where its jumps lead."""

    begins: set[int]
    targets: set[int]
