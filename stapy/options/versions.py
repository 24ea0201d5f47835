"""Versions of the script language, as ``--compatible`` and ``%( systemtap_v`` compare them."""

from __future__ import annotations

from stapy.patterns import compiled_when_used

_PIECE = compiled_when_used(r"\d+|\D")


def compare_versions(a: str, b: str) -> int:
    """Compare two versions: -1, 0 or 1; runs of digits count as numbers, all else by letters."""
    left, right = _PIECE().findall(a), _PIECE().findall(b)
    for x, y in zip(left, right, strict=False):
        if x == y:
            continue
        if x.isdecimal() and y.isdecimal():
            low, high = x.lstrip("0"), y.lstrip("0")  # no numbers: Python's have not any length
            if low == high:
                continue
            return -1 if (len(low), low) < (len(high), high) else 1
        return -1 if x < y else 1
    return (len(left) > len(right)) - (len(left) < len(right))
