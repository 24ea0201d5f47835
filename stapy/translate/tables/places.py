"""The places that run-time errors name: ``operator '/' at <input>:1:30``."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from stapy.diagnostics import SourceMap, Span
from stapy.ir import program as p
from stapy.translate.c.text import identifier

_TOKEN = re.compile(
    r'(?P<string>"(?:[^"\\]|\\.)*"?)'
    r"|(?P<operator>@[A-Za-z_]\w*)"
    r"|(?P<identifier>[A-Za-z_$][\w$]*)"
    r"|(?P<number>\d\w*)"
    r"|(?P<embedded>%\{)"
    r"|(?P<op><<<|<<=|>>=|&&|\|\||<<|>>|[-+*/%&|^.=!<>]=|\+\+|--|->|=~|!~|.)",
    re.S,
)
_SKIP = re.compile(r"(?:\s+|#[^\n]*|//[^\n]*|/\*.*?\*/|[()])*", re.S)
_KEYWORDS = frozenset(  # a text is the readable form
    """
    probe global function if else for foreach in return delete while break continue next try
    catch limit private
    """.split()  # noqa: SIM905
)


class PlaceTable:
    """Names for the places of one module, and their texts in the order of first use."""

    def __init__(self, sources: SourceMap) -> None:
        self._sources = sources
        self._names: dict[str, str] = {}
        self._taken: set[str] = set()

    def of(self, span: Span) -> str:
        """Name in C the place where a span starts."""
        return self._at(span.source, span.start)

    def of_operator(self, left: Span, right: Span, whole: Span) -> str:
        """Name in C the place of the operator between two operands."""
        source = self._sources.source(left)
        if source is None or right.source != left.source:
            return self.of(whole)
        match = _SKIP.match(source.text, left.end)
        start = match.end() if match else left.end
        return self._at(left.source, start) if start < right.start else self.of(whole)

    def rows(self) -> list[dict[str, str]]:
        """List ``name`` and ``text`` of every place used so far."""
        return [{"name": name, "text": text} for text, name in self._names.items()]

    def where(self, span: Span) -> str:
        """Format where a span starts as ``file:line:column``."""
        file, line, column = self._sources.place(span)
        return f"{file}:{line}:{column}"

    def _at(self, number: int, start: int) -> str:
        span = self._sources.used(Span(number, start, start + 1))
        source, start = self._sources.source(span), span.start
        if source is None:
            return "NULL"
        file, line, column = self._sources.place(span)
        text = f"{token_text(source.text, start)} at {file}:{line}:{column}"
        name = self._names.get(text)
        if name is None:
            stem = identifier(PurePosixPath(file).stem) + "_" if source.is_library else ""
            base = name = f"at_{stem}{line}_{column}"
            count = 2
            while name in self._taken:
                name = f"{base}_{count}"
                count += 1
            self._taken.add(name)
            self._names[text] = name
        return name


def token_text(text: str, start: int) -> str:
    """Describe the token at an offset by its kind and text, as ``identifier 'x'``."""
    match = _TOKEN.match(text, start)
    if match is None:
        return "end of file"
    word = match.group()
    if match.lastgroup == "identifier":
        return "keyword" if word in _KEYWORDS else f"identifier '{word}'"
    if match.lastgroup == "string":
        return "string " + " ".join(word.split())[:60]
    if match.lastgroup == "embedded":
        return "embedded code"
    return f"{'number' if match.lastgroup == 'number' else 'operator'} '{word}'"


def hint_of(expr: p.Expr, sources: SourceMap, default: str) -> str:
    """Find a word for a temporary that holds an expression: the last name in its text."""
    text = sources.text(expr.span)[:200]
    words = re.findall(r"[A-Za-z_]\w*", re.sub(r'"[^"]*"|\([^()]*\)|\[[^\[\]]*\]', "", text))
    return words[-1].lower() if words else default
