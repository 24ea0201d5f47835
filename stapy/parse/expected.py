"""What to say at a syntax error: what was found, what could stand there instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.diagnostics import Label
from stapy.parse.hints import STATEMENTS, hint_at
from stapy.parse.landmarks import DECLARATIONS
from stapy.parse.tokens import ASSIGNMENTS, AT_WORDS, KEYWORDS, OPERATORS, PRINTERS, Token

if TYPE_CHECKING:
    from stapy.parse.actions import GrammarActions
    from stapy.parse.stumble import Stumble

_TOP = "expected 'probe', 'global', 'private', 'function', or '%{'"
_SPELLING = {kind: word for word, kind in OPERATORS.items()}
_WORD = {kind: word for word, kind in KEYWORDS.items()}

# Kinds of which only the whole group is worth a word.
_INFIX = frozenset(
    [
        "STAR",
        "SLASH",
        "PERCENT",
        "PLUS",
        "MINUS",
        "DOT",
        "LSHIFT",
        "RSHIFT",
        "LT",
        "GT",
        "LE",
        "GE",
        "EQ",
        "NE",
        "AMP",
        "CARET",
        "PIPE",
        "LAND",
        "LOR",
        "MATCH",
        "NOMATCH",
        "IN",
        *ASSIGNMENTS,
        "QUESTION",
        "INCR",
        "DECR",
        "ARROW",
        "LBRACK",
        "DOLLARS",
        "LPAREN",
    ]
)


class Expectation:
    """Explains one syntax error from the row of the table that had no entry for the token."""

    def __init__(self, actions: GrammarActions, stumble: Stumble) -> None:
        self.actions = actions
        self.stumble = stumble
        self.feed, self.kinds = stumble.feed, stumble.kinds
        self.token, self.before, self.at = stumble.token, stumble.before, stumble.at
        self.opened = stumble.opened

    def report(self) -> None:
        """Add the message."""
        token = self.token
        comma = self._comma_before_body()
        if comma is not None:
            self.actions.error(
                "E0105",
                "expected a probe point behind ','",
                comma.span,
                "the body follows, not a point",
                hint="leave the ',' out, or name another point",
            )
            return
        if token is not None and self._is_second_comma():
            self.actions.error(
                "E0105",
                "expected a probe point behind ','",
                token.span,
                "a probe point is expected here",
                hint="leave one ',' out, or name another point between them",
            )
            return
        message, code = self._message()
        if token is None:
            span = self.feed.end
            where = "the text ends here"
        else:
            span = token.span
            where = f"found {token.describe()}"
            if token.type in KEYWORDS.values() and message == "expected identifier":
                where += ", which is a reserved word"
        hint = hint_at(self.stumble)
        self.actions.error(code, message, span, where, labels=self._labels(), hint=hint)

    # --- the message --------------------------------------------------------

    def _message(self) -> tuple[str, str]:
        kinds, token, before = self.kinds, self.token, self.before
        if self.stumble.is_at_top():
            return _TOP, "E0109"
        if token is None and before is not None and before.type in ("PROBE", "COMMA", "GLOBAL"):
            return "unexpected end-of-file", "E0105"
        if self.stumble.in_head("FOREACH"):
            special = self._foreach()
            if special:
                return special, "E0105"
        is_statement = {"IF", "WHILE", "RETURN"} <= kinds and "ARROW" not in kinds
        if is_statement and not self.stumble.is_member():
            return self._statement(), "E0105"
        if kinds & {"RPAREN", "RBRACK", "COMMA", "COLON", "SEMI"} and kinds & {"PLUS", "LAND"}:
            return self._after_value(), "E0105"
        return "expected " + self._names(), "E0105"

    def _comma_before_body(self) -> Token | None:
        """Find the ',' of a probe's points that the body follows; None for other mistakes.

        Behind a comma '{' begins a group of points, so the grammar stumbles over something in the
        body that no group has, or over what is behind it.
        """
        tokens = self.feed.tokens
        found = self.feed.landmarks().brace_behind_comma(min(self.at, len(tokens) - 1))
        if found is None:
            return None
        brace, is_closed = found
        is_body = is_closed or self._is_no_group(brace)
        return tokens[brace - 1] if is_body and self._heads_probe(brace - 1) else None

    def _is_second_comma(self) -> bool:
        """Tell whether a ',' was found directly behind one between a probe's points."""
        token, before = self.token, self.before
        if token is None or before is None or (token.type, before.type) != ("COMMA", "COMMA"):
            return False
        return self._heads_probe(self.at)

    def _is_no_group(self, brace: int) -> bool:
        """Tell whether what was found behind a '{' is nothing that a group of points has."""
        token, before = self.token, self.before
        if token is None or before is None:
            return False
        if token.type in _OF_STATEMENTS or token.type in ASSIGNMENTS:
            return True
        if self.at == brace:
            return token.type != "COMMA"
        if token.type == "RPAREN" and before.type == "LPAREN":
            return True  # exit(): what a point takes is never empty
        # println(x), if (x): no point begins with such a word and takes anything
        return self.feed.tokens[brace + 1].value in (*PRINTERS, *STATEMENTS)

    def _heads_probe(self, comma: int) -> bool:
        """Tell whether a ',' stands between the points of a probe, outside of any brace."""
        return self.feed.landmarks().is_in_points(comma)

    def _statement(self) -> str:
        token = self.token
        if token is None or token.type in KEYWORDS.values():
            return "expected statement"
        return "expected literal string or number"

    def _foreach(self) -> str:
        kinds, token = self.kinds, self.token
        if kinds == {"PLUS", "MINUS"}:
            return "expected sort directive"
        if token is not None and token.type.startswith("AT_") and {"AT_STAT", "LIMIT"} <= kinds:
            return "expected statistical operation"
        if "IN" in kinds and "LAND" not in kinds:
            return "expected 'in'"
        return ""

    def _after_value(self) -> str:
        """Say what may follow an expression: of all followers, what the open bracket waits for."""
        kinds = self.kinds
        opening = self.opened[-1].type if self.opened else ""
        if opening == "LPAREN":
            if self.stumble.in_head("FOR"):
                return "expected ';'" if self._semicolons() < 2 else "expected ')'"
            plain = any(self.stumble.in_head(word) for word in ("IF", "WHILE", "FOREACH", "SWITCH"))
            wanted = [")"] if plain or not self.stumble.in_call() else [")", ","]
            if "RPAREN" not in kinds and "COMMA" in kinds:
                wanted = [","]
            if "COMMA" not in kinds:
                wanted = [")"]
        elif opening == "LBRACK":
            wanted = ["]", ","] if "COMMA" in kinds else ["]"]
        elif self._open_ternary():
            wanted = [":"]
        else:
            return self._statement()
        return "expected " + _one_of(wanted)

    def _semicolons(self) -> int:
        tokens = self.feed.tokens
        count = 0
        for index in range(min(self.at, len(tokens) - 1), 0, -1):
            if tokens[index] is self.opened[-1]:
                break
            count += tokens[index].type == "SEMI"
        return count

    def _open_ternary(self) -> bool:
        last = min(self.at, len(self.feed.tokens) - 1)
        return self.feed.landmarks().is_ternary_open(last)

    def _names(self) -> str:
        kinds = self.kinds
        if "COMPONENT" in kinds:
            return "identifier or '*' or '{'"
        if {"STRING", "NUMBER"} <= kinds:
            return "literal string or number"
        if kinds == {"STRING"}:
            return "literal string"
        if "NUMBER" in kinds and len(kinds) <= 2:
            # The order among overloads may be left out, its colon not be followed by a type.
            return "number"
        if {"LONG", "STRING_TYPE"} == kinds:
            return "'string' or 'long'"
        if "IDENT" in kinds and not kinds & {"LPAREN", "PLUS"}:
            if "FUNCTION" in kinds and "PROBE" not in kinds:
                return "'function' or identifier"
            return "identifier"
        if "QUESTION" in kinds and kinds & {"DOT", "LBRACE"}:
            return "one of '. , ( ? ! { = +='"
        if {"COMMA", "LBRACE", "ASSIGN"} <= kinds:
            return "one of ', { } = +='"
        if kinds & {"LPAREN", "LBRACE"}:
            kinds = kinds - {"COLON"}
        names = [self._spell(kind) for kind in kinds - _HIDDEN]
        names = sorted(name for name in names if name)
        if not names and "SEMI" in kinds:
            return "';'"
        return _one_of(names) if names else "something else"

    @staticmethod
    def _spell(kind: str) -> str:
        return _SPELLING.get(kind) or _WORD.get(kind) or ""

    # --- labels and hint ------------------------------------------------------

    def _labels(self) -> list[Label]:
        """Mark where the bracket that is not closed was opened."""
        if self.token is None:
            return [
                Label(opening.span, f"this '{opening.value}' is not closed")
                for opening in self.opened
            ]
        if self.opened and self.opened[-1].type != "LBRACE":
            inner = self.opened[-1]
            return [Label(inner.span, f"this '{inner.value}' is still open")]
        if self.token.type in DECLARATIONS and self.opened:
            return [Label(self.opened[-1].span, "this '{' is not closed")]
        return []


_OF_STATEMENTS = frozenset(["SEMI", "ARROW", "INCR", "DECR", "LBRACK", *KEYWORDS.values()])
_HIDDEN = (
    frozenset(AT_WORDS.values())
    | frozenset(PRINTERS.values())
    | (_INFIX - {"ASSIGN", "IN", "LPAREN", "LBRACK"})
    | {"SEMI"}
)


def _one_of(words: list[str]) -> str:
    if len(words) == 1:
        return f"'{words[0]}'"
    return "one of '" + " ".join(words) + "'"
