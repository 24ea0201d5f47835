"""Brackets of embedded C that are not closed, or close nothing: what a compiler cannot place.

A compiler reads on behind the block, into C that is ours, and complains there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_PIECES = re.compile(r'"(?:[^"\\\n]|\\.)*"|#[^\n]*|//[^\n]*|/\*.*?\*/|%\{(?P<code>.*?)%\}', re.S)
_TOKENS = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|(?P<bracket>[()\[\]{}])""", re.S
)
_CONDITIONAL = re.compile(r"^[ \t]*#[ \t]*(?:if|el|end)", re.M)
_PARTNER = {")": "(", "]": "[", "}": "{"}


def unbalanced(script: str) -> Iterator[tuple[int, str]]:
    """Yield the first bad bracket of each block of embedded C: its offset, and what is wrong.

    Blocks whose code depends on ``#if`` are passed over: each way may be right by itself.
    """
    for block in _PIECES.finditer(script):
        code = block["code"]
        if code is None or _CONDITIONAL.search(code):
            continue
        found = _first(code)
        if found is not None:
            yield block.start("code") + found[0], found[1]


def _first(code: str) -> tuple[int, str] | None:
    open_: list[tuple[str, int]] = []
    for token in _TOKENS.finditer(code):
        bracket = token["bracket"]
        if bracket is None:
            continue
        if bracket not in _PARTNER:
            open_.append((bracket, token.start()))
        elif not open_:
            return token.start(), f"this '{bracket}' closes nothing in the block"
        elif open_[-1][0] != _PARTNER[bracket]:
            return open_[-1][1], f"this '{open_[-1][0]}' is not closed before a '{bracket}'"
        else:
            open_.pop()
    return (open_[-1][1], f"this '{open_[-1][0]}' is not closed in the block") if open_ else None
