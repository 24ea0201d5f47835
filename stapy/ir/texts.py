"""What embedded C says of the texts that it returns, by marks in its comments."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# The text has no more bytes, its NUL included; or, besides, the C never writes beyond
# sizeof(STAP_RETVALUE), whatever happens.
SIZED = "pragma:sized:"
_SAYS = ("pragma:bytes:", SIZED)
_DIGITS = re.compile("[0-9]{1,9}")
# The text begins with a double quote, or is an address ("0x…") of memory that cannot be read.
QUOTED = "pragma:quoted"


def said_bytes(markers: Iterable[str]) -> int | None:
    """Return what C says of its result, the largest number if it says several; None if nothing."""
    said = (mark.rpartition(":") for mark in markers)
    texts = [number for start, _, number in said if start + ":" in _SAYS]
    if not texts or not all(_DIGITS.fullmatch(text) for text in texts):
        return None
    return max(1, *map(int, texts))
