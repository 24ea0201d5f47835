"""The tokens of one text as PLY asks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.diagnostics import Span
from stapy.parse.tokens import Token

if TYPE_CHECKING:
    from collections.abc import Callable

    from stapy.parse.landmarks import Landmarks

# Stands before what recovery puts in: from here on the engine tells of mistakes again.
RESUMED = Token("", "", -1, 0, 0)
OPENING = {"LBRACE": "RBRACE", "LPAREN": "RPAREN", "LBRACK": "RBRACK"}


class Feed:
    """The tokens as PLY asks for them, with the brackets that are open."""

    def __init__(self, tokens: list[Token], source: int, size: int) -> None:
        self.tokens = tokens
        self.at = 0
        self.end = Span(source, size, size)
        self.open: list[Token] = []
        self.closed: list[Token] = []  # what the last token closed, if it was a bracket
        self.missing: list[Token] = []  # what recovery puts in, the last first
        self.resume: Callable[[], None] = _go_on
        self._landmarks: Landmarks | None = None

    def landmarks(self) -> Landmarks:
        """Return where things stand in the text; for what is wrong only."""
        if self._landmarks is None:
            from stapy.parse.landmarks import Landmarks

            self._landmarks = Landmarks(self.tokens)
        return self._landmarks

    def token(self) -> Token | None:
        """Return the next token, None at the end."""
        if self.missing:
            token = self.missing.pop()
            if token is RESUMED:
                self.resume()
                return self.token()
            self._count(token)
            return token
        if self.at >= len(self.tokens):
            return None
        token = self.tokens[self.at]
        self.at += 1
        self._count(token)
        return token

    def _count(self, token: Token) -> None:
        kind = token.type
        self.closed = []
        if kind in OPENING:
            self.open.append(token)
        elif kind in ("RBRACE", "RPAREN", "RBRACK"):
            for index in range(len(self.open) - 1, -1, -1):
                if OPENING[self.open[index].type] == kind:
                    self.closed = self.open[index:]
                    del self.open[index:]
                    break
                if kind != "RBRACE":
                    break

    def is_in_block(self) -> bool:
        """Tell whether a brace is open."""
        return any(token.type == "LBRACE" for token in self.open)

    def blocks(self) -> int:
        """Count the braces that are open."""
        return sum(token.type == "LBRACE" for token in self.open)


def _go_on() -> None:
    """Stand for what the engine does, which the driver gives."""
