"""Near misses: which known names may a wrong one have meant."""

from __future__ import annotations

from collections.abc import Iterable


def distance(a: str, b: str, limit: int) -> int:
    """Edit distance (a swap of neighbours counts one); ``limit + 1`` when it is larger."""
    if abs(len(a) - len(b)) > limit:
        return limit + 1
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        older, before = before, row
        row = [i]
        best = i
        for j, right in enumerate(b, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (left != right))
            if i > 1 and j > 1 and left == b[j - 2] and a[i - 2] == right:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
            best = min(best, cost)
        if best > limit:
            return limit + 1
    return row[-1] if row[-1] <= limit else limit + 1


def nearest(word: str, candidates: Iterable[str], limit: int = 3) -> list[str]:
    """Find at most ``limit`` names that ``word`` may stand for, the best first.

    A third of the letters may be wrong; differences in case cost less, and a
    name that begins with the whole word is always near.  One that has all of a
    longer word between underscores is nearer than one with two wrong letters.
    Hyphens count as underscores.  Of equals the best only lacks its end, then
    come those that lack letters elsewhere: what was typed is all there.
    """
    allowed = max(1, (len(word) + 1) // 3)
    lower = _plain(word)
    scored: list[tuple[int, bool, bool, int, str]] = []
    for name in set(candidates):
        if name == word or not name:
            continue
        other = _plain(name)
        cost = distance(lower, other, allowed)
        if len(word) > 4 and ("_" + lower + "_") in ("_" + other + "_"):
            cost = min(cost, 1)
        if cost > allowed:
            if len(word) < 3 or not other.startswith(lower):
                continue
            cost = allowed + 1
        begun = other.startswith(lower)
        within = begun or _is_within(lower, other)
        scored.append((cost, not begun, not within, abs(len(name) - len(word)), name))
    scored.sort()
    return [name for *_, name in scored[:limit]]


def _is_within(word: str, name: str) -> bool:
    """Tell whether a name has all letters of a word in their order, others between them."""
    rest = iter(name)
    return all(letter in rest for letter in word)


def _plain(word: str) -> str:
    return word.lower().replace("-", "_")


def listed(names: list[str], quote: str = "'") -> str:
    """Join names as ``'a', 'b' or 'c'``."""
    names = [quote + name + quote for name in names]
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def did_you_mean(word: str, candidates: Iterable[str], limit: int = 3, quote: str = "'") -> str:
    """Write a hint such as ``did you mean 'open' or 'openat'?``; empty when nothing is near."""
    names = nearest(word, candidates, limit)
    return f"did you mean {listed(names, quote)}?" if names else ""
