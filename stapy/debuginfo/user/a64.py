"""A few traits of arm64's instructions (A64), as far as uprobes need them.

All are four bytes. The kernel runs most of them at another place of the process, acts out branches
itself, and refuses what would do neither well.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

from stapy.debuginfo.elf import SHF_EXECINSTR

if TYPE_CHECKING:
    from stapy.debuginfo.user.file import UserFile

SIZE: int | None = 4

_NOP, _BTI_C = 0xD503201F, 0xD503245F
_NEAR = 32  # instructions before one that are looked at, as the kernel does for its own probes


class _Kind(NamedTuple):
    """Instructions that have some bits in common."""

    mask: int
    bits: int

    def has(self, word: int) -> bool:
        return word & self.mask == self.bits


# What the kernel knows for neither: traps, returns from them, system registers, branches by signed
# pointers, exclusive accesses, prefetches of what lies beside the code.
_REFUSED = (
    _Kind(0xFF000000, 0xD4000000),  # svc, hvc, smc, brk, hlt
    _Kind(0xFFFFFFFF, 0xD69F03E0),  # eret
    _Kind(0xFFFFFBFF, 0xD69F0BFF),  # eretaa, eretab
    _Kind(0xFFFFFFFF, 0xD6BF03E0),  # drps
    _Kind(0xFFF8F01F, 0xD500401F),  # msr of a number
    _Kind(0xFFF00000, 0xD5100000),  # msr of a register
    _Kind(0xFFFFFFE0, 0xD53B4220),  # mrs of DAIF
    _Kind(0xFEFFF800, 0xD61F0800),  # braa and its like
    _Kind(0xFEFFF800, 0xD63F0800),  # blraa and its like
    _Kind(0xFFFFFBFF, 0xD65F0BFF),  # retaa, retab
    _Kind(0xFF000000, 0xD8000000),  # prfm of a literal
    _Kind(0xFFFF0000, 0x00000000),  # udf, and what is no instruction
)
_EXCLUSIVE, _IS_LOAD = _Kind(0x3F800000, 0x08000000), 1 << 22
_CLREX = _Kind(0xFFFFF0FF, 0xD503305F)
_HINT = _Kind(0xFFFFF01F, 0xD503201F)
# nop, the signing of pointers, landing marks; others may wait, or mean what is not known yet.
_HINTS = frozenset((0, 7, 8, 10, 12, 14, *range(24, 32), 32, 34, 36, 38))
# Older kernels read the literal of general registers with their own rights, at the place of the
# program; those of vector registers are read beside the other place.
_LITERAL = _Kind(0x3B000000, 0x18000000)
_LEAVES = (_Kind(0xFC000000, 0x14000000), _Kind(0xFFBFFC1F, 0xD61F0000))  # b; br, ret
_ADRP = _Kind(0x9F000000, 0x90000000)
_LOAD = _Kind(0xFFC00000, 0xF9400000)  # ldr of 8 bytes behind a register


def why_not(file: UserFile, address: int) -> tuple[str, bool]:
    """Say why an instruction cannot be probed ("" if it can), and whether that would harm."""
    code = file.read(address, 4)
    if len(code) < 4:
        return "", False
    (word,) = struct.unpack("<I", code)
    if _HINT.has(word):
        known = word >> 5 & 0x7F in _HINTS
        return "" if known else "the kernel puts no breakpoint on this instruction", False
    if any(kind.has(word) for kind in _REFUSED) or _EXCLUSIVE.has(word):
        return "the kernel puts no breakpoint on this instruction", False
    if _LITERAL.has(word):
        return "the kernel reads something else than this load does", True
    if _is_within_exclusive(file, address):
        return "a breakpoint between an exclusive load and its store keeps it from storing", True
    return "", False


def doubtful(file: UserFile, addresses: list[int]) -> list[int]:
    """List those of some addresses of which `why_not` must tell: it is quick, so all of them."""
    return addresses


def is_nop(code: bytes) -> bool:
    """Tell whether an instruction does nothing."""
    return len(code) >= 4 and struct.unpack_from("<I", code)[0] == _NOP


def slot_of(code: bytes, at: int, address: int) -> tuple[int, int] | None:
    """Decode the stub whose ``adrp`` is at an offset of code: where it begins, and its slot.

    ``address`` is that of the code's beginning; None where no stub is.
    """
    if at + 8 > len(code):
        return None
    page, load = struct.unpack_from("<II", code, at)
    register = page & 0x1F
    if not _ADRP.has(page) or not _LOAD.has(load) or load >> 5 & 0x1F != register:
        return None
    distance = (page >> 5 & 0x7FFFF) << 2 | page >> 29 & 3
    distance -= (distance & 1 << 20) << 1
    slot = (address + at & ~0xFFF) + (distance << 12) + ((load >> 10 & 0xFFF) << 3)
    marked = at >= 4 and struct.unpack_from("<I", code, at - 4)[0] == _BTI_C
    return address + at - (4 if marked else 0), slot


def _code_start(file: UserFile, address: int) -> int:
    """Find where code begins that may lead to a place: notes before it may look like any.

    A section may begin before the segment that is mapped, and where no instruction does.
    """
    rows = file.executable
    start = next((r.address for r in rows if 0 <= address - r.address < r.file_size), address)
    for section in file.elf.sections:
        if section.flags & SHF_EXECINSTR and 0 <= address - section.address < section.size:
            return max(start, section.address)
    return start


def _is_within_exclusive(file: UserFile, address: int) -> bool:
    """Tell whether what is before an instruction may have begun an exclusive access."""
    start = max(address - 4 * _NEAR, _code_start(file, address))
    start += (address - start) % 4
    code = file.read(start, address - start)
    for (word,) in reversed(list(struct.iter_unpack("<I", code[: len(code) & ~3]))):
        if _EXCLUSIVE.has(word):
            return bool(word & _IS_LOAD)
        if _CLREX.has(word) or any(kind.has(word) for kind in _LEAVES):
            return False
    return False
