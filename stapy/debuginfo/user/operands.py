"""Reads the arguments of marks, ``[-]SIZE[f]@OPERAND`` as the assembler had them.

The one that is not understood is of kind `UNKNOWN`, which costs that argument and nothing else.
"""

from __future__ import annotations

import re
from typing import Protocol

from stapy.arch import ARM64, X86_64, Architecture
from stapy.debuginfo.user import sdt_a64, sdt_x86
from stapy.debuginfo.user.operand import UNKNOWN, Operand


class _Reader(Protocol):
    """What reads the operands of a machine."""

    WORDS: re.Pattern[str]

    def place(self, text: str, whole: str) -> Operand:
        """Parse where an argument is; of unknown kind when that is not understood."""


_READERS: dict[str, _Reader] = {X86_64.name: sdt_x86, ARM64.name: sdt_a64}
_SIZE = re.compile(r"(-?)([1248]|16)(f?)@(.+)$", re.S)


def operands(text: str, machine: Architecture = X86_64) -> list[Operand]:
    """Parse the arguments of a mark."""
    words = _READERS[machine.name].WORDS
    return [operand(word, machine) for word in words.findall(text)]


def operand(text: str, machine: Architecture = X86_64) -> Operand:
    """Parse one argument, such as ``-4@8(%rsp)``; of unknown kind when it is not understood."""
    found = _SIZE.match(text)
    # Without a size: the whole register, as very old notes have it.
    minus, size, real, rest = found.groups() if found else ("", "8", "", text)
    result = _READERS[machine.name].place(rest, text)
    result.size, result.is_signed, result.is_float = int(size), bool(minus), bool(real)
    if result.size == 16:
        return Operand(UNKNOWN, text)
    return result
