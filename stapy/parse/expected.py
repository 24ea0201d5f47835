"""What to say at a syntax error: what was found, what could stand there instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.diagnostics import Label
from stapy.parse.tokens import AT_WORDS, KEYWORDS, OPERATORS, PRINTERS, Token
from stapy.suggest import did_you_mean

if TYPE_CHECKING:
    from stapy.parse.grammar import Feed
    from stapy.parse.job import Job

_TOP = "expected 'probe', 'global', 'private', 'function', or '%{'"
_STATEMENTS = ("if", "while", "for", "foreach", "return", "delete", "next", "break", "continue",
               "try")
_BRACKETS = {"LPAREN": ")", "LBRACK": "]", "LBRACE": "}"}
_SPELLING = {kind: word for word, kind in OPERATORS.items()}
_WORD = {kind: word for word, kind in KEYWORDS.items()}

# Kinds of which only the whole group is worth a word.
_INFIX = frozenset(
    "STAR SLASH PERCENT PLUS MINUS DOT LSHIFT RSHIFT LT GT LE GE EQ NE AMP CARET PIPE LAND LOR "
    "MATCH NOMATCH IN ASSIGN STATSET PLUSSET MINUSSET TIMESSET DIVSET MODSET LSHIFTSET RSHIFTSET "
    "ANDSET XORSET ORSET CATSET QUESTION INCR DECR ARROW LBRACK DOLLARS LPAREN".split()
)


class Expectation:
    """Explains one syntax error from the row of the table that had no entry for the token."""

    def __init__(
        self, job: Job, feed: Feed, table: dict[str, int], token: Token | None
    ) -> None:
        self.job = job
        self.feed = feed
        self.kinds = set(table) - {"error", "$end"}
        self.ends = "$end" in table
        self.token = token

    def report(self) -> None:
        """Add the message."""
        token = self.token
        before = self._before()
        message, code = self._message(before)
        if token is None:
            span = self.feed.end
            where = "the text ends here"
        else:
            span = token.span
            where = f"found {token.describe()}"
            if token.type in KEYWORDS.values() and before is not None and (
                "IDENT" in self.kinds or "expected identifier" in message
            ):
                where += ", which is a reserved word"
        self.job.error(code, message, span, where, labels=self._labels(), hint=self._hint(before))

    def _before(self) -> Token | None:
        """The token before the wrong one."""
        at = self.feed.at - (2 if self.token is not None else 1)
        return self.feed.tokens[at] if 0 <= at < len(self.feed.tokens) else None

    def _message(self, before: Token | None) -> tuple[str, str]:
        kinds, token = self.kinds, self.token
        if "PROBE" in kinds and "GLOBAL" in kinds and "ARROW" not in kinds and (
            before is None or before.type != "ARROW"
        ):
            return _TOP, "E0109"
        if token is None and before is not None and before.type in ("PROBE", "COMMA", "GLOBAL"):
            return "unexpected end-of-file", "E0105"
        if {"IF", "WHILE", "RETURN"} <= kinds and not kinds & {"ARROW"}:
            if token is None or token.type in KEYWORDS.values():
                return "expected statement", "E0105"
            return "expected literal string or number", "E0105"
        if kinds & {"RPAREN", "RBRACK", "COMMA", "COLON"} and kinds & {"PLUS", "LAND"}:
            closers = [_SPELLING[k] for k in ("RPAREN", "RBRACK", "COMMA", "COLON") if k in kinds]
            # A rule that ends here shows every follower; the open bracket knows which one is due.
            due = self._due()
            if due:
                closers = [c for c in closers if c in (due, ",")]
                if due == ")" and self._is_condition():
                    closers = [")"]
                if due == "?":
                    closers = [":"]
            return "expected " + _one_of(closers), "E0105"
        return "expected " + self._names(), "E0105"

    def _due(self) -> str:
        """The closing bracket that is waited for, "?" inside a conditional expression."""
        opening = self.feed.open[-1] if self.feed.open else None
        if opening is None:
            return ""
        return _BRACKETS[opening.type] if opening.type != "LBRACE" else "?"

    def _is_condition(self) -> bool:
        opening = self.feed.open[-1]
        index = self.feed.tokens.index(opening)
        return index > 0 and self.feed.tokens[index - 1].type in ("IF", "WHILE", "FOREACH")

    def _names(self) -> str:
        kinds = self.kinds
        if "COMPONENT" in kinds:
            return "identifier or '*' or '{'"
        if {"STRING", "NUMBER"} <= kinds:
            return "literal string or number"
        if kinds == {"STRING"}:
            return "literal string"
        if "NUMBER" in kinds and len(kinds) <= 2:
            return "number"
        if {"LONG", "STRING_TYPE"} == kinds:
            return "'string' or 'long'"
        if "IDENT" in kinds and not kinds & {"LPAREN", "PLUS"}:
            if "FUNCTION" in kinds and "PROBE" not in kinds:
                return "'function' or identifier"
            return "identifier"
        if {"DOT", "LBRACE"} & kinds and "QUESTION" in kinds:
            return "one of '. , ( ? ! { = +='"
        names = [self._spell(kind) for kind in kinds - _HIDDEN]
        names = sorted(name for name in names if name)
        return _one_of(names) if names else "something else"

    @staticmethod
    def _spell(kind: str) -> str:
        return _SPELLING.get(kind) or _WORD.get(kind) or ""

    def _labels(self) -> list[Label]:
        """Where the bracket that is not closed was opened."""
        token, opened = self.token, self.feed.open
        if token is None:
            return [
                Label(opening.span, f"this '{opening.value}' is not closed") for opening in opened
            ]
        if not opened or token.type == "LBRACE" and opened[-1] is token:
            opened = opened[:-1] if opened else []
        inner = [opening for opening in opened if opening is not token]
        if inner and inner[-1].type != "LBRACE":
            return [Label(inner[-1].span, f"this '{inner[-1].value}' is still open")]
        return []

    def _hint(self, before: Token | None) -> str:
        token, kinds = self.token, self.kinds
        if token is None:
            count = len(self.feed.open)
            if not count:
                return ""
            closing = "".join(_BRACKETS[opening.type] for opening in reversed(self.feed.open))
            return f"add '{closing}'"
        if "PROBE" in kinds and "GLOBAL" in kinds and token.type == "IDENT":
            return did_you_mean(
                token.value, ("probe", "global", "private", "function")
            ) or "statements belong into 'probe … { }' or 'function … { }'"
        if token.type == "ELSE":
            return "the 'if' before it has ended already; a ';' too many?"
        if token.type == "ASSIGN" and before is not None and before.type == "ASSIGN":
            return "did you mean '=='?"
        if token.type == "JUNK" and token.value == "'":
            return "strings stand in double quotes"
        if token.type in ("PP_THEN", "PP_ELSE"):
            return ""
        if token.type == "IDENT" and kinds & {"CATCH", "IN", "ELSE"} and len(kinds) < 8:
            words = [_WORD[kind] for kind in kinds if kind in _WORD]
            return did_you_mean(token.value, words)
        if before is not None and before.type == "IDENT":
            # `iff (x) {`, `foreech (…) {`: a call followed by something that follows no call
            return did_you_mean(before.value, (*_STATEMENTS, *PRINTERS))
        if token.type in KEYWORDS.values() and "IDENT" in kinds and "PLUS" not in kinds:
            return f"'{token.value}' is a word of the language; use another name"
        if token.type in _DECLARATION_WORDS and self.feed.blocks():
            return "a '}' is missing before this declaration"
        return ""


_DECLARATION_WORDS = frozenset({"PROBE", "FUNCTION", "GLOBAL", "PRIVATE"})
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
