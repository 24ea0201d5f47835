"""The tokens of one text as PLY asks for them."""

from __future__ import annotations

from stapy.diagnostics import Span
from stapy.parse.tokens import Token

OPENING = {"LBRACE": "RBRACE", "LPAREN": "RPAREN", "LBRACK": "RBRACK"}


class Feed:
    """The tokens as PLY asks for them, with the brackets that are open."""

    def __init__(self, tokens: list[Token], source: int, size: int) -> None:
        self.tokens = tokens
        self.at = 0
        self.end = Span(source, size, size)
        self.open: list[Token] = []
        self.closed: list[Token] = []  # what the last token closed, if it was a bracket
        self.missing: list[Token] = []  # braces that recovery puts in

    def token(self) -> Token | None:
        """Return the next token, None at the end."""
        if self.missing:
            token = self.missing.pop()
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

    def blocks(self) -> int:
        """Count the braces that are open."""
        return sum(token.type == "LBRACE" for token in self.open)
