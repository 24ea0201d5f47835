"""Where things stand in a text: found once, and asked at each mistake.

A script of thousands of mistakes would be walked through again for each of them otherwise.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from stapy.parse.tokens import Token

DECLARATIONS = frozenset({"PROBE", "FUNCTION", "GLOBAL", "PRIVATE"})
_ENDS = frozenset({"SEMI", "LBRACE", "RBRACE"})


class Landmarks:
    """The brackets and declarations of one text, by their numbers among its tokens."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self._places: dict[int, list[int]] = {}  # a macro may bring one token several times
        for at, token in enumerate(tokens):
            self._places.setdefault(id(token), []).append(at)
        self._declarations = self._all(DECLARATIONS)
        self._ends = self._all(_ENDS)
        self._starts = self._all({"SEMI", *DECLARATIONS})
        self._braces = self._depths("LBRACE", "RBRACE")
        self._parentheses = self._depths("LPAREN", "RPAREN")
        self._ternaries = self._depths("QUESTION", "COLON")
        self._behind_commas = self._where(
            lambda at: at > 1 and self._kind(at) == "LBRACE" and self._kind(at - 1) == "COMMA"
        )
        self._stops = self._where(
            lambda at: self._kind(at) in ("LBRACE", "RBRACE") or self.begins_declaration(at)
        )
        self._closing: dict[int, list[int]] = {}  # parentheses by the depth behind them
        for at in self._all(("RPAREN",)):
            self._closing.setdefault(self._parentheses[at], []).append(at)

    def begins_declaration(self, at: int) -> bool:
        """Tell whether a declaration begins; behind an arrow such a word is a member."""
        return self._kind(at) in DECLARATIONS and self._kind(at - 1) != "ARROW"

    def place(self, token: Token, last: int) -> int:
        """Find a token at or before ``last``, -1 when it is not there (recovery made it up)."""
        places = self._places.get(id(token), [])
        found = bisect_right(places, last)
        return places[found - 1] if found else -1

    def brace_behind_comma(self, last: int) -> tuple[int, bool] | None:
        """Find the last '{' behind a ',' of this declaration, and whether it is closed again.

        What stands within braces that are closed does not count.
        """
        before = bisect_right(self._declarations, last)
        first = self._declarations[before - 1] if before else 0
        for number in range(bisect_right(self._behind_commas, last) - 1, -1, -1):
            at = self._behind_commas[number]
            if at < first:
                break
            depth = self._braces[last] - self._braces[at - 1]
            if depth >= 0:
                return at, depth == 0
        return None

    def is_ternary_open(self, last: int) -> bool:
        """Tell whether a '?' of the statement that has this token still wants its ':'."""
        if last < 1:
            return False
        before = bisect_right(self._ends, last)
        return self._ternaries[last] > self._ternaries[self._ends[before - 1] if before else 0]

    def is_in_points(self, at: int) -> bool:
        """Tell whether a token stands between ``probe`` and the body, outside of any brace."""
        number = bisect_right(self._starts, at) - 1
        if number < 0 or self._kind(self._starts[number]) != "PROBE":
            return False
        return self._braces[at] <= min(self._braces[self._starts[number] : at + 1])

    def closing(self, first: int, depth: int) -> int:
        """Find the ')' that closes so many parentheses, 0 where a block begins or ends first."""
        outside = (self._parentheses[first - 1] if first else 0) - depth
        places = self._closing.get(outside, [])
        number, stop = bisect_left(places, first), bisect_left(self._stops, first)
        if number == len(places):
            return 0
        is_first = stop == len(self._stops) or places[number] < self._stops[stop]
        return places[number] if is_first else 0

    def _kind(self, at: int) -> str:
        return self.tokens[at].type

    def _where(self, wanted: Callable[[int], bool]) -> list[int]:
        return [at for at in range(len(self.tokens)) if wanted(at)]

    def _all(self, kinds: Collection[str]) -> list[int]:
        return self._where(lambda at: self._kind(at) in kinds)

    def _depths(self, opening: str, closing: str) -> list[int]:
        """Count at each token what is open behind it; below 0 where more is closed."""
        return list(accumulate((t.type == opening) - (t.type == closing) for t in self.tokens))
