"""Tokens: the words of a script, with the place that each came from."""

from __future__ import annotations

from stapy.diagnostics import Span

KEYWORDS = {
    "probe": "PROBE",
    "global": "GLOBAL",
    "private": "PRIVATE",
    "function": "FUNCTION",
    "if": "IF",
    "else": "ELSE",
    "for": "FOR",
    "foreach": "FOREACH",
    "in": "IN",
    "limit": "LIMIT",
    "return": "RETURN",
    "delete": "DELETE",
    "while": "WHILE",
    "break": "BREAK",
    "continue": "CONTINUE",
    "next": "NEXT",
    "string": "STRING_TYPE",
    "long": "LONG",
    "try": "TRY",
    "catch": "CATCH",
}

PRINTERS = {
    "print": "PRINT",
    "print_char": "PRINT",
    "println": "PRINT",
    "sprint": "PRINT",
    "sprintln": "PRINT",
    "printd": "PRINTD",
    "printdln": "PRINTD",
    "sprintd": "PRINTD",
    "sprintdln": "PRINTD",
    "printf": "PRINTF",
    "sprintf": "PRINTF",
}

# Operators that begin with an at sign; every other such word is a macro.
AT_WORDS = {
    "@cast": "AT_CAST",
    "@defined": "AT_DEFINED",
    "@entry": "AT_ENTRY",
    "@perf": "AT_PERF",
    "@var": "AT_VAR",
    "@probewrite": "AT_PROBEWRITE",
    "@const": "AT_CONST",
    "@enum": "AT_ENUM",
    "@enumname": "AT_ENUMNAME",
    "@kregister": "AT_REGISTER",
    "@uregister": "AT_REGISTER",
    "@kderef": "AT_DEREF",
    "@uderef": "AT_DEREF",
    "@count": "AT_STAT",
    "@sum": "AT_STAT",
    "@min": "AT_STAT",
    "@max": "AT_STAT",
    "@avg": "AT_STAT",
    "@variance": "AT_STAT",
    "@hist_log": "AT_HIST_LOG",
    "@hist_linear": "AT_HIST_LINEAR",
    "@define": "DEFINE",
}

OPERATORS = {
    "<<<": "STATSET",
    "<<=": "LSHIFTSET",
    ">>=": "RSHIFTSET",
    "<<": "LSHIFT",
    ">>": "RSHIFT",
    "<=": "LE",
    ">=": "GE",
    "==": "EQ",
    "!=": "NE",
    "=~": "MATCH",
    "!~": "NOMATCH",
    "&&": "LAND",
    "||": "LOR",
    "++": "INCR",
    "--": "DECR",
    "+=": "PLUSSET",
    "-=": "MINUSSET",
    "*=": "TIMESSET",
    "/=": "DIVSET",
    "%=": "MODSET",
    "&=": "ANDSET",
    "^=": "XORSET",
    "|=": "ORSET",
    ".=": "CATSET",
    "->": "ARROW",
    "=": "ASSIGN",
    "<": "LT",
    ">": "GT",
    "+": "PLUS",
    "-": "MINUS",
    "*": "STAR",
    "/": "SLASH",
    "%": "PERCENT",
    "&": "AMP",
    "|": "PIPE",
    "^": "CARET",
    "~": "TILDE",
    "!": "NOT",
    "?": "QUESTION",
    ":": "COLON",
    ";": "SEMI",
    ",": "COMMA",
    ".": "DOT",
    "(": "LPAREN",
    ")": "RPAREN",
    "[": "LBRACK",
    "]": "RBRACK",
    "{": "LBRACE",
    "}": "RBRACE",
}
# Operators that change what is left of them.
ASSIGNMENTS = tuple(kind for kind in OPERATORS.values() if kind == "ASSIGN" or kind.endswith("SET"))

# Marks of the preprocessor; none of them reaches the grammar.
MARKS = {"%(": "PP_IF", "%?": "PP_THEN", "%:": "PP_ELSE", "%)": "PP_END"}

# Words that may stand after "->" or in a probe point although they mean something elsewhere.
WORDS = {"IDENT", "PRINT", "PRINTD", "PRINTF", *KEYWORDS.values()}

# Token types that the grammar knows (the lexer makes some more for the preprocessor).
GRAMMAR_TOKENS = sorted(
    {"IDENT", "NUMBER", "STRING", "TARGET", "DOLLARS", "EMBED", "COMPONENT"}
    | set(KEYWORDS.values())
    | set(PRINTERS.values())
    | (set(AT_WORDS.values()) - {"DEFINE"})
    | set(OPERATORS.values())
)


class Token:
    """One word: ``value`` is the decoded text (for strings) or the text as written."""

    # PLY's engine sets `lexer` on the token of a syntax error.
    __slots__ = ("end", "lexer", "source", "start", "type", "value")

    def __init__(self, type: str, value: str, source: int, start: int, end: int) -> None:
        self.type = type
        self.value = value
        self.source = source
        self.start = start
        self.end = end

    @property
    def span(self) -> Span:
        """Where the word stands."""
        return Span(self.source, self.start, self.end)

    def moved(self, source: int) -> Token:
        """Make this word one of another source with the same text (a macro's expansion)."""
        return Token(self.type, self.value, source, self.start, self.end)

    def describe(self) -> str:
        """Describe a word as messages do: ``keyword 'else'``, ``operator ')'``."""
        kind = self.type
        if kind in ("IDENT", "TARGET", "DOLLARS", "PRINT", "PRINTD", "PRINTF", "COMPONENT"):
            return f"identifier '{self.value}'"
        if kind == "NUMBER":
            return f"number '{self.value}'"
        if kind == "STRING":
            shown = self.value if len(self.value) <= 24 else self.value[:21] + "…"
            return f'string "{shown}"'
        if kind == "EMBED":
            return "embedded-code"
        if kind in KEYWORDS.values():
            return f"keyword '{self.value}'"
        return f"operator '{self.value}'"

    def __repr__(self) -> str:
        return f"{self.type}({self.value!r})"
