"""What an IFUNC may choose: the functions whose addresses its code can return.

The symbol of such a function is code that is called when a program is loaded and returns the
address of the function to be used. That code is followed along all of its branches, as far as
registers get addresses of functions; so the answer needs no names, and stripped libraries have it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from stapy.debuginfo.user import x86
from stapy.debuginfo.user.file import UserFile
from stapy.debuginfo.user.symbols import FunctionTable, UserFunction

_LARGEST = 1 << 14  # bytes of a chooser
_STEPS = 10_000  # instructions that are followed, those that are met again included
_RAX, _RCX, _REGISTERS = 0, 1, 16
_REX_W, _REX_R, _REX_B = 8, 4, 1
_LEA, _RET, _JUMPS, _LOOPS = 0x8D, (0xC2, 0xC3), (0xE9, 0xEB), (0xE0, 0xE1, 0xE2)
_NOP = 0x90  # which is xchg with a bit of a register
_CALL, _GROUP_CALLS = 0xE8, 0xFF
# Opcodes of one byte, and of 0f, that change no register: comparisons, pushes, branches, nops.
_COMPARES = frozenset((0x38, 0x39, 0x3A, 0x3B, 0x3C, 0x3D, 0x84, 0x85, 0xA8, 0xA9))
_COMPARES_0F = frozenset((0x1E, 0x1F, 0xA3))
_HINTS, _REPEAT = 0x1E, 0xF3  # with that prefix: endbr64, and rdssp, which reads into a register
# Those that change registers which they do not name: rdtscp, cmpxchg, cmpxchg16b.
_OTHERS_0F = frozenset((0x01, 0xB0, 0xB1, 0xC7))
# Those whose ModRM has more of the opcode in place of a register.
_GROUPS = frozenset((0x80, 0x81, 0x83, 0x8F, 0xC0, 0xC1, 0xC6, 0xC7, 0xD0, 0xD1, 0xD2, 0xD3, 0xFE))
_GROUPS_F = (0xF6, 0xF7)
# Those that write one byte of a register: without REX, registers 4 to 7 are ah, ch, dh and bh.
_BYTES = frozenset((0x80, 0x86, 0x88, 0x8A, 0xC0, 0xC6, 0xD0, 0xD2, 0xF6, 0xFE)) | {
    row for row in range(0x38) if row & 7 in (0, 2)
}
_BYTES_0F = frozenset((*range(0x90, 0xA0), 0xC0))

_Values = frozenset[int]
_State = tuple[_Values | None, ...]
"""For each register the addresses of functions that it may have, None for anything else."""

_UNKNOWN: _State = (None,) * _REGISTERS


def choices(file: UserFile, table: FunctionTable, chooser: UserFunction) -> list[UserFunction]:
    """Find the functions that a chooser may choose, by address; none when there may be others.

    Each has its best name, or that of the chooser when the file has no name for it. An address
    counts only when a symbol or a row of ``.eh_frame`` begins there.
    """
    if not file.machine.follows_code or not 0 < chooser.size <= _LARGEST:
        return []

    def is_function(address: int) -> bool:
        if file.code_offset(address) is None:
            return False
        return bool(table.aliases(address)) or address in file.unwound

    found = _ChooserWalk(file, chooser, is_function).run()
    return [_function(file, table, chooser, address) for address in sorted(found or ())]


def _function(
    file: UserFile, table: FunctionTable, chooser: UserFunction, address: int
) -> UserFunction:
    for name in table.aliases(address)[:1]:
        return next(row for row in table.named(name) if row.address == address)
    return UserFunction(chooser.name, address, file.code_offset(address) or 0, 0, 0)


class _ChooserWalk:
    """Follows the code of one chooser."""

    def __init__(
        self, file: UserFile, chooser: UserFunction, is_function: Callable[[int], bool]
    ) -> None:
        self._code = file.read(chooser.address, chooser.size)
        self._base = chooser.address
        self._is_fixed = file.is_fixed
        self._is_function = is_function
        self._states: dict[int, _State] = {0: _UNKNOWN}
        self._todo = [0]

    def run(self) -> _Values | None:
        """Collect what all returns may give; None when one of them may give something else."""
        found: _Values = frozenset()
        for _ in range(_STEPS):
            if not self._todo:
                return found
            at = self._todo.pop()
            state = self._states[at]
            row = x86.decode(self._code, at)
            if row is None:
                return None
            if row.map == x86.ONE_BYTE and not row.is_vector and row.opcode in _RET:
                values = state[_RAX]
                if values is None:
                    return None
                found |= values
            elif not self._go_on(at, row, state):
                return None
        return None

    def _go_on(self, at: int, row: x86.Instruction, state: _State) -> bool:
        """Hand the state to what is executed next; return False when that is elsewhere."""
        after = self._after(at, row, state)
        is_plain = row.map == x86.ONE_BYTE and not row.is_vector
        leads = [at + row.length]
        if row.target is not None and not (is_plain and row.opcode == _CALL):
            leads = [] if is_plain and row.opcode in _JUMPS else leads
            leads.append(at + row.target)
        elif is_plain and row.opcode == _GROUP_CALLS and row.modrm >> 3 & 7 in (4, 5):
            return False
        for lead in leads:
            if not 0 <= lead < len(self._code):
                return False
            self._meet(lead, after)
        return True

    def _meet(self, at: int, state: _State) -> None:
        known = self._states.get(at)
        joined = state if known is None else tuple(map(_joined, known, state))
        if joined != known:
            self._states[at] = joined
            self._todo.append(at)

    def _after(self, at: int, row: x86.Instruction, state: _State) -> _State:
        """Compute what registers have behind an instruction."""
        register = (row.modrm >> 3 & 7) | (8 if row.rex & _REX_R else 0)
        other = (row.modrm & 7) | (8 if row.rex & _REX_B else 0)
        if not row.rex and row.opcode in (_BYTES if row.map == x86.ONE_BYTE else _BYTES_0F):
            register, other = register & 3, other & 3
        is_register = row.modrm >= 0 and row.modrm >> 6 == 3
        if row.is_vector or row.map > x86.MAP_0F:
            return _UNKNOWN  # some have one more register, or bits of it elsewhere
        if row.map == x86.MAP_0F:
            if 0x40 <= row.opcode <= 0x4F and is_register and row.rex & _REX_W:
                return _with(state, register, _joined(state[register], state[other]))
            if row.opcode == _HINTS and _REPEAT in row.prefixes and is_register:
                return _without(state, other)
            if 0x80 <= row.opcode <= 0x8F or row.opcode in _COMPARES_0F:
                return state
            if row.modrm < 0 or row.opcode in _OTHERS_0F:
                return _UNKNOWN
            return _without(state, register, *([other] if is_register else []))
        return self._after_plain(at, row, state, register, other if is_register else None)

    def _after_plain(
        self, at: int, row: x86.Instruction, state: _State, register: int, other: int | None
    ) -> _State:
        opcode, behind = row.opcode, at + row.length
        if row.target is not None and opcode != _CALL:
            return _without(state, _RCX) if opcode in _LOOPS else state
        if opcode == _LEA and row.modrm & 0xC7 == 5 and row.rex & _REX_W:
            return _with(state, register, self._address(self._base + behind + self._last(behind)))
        if opcode in (0x89, 0x8B) and other is not None and row.rex & _REX_W:
            to, source = (other, register) if opcode == 0x89 else (register, other)
            return _with(state, to, state[source])
        if 0xB8 <= opcode <= 0xBF:
            to = (opcode & 7) | (8 if row.rex & _REX_B else 0)
            is_address = self._is_fixed and not row.rex & _REX_W and not row.prefixes
            return _with(state, to, self._address(self._last(behind)) if is_address else None)
        extension = row.modrm >> 3 & 7
        if opcode in _COMPARES or 0x50 <= opcode <= 0x57:
            return state
        if opcode == _NOP and not row.rex & _REX_B:
            return state
        if (opcode in (0x80, 0x81, 0x83) and extension == 7) or (
            opcode in _GROUPS_F and extension < 2
        ):
            return state
        if 0x58 <= opcode <= 0x5F:
            return _without(state, (opcode & 7) | (8 if row.rex & _REX_B else 0))
        if opcode in _GROUPS or (opcode in _GROUPS_F and extension in (2, 3)):
            return state if other is None else _without(state, other)
        if row.modrm < 0 or opcode in (*_GROUPS_F, _GROUP_CALLS):
            return _UNKNOWN
        return _without(state, register, *([] if other is None else [other]))

    def _last(self, behind: int) -> int:
        """Read the number that an instruction ends with."""
        return int(struct.unpack_from("<i", self._code, behind - 4)[0])

    def _address(self, address: int) -> _Values | None:
        return frozenset((address,)) if self._is_function(address) else None


def _joined(one: _Values | None, other: _Values | None) -> _Values | None:
    return None if one is None or other is None else one | other


def _with(state: _State, register: int, values: _Values | None) -> _State:
    return (*state[:register], values, *state[register + 1 :])


def _without(state: _State, *registers: int) -> _State:
    for register in registers:
        state = _with(state, register, None)
    return state
