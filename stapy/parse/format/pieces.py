"""A text as tokens and comments, each with what stands before it."""

from __future__ import annotations

import re

from stapy.diagnostics import Diagnostics
from stapy.parse.lexer import tokenize
from stapy.record import Record

COMMENT = "COMMENT"
_COMMENTS = re.compile(r"[ \t\r\n\f\v]+|(\#[^\n]*|//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)")


class FormatToken(Record):
    """A token or comment as it is written; ``gap`` is the blanks between the one before and it."""

    kind: str
    text: str
    gap: str

    @property
    def lines(self) -> int:
        """Line breaks before it."""
        return self.gap.count("\n")


def pieces(text: str, source: int, diagnostics: Diagnostics) -> list[FormatToken]:
    """Cut a text; what the lexer cannot read is in ``diagnostics``."""
    found: list[FormatToken] = []
    end = 0
    for token in tokenize(text, source, diagnostics):
        gap = _take_comments(text, end, token.start, found)
        found.append(FormatToken(token.type, text[token.start : token.end], gap))
        end = token.end
    _take_comments(text, end, len(text), found)
    return found


def _take_comments(text: str, start: int, end: int, found: list[FormatToken]) -> str:
    """Add the comments between two tokens and return the blanks behind the last one."""
    gap = ""
    for match in _COMMENTS.finditer(text, start, end):
        if match[1] is None:
            gap = match[0]
        else:
            found.append(FormatToken(COMMENT, match[1], gap))
            gap = ""
    return gap
