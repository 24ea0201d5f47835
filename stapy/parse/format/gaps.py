"""What stands between two tokens of one line: nothing, a blank, or what the author chose.

Only what is certain is changed.  Where a blank may be a part of the meaning (names of probe
points, bodies of macros) or of a sign's (``a-`` in the head of a foreach), it is left alone.
"""

from __future__ import annotations

from stapy.parse.format.pieces import COMMENT, FormatToken
from stapy.parse.tokens import ASSIGNMENTS, KEYWORDS

_ONE, _NONE = " ", ""
_BINARY = frozenset(ASSIGNMENTS) | {
    "EQ", "NE", "LE", "GE", "LT", "GT", "MATCH", "NOMATCH", "LAND", "LOR", "LSHIFT", "RSHIFT",
    "PIPE", "CARET",
}  # fmt: skip
_EITHER = frozenset({"PLUS", "MINUS", "STAR", "SLASH", "PERCENT", "AMP", "DOT"})
_PREFIX = frozenset({"NOT", "TILDE", "PLUS", "MINUS", "AMP"})
_HEADS = frozenset({"IF", "WHILE", "FOR", "FOREACH", "CATCH"})
_CALLED = frozenset({"IDENT", "PRINT", "PRINTD", "PRINTF"})
_WORDS = frozenset(KEYWORDS.values()) | _CALLED | {"TARGET", "NUMBER", "STRING", "MACRO"}
MARKS = frozenset({"PP_IF", "PP_THEN", "PP_ELSE", "PP_END"})
# Between these and a brace is a name of a probe point, so the brace is a group of names.
NAME_FOLLOWS = frozenset({"PROBE", "COMMA", "DOT", "ASSIGN", "PLUSSET", "LBRACE"})
# What an operand can end with: a sign behind it stands between two.
OPERAND = frozenset({
    "IDENT", "NUMBER", "STRING", "TARGET", "DOLLARS", "RPAREN", "RBRACK", "ARG", "MACRO", "INCR",
    "DECR", "PP_END", "AT_REGISTER", "STRING_TYPE", "LONG",
})  # fmt: skip


class Surroundings(frozenset[str]):
    """Where a gap is: ``keep`` (macros), ``heading``, ``foreach``, ``global``, ``types``."""


def gap(left: FormatToken, right: FormatToken, place: Surroundings, before_left: str) -> str:
    """Choose the blanks between two pieces of a line; ``before_left`` is a kind of token."""
    chosen = _ONE if right.gap else _NONE
    if right.kind == COMMENT:
        return right.gap or _ONE
    if left.kind == COMMENT:
        return chosen
    certain = _certain(left.kind, right.kind, place, before_left)
    if certain is None or (certain == _NONE and chosen and _would_join(left.text, right.text)):
        return chosen
    return certain


def _certain(left: str, right: str, place: Surroundings, before: str) -> str | None:
    if "keep" in place:
        return None
    if right in ("COMMA", "SEMI"):
        return None if left == right == "SEMI" else _NONE
    if left == "COMMA":
        return _ONE
    if left in ("LPAREN", "LBRACK") or right in ("RPAREN", "RBRACK"):
        return _NONE
    if left == "SEMI":
        return _ONE
    if left in MARKS or right in MARKS:
        return None if "heading" in place else _ONE
    if "heading" in place:
        is_body = right == "LBRACE" and left not in NAME_FOLLOWS
        return _ONE if left == "PROBE" or is_body else None
    if "ARROW" in (left, right):
        return _NONE
    if right == "LPAREN":
        return _ONE if left in _HEADS else _NONE if left in _CALLED else None
    if right == "LBRACE":
        return _ONE
    if left == "LBRACE" or "RBRACE" in (left, right):
        return None if left == "LBRACE" and right == "RBRACE" else _ONE
    return _operators(left, right, place, before)


def _operators(left: str, right: str, place: Surroundings, before: str) -> str | None:
    if "types" in place or "global" in place:
        return _ONE if "ASSIGN" in (left, right) else None
    if left in _BINARY or right in _BINARY or "QUESTION" in (left, right):
        return _ONE
    if right in _WORDS and left in ("RPAREN", "RBRACK"):
        return _ONE
    if "foreach" in place:
        return None
    if right in _EITHER and left in OPERAND:
        return _ONE
    if left in _EITHER and before in OPERAND:
        return _ONE
    if left in _PREFIX and before not in OPERAND:
        return _NONE
    if left in KEYWORDS.values() or "COLON" in (left, right):
        return _ONE
    return None


def _would_join(left: str, right: str) -> bool:
    """Tell whether two tokens without a blank might be read as others."""
    if left[-1:].isalnum() or left[-1:] in "_$@":
        return right[:1].isalnum() or right[:1] in "_$@"
    return left[-1:] in "+-<>=!~&|^*/%.?:" and right[:1] in "+-<>=!~&|^*/%.?:({#"
