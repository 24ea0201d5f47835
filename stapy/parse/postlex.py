"""Last look at the tokens before the grammar: joined strings and names of probe points.

In a probe point ``*`` is a letter of a name; in a body it multiplies.  Which
one is meant follows from the words around, so it is decided here once and the
grammar sees a ``COMPONENT``.
"""

from __future__ import annotations

from collections.abc import Callable

from stapy.parse.tokens import WORDS, Token

# Whether two tokens are too far apart to be joined.
Apart = Callable[[Token, Token], bool]

_LETTERS = WORDS | {"STAR", "NUMBER", "TARGET"}
_FIRST = WORDS | {"STAR"}
_NAME_FOLLOWS = frozenset({"PROBE", "COMMA", "DOT", "ASSIGN", "PLUSSET", "LBRACE"})


def _is_near(left: Token, right: Token) -> bool:
    return False


def postlex(tokens: list[Token], apart: Apart = _is_near) -> list[Token]:
    """Join adjacent string literals, and the pieces of each component of a probe point.

    Before 2.0 of the language a comment between two literals kept them apart.
    """
    out: list[Token] = []
    at, size = 0, len(tokens)
    while at < size:
        token = tokens[at]
        at += 1
        kind = token.type
        if kind == "STRING":
            at = _strings(tokens, at, token, out, apart)
            continue
        out.append(token)
        if kind == "PROBE" and (len(out) < 2 or out[-2].type != "ARROW"):
            at = _heading(tokens, at, out, apart)
    return out


def _strings(tokens: list[Token], at: int, first: Token, out: list[Token], apart: Apart) -> int:
    if at >= len(tokens) or tokens[at].type != "STRING":
        out.append(first)
        return at
    values, last = [first.value], first
    while at < len(tokens) and tokens[at].type == "STRING" and not apart(last, tokens[at]):
        last = tokens[at]
        values.append(last.value)
        at += 1
    whole = first.span.to(last.span)
    out.append(Token("STRING", "".join(values), first.source, first.start, whole.end))
    return at


def _heading(tokens: list[Token], at: int, out: list[Token], apart: Apart) -> int:
    """Join components from after ``probe`` to the brace of the body; return where they end."""
    groups = parens = 0
    before = "PROBE"
    size = len(tokens)
    while at < size:
        token = tokens[at]
        kind = token.type
        if parens or kind == "LPAREN":
            parens += (kind == "LPAREN") - (kind == "RPAREN")
            if kind == "LBRACE":
                return at  # a parenthesis was forgotten: the grammar will say so
            if kind == "STRING":
                at = _strings(tokens, at + 1, token, out, apart)
                before = kind
                continue
        elif kind == "LBRACE":
            if before not in _NAME_FOLLOWS:
                return at
            groups += 1
        elif kind == "RBRACE":
            if not groups:
                return at
            groups -= 1
        elif kind in _FIRST and before in _NAME_FOLLOWS:
            at = _component(tokens, at, out)
            before = "COMPONENT"
            continue
        elif kind == "PROBE" or kind == "SEMI":
            return at
        out.append(token)
        before = kind
        at += 1
    return at


def _component(tokens: list[Token], at: int, out: list[Token]) -> int:
    first = last = tokens[at]
    text = first.value
    at += 1
    while at < len(tokens):
        token = tokens[at]
        if token.type not in _LETTERS or token.start != last.end or token.source != last.source:
            break
        text += token.value
        last = token
        at += 1
    out.append(Token("COMPONENT", text, first.source, first.start, last.end))
    return at
