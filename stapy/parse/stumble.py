"""What a syntax error was met with: the wrong token, what could stand there, the words before."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stapy.diagnostics import SourceMap
    from stapy.parse.feed import Feed
    from stapy.parse.tokens import Token


class Stumble:
    """One syntax error: ``kinds`` could have stood where ``token`` was found (None: the end)."""

    def __init__(
        self, feed: Feed, table: dict[str, int], token: Token | None, sources: SourceMap
    ) -> None:
        self.feed = feed
        self.sources = sources
        self.kinds = set(table) - {"error", "$end"}
        self.token = token
        # The brackets that were open before the wrong token.
        has_opened = bool(feed.open) and feed.open[-1] is token
        self.opened = feed.open[:-1] if has_opened else feed.open[:]
        if token is not None:
            self.opened += feed.closed
        self.at = feed.at - (2 if token is not None else 1)  # of the token before
        self.before = self.word(0)

    def word(self, distance: int) -> Token | None:
        """Return the token at a distance from the one before the error, None beyond the text."""
        at = self.at + distance
        return self.feed.tokens[at] if 0 <= at < len(self.feed.tokens) else None

    def kind(self, distance: int) -> str:
        """Return the type of the token at such a distance, "" beyond the text."""
        found = self.word(distance)
        return found.type if found is not None else ""

    def is_at_top(self) -> bool:
        """Tell whether a declaration could begin here."""
        return {"PROBE", "GLOBAL"} <= self.kinds and not self.is_member()

    def is_member(self) -> bool:
        """Tell whether the token is directly behind an arrow, where every word is a name."""
        return self.before is not None and self.before.type == "ARROW"

    def head(self) -> Token | None:
        """Find what stands before the innermost bracket, such as ``if``; None outside of any."""
        if not self.opened:
            return None
        tokens = self.feed.tokens
        last = min(self.at, len(tokens) - 1)
        index = self.feed.landmarks().place(self.opened[-1], last)
        return tokens[index - 1] if index > 0 else None

    def in_head(self, keyword: str) -> bool:
        """Tell whether the innermost bracket is the one after this keyword."""
        head = self.head()
        return head is not None and head.type == keyword and self.opened[-1].type == "LPAREN"

    def in_call(self) -> bool:
        """Tell whether the innermost bracket holds the arguments of something."""
        head = self.head()
        if head is None:
            return False
        return head.type in ("IDENT", "PRINT", "PRINTD", "PRINTF") or head.type.startswith("AT_")

    def in_parameters(self) -> bool:
        """Tell whether the innermost bracket has the parameters of a function."""
        head = self.head()
        if head is None:
            return False
        at = self.feed.landmarks().place(
            head, self.at
        )  # the name, or the type behind it: NAME:TYPE(
        return any(token.type == "FUNCTION" for token in self.feed.tokens[max(0, at - 3) : at])

    def head_before(self) -> Token | None:
        """Find what stands before the parentheses that end at the token before; None for none."""
        depth = 0
        tokens = self.feed.tokens
        for index in range(min(self.at, len(tokens) - 1), 0, -1):
            depth += (tokens[index].type == "RPAREN") - (tokens[index].type == "LPAREN")
            if depth == 0:
                return tokens[index - 1] if tokens[index].type == "LPAREN" else None
        return None

    def called_before(self) -> str:
        """Name what is called by the parentheses that end at the token before, "" for nothing."""
        head = self.head_before()
        return head.value if head is not None and head.type == "IDENT" else ""

    def case(self) -> Token | None:
        """Find the ``case`` or ``default`` of a switch that the token ends; None for neither."""
        if self.token is None or self.token.type != "COLON":
            return None
        for distance in (0, -1, -2):  # default:  case 1:  case -1:
            word = self.word(distance)
            if word is None or word.type in ("SEMI", "LBRACE", "RBRACE", "COLON"):
                return None
            if word.value == ("case" if distance else "default"):
                return word
        return None

    def is_on_line_of(self, other: Token) -> bool:
        """Tell whether the wrong token stands on the line of another one before it."""
        token = self.token
        if token is None or token.source != other.source:
            return False
        return "\n" not in self.sources.sources[token.source].text[other.end : token.start]

    def declares(self, name: Token) -> bool:
        """Tell whether the token before the one that was found is a function's new name."""
        index = min(self.at, len(self.feed.tokens) - 1)
        while index > 0 and self.feed.tokens[index] is not name:
            index -= 1
        return index > 0 and self.feed.tokens[index - 1].type == "FUNCTION"
