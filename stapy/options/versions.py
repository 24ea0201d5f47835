"""Versions of the script language, as ``--compatible`` and ``%( systemtap_v`` compare them."""

from __future__ import annotations

import re

_PIECE = re.compile(r"\d+|\D")


def compare_versions(a: str, b: str) -> int:
    """Compare two versions: -1, 0 or 1; runs of digits count as numbers, all else by letters."""
    left, right = _PIECE.findall(a), _PIECE.findall(b)
    for x, y in zip(left, right, strict=False):
        if x == y:
            continue
        if x.isdigit() and y.isdigit():
            if int(x) == int(y):
                continue
            return -1 if int(x) < int(y) else 1
        return -1 if x < y else 1
    return (len(left) > len(right)) - (len(left) < len(right))
