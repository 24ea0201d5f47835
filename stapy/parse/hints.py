"""The advice at a syntax error.  Only who has made one loads this."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.diagnostics.foreign_expressions import declaration_hint, type_hint
from stapy.diagnostics.foreign_words import (
    C_TYPES,
    operator_hint,
    statement_hint,
    top_hint,
    type_name_hint,
)
from stapy.diagnostics.suggest import did_you_mean
from stapy.parse.landmarks import DECLARATIONS
from stapy.parse.tokens import KEYWORDS, PRINTERS

if TYPE_CHECKING:
    from collections.abc import Callable

    from stapy.parse.stumble import Stumble
    from stapy.parse.tokens import Token

    Advice = Callable[[Stumble, Token], str]

STATEMENTS = [
    "if",
    "while",
    "for",
    "foreach",
    "return",
    "delete",
    "next",
    "break",
    "continue",
    "try",
]
_CLOSING = {"LPAREN": ")", "LBRACK": "]", "LBRACE": "}"}
_WORD = {kind: word for word, kind in KEYWORDS.items()}
_CURLY = frozenset("“”„‟«»‘’‚‛")
_VALUES = frozenset({"IDENT", "NUMBER", "STRING", "TARGET", *PRINTERS.values()})
# Two operators of which other languages make one, and what is written.
_JOINED = {
    ("ASSIGN", "ASSIGN"): "did you mean '=='?",
    ("EQ", "ASSIGN"): "did you mean '=='?",
    ("NE", "ASSIGN"): "did you mean '!='?",
    ("LT", "GT"): "did you mean '!='?",
    ("ASSIGN", "GT"): "did you mean '>='?",
    ("ASSIGN", "LT"): "did you mean '<='?",
    ("STAR", "STAR"): "there is no operator for powers",
    ("STAR", "TIMESSET"): "there is no operator for powers",
}
_IN_PARENTHESES = {
    "IF": "the condition stands in parentheses: if (…)",
    "WHILE": "the condition stands in parentheses: while (…)",
    "FOREACH": "keys and array stand in parentheses: foreach (key in array)",
}


def hint_at(stumble: Stumble) -> str:
    """Return what helps at a syntax error, "" when nothing is known."""
    token = stumble.token
    if token is None:
        closing = "".join(_CLOSING[opening.type] for opening in reversed(stumble.opened))
        return f"add '{closing}'" if closing else ""
    for advice in _ADVICE:
        found = advice(stumble, token)
        if found:
            return found
    return ""


def _at_top(stumble: Stumble, token: Token) -> str:
    if not stumble.is_at_top():
        return ""
    if stumble.kind(0) == "IDENT" and stumble.kind(-1) in ("GLOBAL", "PRIVATE", "COMMA"):
        found = _in_globals(stumble, token)
        if found:
            return found
    if token.type == "RBRACE":
        return "there is a '}' too many"
    if token.type == "PERCENT" and stumble.kind(0) == "RBRACK":
        return "a global whose oldest element makes room has its '%' before the size: name%[100]"
    if token.type != "IDENT":
        return ""
    near = [one.value for one in (stumble.word(2), stumble.word(3)) if one is not None]
    return (
        declaration_hint(token.value)
        or top_hint(token.value, " ".join(near))
        or did_you_mean(token.value, ("probe", "global", "private", "function"))
        or "statements belong into 'probe … { }' or 'function … { }'"
    )


def _in_globals(stumble: Stumble, token: Token) -> str:
    """Look at what was found behind the name of a global."""
    name = stumble.before
    if name is None or not stumble.is_on_line_of(name):
        return ""
    if token.type == "COLON":
        return f"a global has the type of its values: global {name.value}"
    if token.type != "IDENT":
        return ""
    if name.value in C_TYPES:
        return f"globals have no type declaration: global {token.value}"
    if stumble.kind(-1) == "PRIVATE":
        near = did_you_mean(name.value, ("global", "function"))
        if near:
            return near
    return f"a ',' is missing before '{token.value}'"


def _of_c(stumble: Stumble, token: Token) -> str:
    words = [one.value for one in stumble.feed.tokens[max(0, stumble.at - 2) : stumble.at + 1]]
    return type_hint(words, token.value)


def _colon(stumble: Stumble, token: Token) -> str:
    """Look at a ':' that a switch, a label or the body of another language brings along."""
    if token.type != "COLON":
        return ""
    if stumble.in_head("FOR"):
        return "foreach (key in array) walks over an array"
    if stumble.kind(2) == "ASSIGN":
        return "'=' gives a value"
    case = stumble.case()
    if case is not None:
        return statement_hint(case.value)
    head = stumble.before if stumble.kind(0) == "ELSE" else stumble.head_before()
    if head is not None and head.type in ("ELSE", "IF", "WHILE", "FOR", "FOREACH"):
        return "leave the ':' out: a statement follows, or several in braces"
    if stumble.kind(0) == "IDENT" and stumble.kind(-1) in ("SEMI", "LBRACE", "RBRACE"):
        return "there are no labels: " + statement_hint("goto").partition(": ")[2]
    return ""


def _keyword(stumble: Stumble, token: Token) -> str:
    if token.type == "ELSE":
        return "the 'if' before it has ended already; a ';' too many?"
    if token.type == "CATCH":
        return "'catch' follows the block of a 'try': try { … } catch { … }"
    if token.type in DECLARATIONS and stumble.opened:
        return f"a '{_CLOSING[stumble.opened[-1].type]}' is missing before this declaration"
    if token.type in ("LONG", "STRING_TYPE"):
        return _type(stumble, token)
    return ""


def _type(stumble: Stumble, token: Token) -> str:
    """Look at a type that stands before a name, as in C."""
    if stumble.kind(0) == "GLOBAL" or stumble.kind(-1) == "GLOBAL":
        return f"globals have no type declaration: leave out '{token.value}'"
    if stumble.kind(0) == "FUNCTION" or stumble.in_parameters():
        return f"a type stands behind its name: NAME:{token.value}"
    if stumble.in_head("FOR") or "WHILE" in stumble.kinds:
        return statement_hint(token.value)
    return ""


def _junk(stumble: Stumble, token: Token) -> str:
    if token.type != "JUNK":
        return ""
    if token.value == "'":
        return "strings stand in double quotes"
    if token.value in _CURLY:
        return f"strings stand in straight double quotes, not in {token.value}"
    if token.value == "@" and "IDENT" in stumble.kinds:
        return "variables have no '@', and arrays have names: 'global x', then 'x[key] <<< 1'"
    return ""


def _operators(stumble: Stumble, token: Token) -> str:
    if (stumble.kind(0), token.type) in _JOINED:
        return _JOINED[stumble.kind(0), token.type]
    if stumble.kinds == {"PLUS", "MINUS"} and stumble.kind(0) == "AT_STAT":
        word = stumble.before.value if stumble.before is not None else ""
        return f"write {word}- for the largest first, {word}+ for the smallest"
    if token.value == "not" and stumble.kind(2) == "IN":
        return "write !(key in array)"
    if token.type == "IDENT" and "LAND" in stumble.kinds:
        found = operator_hint(token.value)
        if found:
            return found
    before = stumble.before
    if before is not None and before.type == "IDENT" and token.type in _VALUES | {"IN"}:
        return operator_hint(before.value)
    return ""


def _surplus(stumble: Stumble, token: Token) -> str:
    """Look at a bracket that closes nothing."""
    opening = {")": "LPAREN", "]": "LBRACK"}.get(token.value)
    innermost = stumble.opened[-1].type if stumble.opened else "LBRACE"
    if opening is None or innermost != "LBRACE" or token.type not in ("RPAREN", "RBRACK"):
        return ""
    return f"there is a '{token.value}' too many"


def _name(stumble: Stumble, token: Token) -> str:
    """Look at a name where something else is wanted."""
    if token.type != "IDENT":
        return ""
    kinds, before = stumble.kinds, stumble.before
    if {"STRING", "NUMBER"} <= kinds and len(kinds) <= 3:
        return f'text stands in double quotes: "{token.value}"'
    if before is not None and before.value in C_TYPES:
        of_c = f"{before.value} {token.value}"
        return f"variables have no type declaration: '{token.value}', not '{of_c}'"
    if kinds == {"LONG", "STRING_TYPE"} and (found := type_name_hint(token.value)):
        return found
    words = [_WORD[kind] for kind in kinds if kind in _WORD]
    return did_you_mean(token.value, words) if words and len(words) < 8 else ""


def _comma(stumble: Stumble, token: Token) -> str:
    """Look at a value or a name behind another one, where arguments, keys or parameters stand."""
    before = stumble.before
    if token.type == "COMMA" and stumble.in_head("FOREACH"):
        return "several keys stand in brackets: foreach ([a, b] in array)"
    if token.type not in _VALUES and not token.type.startswith("AT_"):
        return ""
    if before is None or "COMMA" not in stumble.kinds or not stumble.opened:
        return ""
    if stumble.opened[-1].type not in ("LPAREN", "LBRACK"):
        return ""
    if stumble.in_head("FOREACH"):
        return "foreach (key in array) walks over an array"
    missing = "','" if stumble.is_on_line_of(before) else "',' or a closing bracket"
    shown = "a text" if token.type == "STRING" else f"'{token.value}'"
    return f"a {missing} is missing before {shown}"


def _parentheses(stumble: Stumble, token: Token) -> str:
    """Look at a word that parentheses must follow."""
    before = stumble.before
    if before is None or "LPAREN" not in stumble.kinds:
        return ""
    if before.type in PRINTERS.values():
        return f"what is printed stands in parentheses: {before.value}(…)"
    return _IN_PARENTHESES.get(before.type, "")


def _near(stumble: Stumble, token: Token) -> str:
    """Look for a mistyped keyword before the place."""
    before = stumble.before
    if token.type == "LBRACE" and before is not None and stumble.declares(before):
        return f"a function has a list of parameters, also an empty one: {before.value}()"
    if token.type == "SEMI" and stumble.in_call() and (head := stumble.head()) is not None:
        return did_you_mean(head.value, ("for",))
    if before is not None and before.type == "IDENT":
        # `foreech (…)`: a call followed by something that can follow no call
        return did_you_mean(before.value, (*STATEMENTS, *PRINTERS))
    if before is not None and before.type == "RPAREN":
        called = stumble.called_before()
        return did_you_mean(called, STATEMENTS) if called else ""
    return ""


_ADVICE: tuple[Advice, ...] = (
    _at_top,
    _of_c,
    _colon,
    _keyword,
    _junk,
    _operators,
    _surplus,
    _name,
    _comma,
    _parentheses,
    _near,
)
