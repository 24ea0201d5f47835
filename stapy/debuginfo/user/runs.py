"""Runs of common x86-64 instructions, told by one regular expression.

No instruction begins like a longer one, so that what the expression takes from a place on is
what decoding them one by one comes by.  It is made of the tables of `x86.py`, and of what is
behind an opcode there; `tests/debuginfo/user/test_x86.py` compares the two.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from stapy.debuginfo.elf import Buffer
from stapy.debuginfo.user.x86 import COMMON, COMMON_0F, OPERANDS

_REX = rb"[\x40-\x4f]?"
_WORD = 4  # bytes of a constant that a prefix of the operand's size makes shorter
_BASE_5 = [row for row in range(256) if row & 7 == 5]


def end_of_run(code: Buffer, at: int, end: int) -> int:
    """Find how far common instructions go from a place on, none of them beyond ``end``.

    That is the place itself where another one begins.
    """
    found = _pattern().match(code, at, end)
    return found.end() if found is not None else at


def _class(values: Iterable[int]) -> bytes:
    spans: list[list[int]] = []
    for value in sorted(values):
        if spans and spans[-1][1] == value - 1:
            spans[-1][1] = value
        else:
            spans.append([value, value])
    return b"[" + b"".join(b"\\x%02x-\\x%02x" % (low, high) for low, high in spans) + b"]"


def _bytes(count: int) -> bytes:
    return b".{%d}" % count if count else b""


def _modrm() -> bytes:
    """Match ModRM, with SIB and displacement."""
    plain: dict[int, list[int]] = {}
    by_mode: dict[int, list[int]] = {}
    for row in range(256):
        if OPERANDS[row]:
            plain.setdefault(OPERANDS[row] - 1, []).append(row)
        else:
            by_mode.setdefault(row >> 6, []).append(row)
    behind = {0: b"(?:" + _class(_BASE_5) + b".{4}|[^" + _class(_BASE_5)[1:] + b")",
              1: b"..", 2: b".{5}"}  # fmt: skip
    ways = [_class(values) + _bytes(size) for size, values in plain.items()]
    ways += [_class(values) + behind[mode] for mode, values in by_mode.items()]
    return b"(?:" + b"|".join(ways) + b")"


def _opcodes(*, words: bool) -> bytes:
    """Match the opcodes of both tables with what is behind them; perhaps without long constants."""
    kinds: dict[int, list[bytes]] = {}
    for lead, table in ((b"", COMMON), (rb"\x0f", COMMON_0F)):
        for behind in set(table) - {-1}:
            if words or lead or behind % 16 != _WORD:
                opcodes = _class(row for row in range(256) if table[row] == behind)
                kinds.setdefault(behind, []).append(lead + opcodes)
    kinds[16].append(rb"\xff")
    if words:  # f6 and f7 have a constant with some ModRM
        tests, others = (b"(?=" + _class(rows) + b")" for rows in _tests())
        kinds[16].append(rb"[\xf6\xf7]" + others)
        kinds[17].append(rb"\xf6" + tests)
        kinds[16 + _WORD].append(rb"\xf7" + tests)
    modrm = _modrm()
    ways = [
        b"(?:" + b"|".join(opcodes) + b")" + (modrm if kind >= 16 else b"") + _bytes(kind % 16)
        for kind, opcodes in kinds.items()
    ]
    return b"(?:" + b"|".join(ways) + b")"


def _tests() -> tuple[list[int], list[int]]:
    """List the bytes of ModRM with which f6 and f7 have a constant, and all others."""
    rows = range(256)
    return [row for row in rows if row >> 3 & 7 < 2], [row for row in rows if row >> 3 & 7 >= 2]


@cache
def _pattern() -> re.Pattern[bytes]:
    """Compile the expression, which takes 5 ms: not before it is asked for."""
    instructions = (
        rb"[\x64\x65\xf0\xf2\xf3]?" + _REX + _opcodes(words=True),
        rb"(?:[\xe8\xe9]|\x0f[\x80-\x8f]).{4}|[\x70-\x7f\xe0-\xe3\xeb].|\xc3|\x0f[\x05\x0b]",
        rb"(?:[\x40-\x47]?[\xb8-\xbf]|[\x48-\x4f][\xb8-\xbf].{4}).{4}",
        rb"\x66" + _REX + _opcodes(words=False),
        rb"\x66{1,6}\x2e?\x0f\x1f" + _modrm(),  # what fills gaps
    )
    ways = b"|".join(b"(?:" + row + b")" for row in instructions)
    return re.compile(b"(?:" + ways + b")*+", re.S)
