"""Which code of a function the words of a point choose, and which of it may be probed.

Resolving a point (`families/kprobe/`) and listing what it stands for (`listing/`) ask here, the
one for each place, the other once for each function of a build.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from stapy.probes import blocklist

if TYPE_CHECKING:
    from collections.abc import Collection

# How code may be probed: before it, when it returns, and either with -g.
ENTRY, RETURN, ENTRY_GURU, RETURN_GURU = 1, 2, 4, 8
WITH_GURU = ENTRY_GURU | RETURN_GURU

_OWN_CODE_ONLY = {"call", "return", "exported"}


class Wanted:
    """What the words behind a function choose of its own code and of its inlined instances."""

    def __init__(self, words: Collection[str], guru: bool) -> None:
        self.is_return = "return" in words
        self.exported_only = "exported" in words
        self.own_code = "inline" not in words
        self.inlined = _OWN_CODE_ONLY.isdisjoint(words)
        self.bit = way(self.is_return, guru)

    def takes(self, *, inlined: bool) -> bool:
        """Tell whether they choose inlined instances, or a function's own code."""
        return self.inlined if inlined else self.own_code


def way(is_return: bool, guru: bool) -> int:
    """Give the bit of one way to probe code."""
    if guru:
        return RETURN_GURU if is_return else ENTRY_GURU
    return RETURN if is_return else ENTRY


@cache
def allowed_below(name: str) -> int:
    """Tell how code below a symbol may be probed, as bits."""
    bits = ENTRY_GURU
    bits |= 0 if blocklist.reason(name, False) else ENTRY
    bits |= 0 if blocklist.reason(name, True) else RETURN
    return bits | (0 if blocklist.never(name, True) else RETURN_GURU)


def allowed_of(name: str, file: str) -> int:
    """Tell how code of a function may be probed wherever it lies, as bits; "" is no file.

    With -g only the symbol counts that it lies below.
    """
    return WITH_GURU | (0 if blocklist.of_file(file) else allowed_below(name))


def refusal(name: str, symbol: str, file: str, *, is_return: bool, guru: bool) -> str:
    """Say why code of a function, below a symbol, must not be probed; "" when it may."""
    if allowed_of(name, file) & allowed_below(symbol) & way(is_return, guru):
        return ""
    if guru:
        return blocklist.never(symbol, is_return)
    reasons = (blocklist.reason(one, is_return) for one in (name, symbol))
    return blocklist.of_file(file) or next(filter(None, reasons), "")
