"""The known name that a mistyped one is most like."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterable


def nearest(name: str, known: "Iterable[str]") -> str:
    """Find the name that the fewest keys make of this one, or that it begins; else ""."""
    most = max(1, len(name) * 2 // 5)
    rows = sorted((_keys(name.lower(), one.lower()), one) for one in known)
    begun = [one for _, one in rows if len(name) > 2 and one.lower().startswith(name.lower())]
    return rows[0][1] if rows and rows[0][0] <= most else "".join(begun[:1])


def _keys(one: str, other: str) -> int:
    """Count the letters to add, drop or replace, and neighbours to exchange."""
    before: "list[int]" = []
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one):
        after = [at + 1]
        for to, wanted in enumerate(other):
            cost = min(after[to] + 1, row[to + 1] + 1, row[to] + (letter != wanted))
            if at and to and letter == other[to - 1] and wanted == one[at - 1]:
                cost = min(cost, before[to - 1] + 1)
            after.append(cost)
        before, row = row, after
    return row[-1]
