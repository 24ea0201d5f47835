"""Lengths and a few traits of x86-64 instructions, as far as uprobes need them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from stapy.debuginfo.user.file import UserFile

SIZE: int | None = None  # they have lengths of their own

LONGEST = 15
_LEGACY = frozenset((0x26, 0x2E, 0x36, 0x3E, 0x64, 0x65, 0x66, 0x67, 0xF0, 0xF2, 0xF3))
LOCK = 0xF0
# Maps of opcodes: the numbers are those that VEX and EVEX have for them.
ONE_BYTE, MAP_0F, MAP_0F38, MAP_0F3A = 0, 1, 2, 3


def _opcodes(text: str) -> frozenset[int]:
    found: set[int] = set()
    for word in text.split():
        low, _, high = word.partition("-")
        found.update(range(int(low, 16), int(high or low, 16) + 1))
    return frozenset(found)


_MODRM = {
    ONE_BYTE: _opcodes(
        "00-03 08-0b 10-13 18-1b 20-23 28-2b 30-33 38-3b 63 69 6b 80-81 83-8f c0-c1 c6-c7 d0-d3"
        " d8-df f6-f7 fe-ff"
    ),
    MAP_0F: _opcodes(
        "00-03 0d 0f-23 28-2f 40-76 78-7f 90-9f a3-a5 ab-af b0-c7 d0-ff"
    ),
}  # fmt: skip
_INVALID = {
    ONE_BYTE: _opcodes("06-07 0e 16-17 1e-1f 27 2f 37 3f 60-62 82 9a c4-c5 ce d4-d6 ea"),
    MAP_0F: _opcodes("04 0a 0c 24-27 36 39 3b-3f a6-a7"),
}
_IMM8 = {
    ONE_BYTE: _opcodes("04 0c 14 1c 24 2c 34 3c 6a-6b 70-7f 80 83 a8 b0-b7 c0-c1 c6 cd e0-e7 eb"),
    MAP_0F: _opcodes("0f 70-73 a4 ac ba c2 c4-c6"),
}
# Two or four bytes by the operand's size.
_IMM_WORD = _opcodes("05 0d 15 1d 25 2d 35 3d 68-69 81 a9 c7")
_VEX_IMM8 = _opcodes("70-73 c2 c4-c6")


class Instruction(NamedTuple):
    """One instruction.

    ``map`` and ``opcode`` tell what it does (``is_vector`` for VEX, EVEX and XOP, whose maps are
    theirs), ``modrm`` is -1 without such a byte.  ``target`` is the distance from the
    instruction's begin to where a direct jump or call leads, None for all others.
    """

    length: int
    map: int
    opcode: int
    modrm: int
    rex: int
    prefixes: bytes
    is_vector: bool
    target: int | None

    @property
    def is_emulated(self) -> bool:
        """True when the kernel emulates the instruction under a breakpoint.

        All others are executed out of line, which costs a second trap.
        """
        if self.is_vector or self.prefixes:
            return False
        if self.map == MAP_0F:
            return 0x80 <= self.opcode <= 0x8F
        if self.map != ONE_BYTE:
            return False
        if 0x50 <= self.opcode <= 0x57:
            return self.rex in (0, 0x41)
        if self.opcode == 0x90:
            return self.length == 1
        return 0x70 <= self.opcode <= 0x7F or self.opcode in (0xE8, 0xE9, 0xEB)

    @property
    def is_refused(self) -> bool:
        """True for what the kernel puts no breakpoint on.

        That is what it cannot execute elsewhere: prefixes, traps, ports. Vector instructions
        are compared by their last byte of opcode with what that means without a vector prefix.
        """
        if any(row in (0x26, 0x2E, 0x36, 0x3E, LOCK) for row in self.prefixes):
            return True
        if 0x66 in self.prefixes and _is_branch(self.map, self.opcode) and not self.is_vector:
            return self.map == MAP_0F or not 0xE0 <= self.opcode <= 0xE3
        if self.map != ONE_BYTE and not self.is_vector:
            return False
        # What holds up traps for the next instruction: mov to ss.
        return self.opcode in _REFUSED or (self.opcode == 0x8E and self.modrm >> 3 & 7 == 2)

    @property
    def is_mistaken(self) -> bool:
        """True for what the kernel takes for another instruction and does wrongly.

        It looks at a vector instruction's opcode as if there were no vector prefix, and so
        emulates a jump, a call or nothing at all; and it knows no XOP.
        """
        return self.is_vector and (self.opcode in _EMULATED or self.map >= 8)

    @property
    def is_nop(self) -> bool:
        """True for what does nothing, of any length."""
        if self.is_vector or any(row != 0x66 for row in self.prefixes):
            return False
        if self.map == MAP_0F:
            return self.opcode == 0x1F and self.modrm >> 3 & 7 == 0
        return self.map == ONE_BYTE and self.opcode == 0x90 and not self.rex & 1


def why_not(file: UserFile, address: int) -> tuple[str, bool]:
    """Say why an instruction cannot be probed ("" if it can), and whether that would harm."""
    at = file.code_offset(address)
    if at is not None and file.elf.data[at] in _ACCEPTED:
        return "", False
    code = file.read(address, LONGEST)
    found = None if is_plain(code) else decode(code)
    if found is not None and found.is_mistaken:
        return "the kernel takes this vector instruction for another one", True
    if found is not None and found.is_refused:
        return "the kernel puts no breakpoint on this instruction", False
    return "", False


def doubtful(file: UserFile, addresses: list[int]) -> list[int]:
    """List those of some addresses whose first bytes do not tell that they can be probed."""
    data = file.elf.data
    return [
        address
        for address, at in zip(addresses, file.code_offsets(addresses))
        if at is None or not (data[at] in _ACCEPTED or is_plain(bytes(data[at : at + 4])))
    ]


def is_nop(code: bytes) -> bool:
    """Tell whether an instruction does nothing."""
    found = decode(code)
    return found is not None and found.is_nop


# Traps, ports, what only the kernel may do, and what is none without a vector prefix.
_REFUSED = _opcodes(
    "06-07 0e 16-17 1e-1f 27 2f 37 3f 60-62 6c-6f 82 9a cc-cf d4-d6 e4-e7 ea ec-ef f1 f4 fa-fb"
)
# First bytes that tell that the kernel takes an instruction for what it is and accepts it.
_ACCEPTED = frozenset(range(256)) - _REFUSED - _LEGACY - _opcodes("40-4f 62 8e 8f c4-c5")
_ENDBR64 = b"\xf3\x0f\x1e\xfa"
# Short conditional jumps, nop, call and jmp.
_EMULATED = _opcodes("70-7f 90 e8-e9 eb")


def _operands() -> list[int]:
    """List the bytes of ModRM and displacement by ModRM, for such as have no SIB; else 0."""
    sizes = [(1, 2, 5, 1)[row >> 6] + (4 if row & 0xC7 == 5 else 0) for row in range(256)]
    return [0 if row & 7 == 4 and row < 0xC0 else sizes[row] for row in range(256)]


def _commons(map: int) -> list[int]:
    """List for each opcode of a map what is behind it: the constant's bytes, 16 more for ModRM.

    -1 for what is none, leads elsewhere, or has a length that depends on more.
    """
    special = (
        _opcodes(
            "26 2e 36 3e 40-4f 62 64-67 70-7f 8f 9a a0-a3 b8-bf c2-c5 c8 ca-cf e0-e3 e8-eb"
            " f0-f7 ff 0f"
            if map == ONE_BYTE
            else "01 05 07 0b 20-23 34-35 38 3a 78 80-8f b9 ff"
        )
        | _INVALID[map]
    )
    return [
        -1
        if row in special
        else _immediate(map, row, 0, 0, b"") + (16 if row in _MODRM[map] else 0)
        for row in range(256)
    ]


def is_plain(code: bytes) -> bool:
    """Tell, by its first bytes, whether the kernel accepts an instruction; if not, `decode` tells.

    So begin nearly all functions.
    """
    if code.startswith(_ENDBR64):
        return True
    opcode = code[1:2] if b"\x40" <= code[:1] <= b"\x4f" else code[:1]
    return opcode != b"" and opcode[0] in _ACCEPTED


_DOUBLES = frozenset((0x66, 0xF2, 0xF3))


def step(code: bytes, at: int) -> int:
    """Count the bytes of a common instruction that goes on to the next; 0 when `decode` must tell.

    It is what most of a program's code is made of, and takes a tenth of the time.
    """
    try:
        start, row = at, code[at]
        plain = row not in _DOUBLES  # as prefixes they change nothing of what 0f begins
        if not plain:
            at += 1
            row = code[at]
        if 0x40 <= row <= 0x4F:
            at += 1
            row = code[at]
        if row == 0x0F:
            at += 1
            behind = COMMON_0F[code[at]]
        else:
            behind = COMMON[row] if plain else -1
        at += 1
        if behind >= 16:
            operands = OPERANDS[code[at]] or _operand_size(code, at)
            at += operands + behind - 16
        elif behind >= 0:
            at += behind
        else:
            return 0
    except IndexError:
        return 0
    return at - start if at <= len(code) else 0


def decode(code: bytes, at: int = 0) -> Instruction | None:
    """Decode the instruction at a place; None when it is cut off or is none."""
    try:
        found = _decode(code, at)
    except IndexError:
        return None
    if found is None or found.length > LONGEST or at + found.length > len(code):
        return None
    return found


def _plain_branch(code: bytes, start: int) -> Instruction | None:
    """Decode a branch without prefixes, which most are; None for all else."""
    map, at = ONE_BYTE, start + 1
    opcode = code[start]
    if opcode == 0x0F:
        map, opcode, at = MAP_0F, code[at], at + 1
    size = _branch_bytes(map, opcode)
    if not size or at + size > len(code):
        return None
    number = int.from_bytes(code[at : at + size], "little", signed=True)
    length = at + size - start
    return Instruction(length, map, opcode, -1, 0, b"", False, length + number)


def _decode(code: bytes, start: int) -> Instruction | None:
    if (branch := _plain_branch(code, start)) is not None:
        return branch
    at = start
    while code[at] in _LEGACY:
        at += 1
        if at - start > LONGEST:
            return None
    prefixes = bytes(code[start:at])
    rex = 0
    while code[at] & 0xF0 == 0x40:  # of several, the last one counts
        rex = code[at]
        at += 1
    opcode = code[at]
    at += 1
    if opcode in (0xC4, 0xC5, 0x62) or (opcode == 0x8F and code[at] & 0x1F >= 8):
        return _vector(code, start, at, prefixes, opcode) if not rex else None
    map = ONE_BYTE
    if opcode == 0x0F:
        map, opcode = MAP_0F, code[at]
        at += 1
        if opcode in (0x38, 0x3A):
            map, opcode = (MAP_0F38 if opcode == 0x38 else MAP_0F3A), code[at]
            at += 1
    if opcode in _INVALID.get(map, ()):
        return None
    modrm = -1
    if map >= MAP_0F38 or opcode in _MODRM[map]:
        modrm = code[at]
        at += _operand_size(code, at, moves_control=map == MAP_0F and 0x20 <= opcode <= 0x23)
    size = _immediate(map, opcode, modrm, rex, prefixes)
    target = None
    if size and _is_branch(map, opcode):
        number = int.from_bytes(code[at : at + size], "little", signed=True)
        target = at + size - start + number
    at += size
    return Instruction(at - start, map, opcode, modrm, rex, prefixes, False, target)


def _branch_bytes(map: int, opcode: int) -> int:
    """Count the bytes of a direct branch's distance; 0 for what is none."""
    if map == MAP_0F:
        return 4 if 0x80 <= opcode <= 0x8F else 0
    if map != ONE_BYTE:
        return 0
    if opcode in (0xE8, 0xE9):
        return 4
    return 1 if 0x70 <= opcode <= 0x7F or 0xE0 <= opcode <= 0xE3 or opcode == 0xEB else 0


def _is_branch(map: int, opcode: int) -> bool:
    return _branch_bytes(map, opcode) > 0


def _operand_size(code: bytes, at: int, *, moves_control: bool = False) -> int:
    """Count the bytes of ModRM, SIB and displacement."""
    modrm = code[at]
    mode, memory = modrm >> 6, modrm & 7
    if mode == 3 or moves_control:
        return 1
    size = 1
    if memory == 4:
        size += 1
        if mode == 0 and code[at + 1] & 7 == 5:
            return size + 4
    elif mode == 0 and memory == 5:
        return size + 4
    return size + (0, 1, 4)[mode]


def _immediate(map: int, opcode: int, modrm: int, rex: int, prefixes: bytes) -> int:
    """Count the bytes of the constant behind an instruction."""
    if map == MAP_0F3A:
        return 1
    if map == MAP_0F38:
        return 0
    if opcode in _IMM8[map]:
        return 1
    if map == MAP_0F:
        # insertq with two constants (SSE4a) is 78 with 66 or f2.
        if opcode == 0x78 and (0x66 in prefixes or 0xF2 in prefixes):
            return 2
        return 4 if 0x80 <= opcode <= 0x8F else 0
    word = 2 if 0x66 in prefixes and not rex & 8 else 4
    if opcode in _IMM_WORD:
        return word
    if opcode in (0xE8, 0xE9):
        return 4
    if 0xB8 <= opcode <= 0xBF:
        return 8 if rex & 8 else word
    if 0xA0 <= opcode <= 0xA3:
        return 4 if 0x67 in prefixes else 8
    if opcode in (0xF6, 0xF7) and modrm >> 3 & 7 < 2:
        return 1 if opcode == 0xF6 else word
    return {0xC2: 2, 0xCA: 2, 0xC8: 3}.get(opcode, 0)


# How `step` reads instructions, by their ModRM and by their opcode: `runs.py` asks as well.
OPERANDS = _operands()
COMMON, COMMON_0F = _commons(ONE_BYTE), _commons(MAP_0F)


def _vector(code: bytes, start: int, at: int, prefixes: bytes, first: int) -> Instruction | None:
    """Decode an instruction with VEX (c4, c5), EVEX (62) or XOP (8f), or None.

    ``at`` is behind that byte.
    """
    if first == 0xC5:
        map, at = MAP_0F, at + 1
    elif first == 0x62:
        map, at = code[at] & 7, at + 3
    else:
        map, at = code[at] & 0x1F, at + 2
    opcode = code[at]
    at += 1
    if map == 0 or (first == 0x8F) != (map >= 8):
        return None
    modrm = -1
    if not (first in (0xC4, 0xC5) and map == MAP_0F and opcode == 0x77):  # vzeroupper
        modrm = code[at]
        at += _operand_size(code, at)
    if map in (MAP_0F3A, 8) or (map == MAP_0F and opcode in _VEX_IMM8):
        at += 1
    elif map == 10:
        at += 4
    return Instruction(at - start, map, opcode, modrm, 0, prefixes, True, None)
