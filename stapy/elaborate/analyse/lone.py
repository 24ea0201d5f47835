"""A name that stands alone as a statement: a word that other languages have, or a mistyped one."""

from __future__ import annotations

from stapy.diagnostics import NOWHERE, SourceMap, Span
from stapy.diagnostics.foreign_words import names_something, statement_hint
from stapy.diagnostics.habits import variable_hint
from stapy.diagnostics.suggest import did_you_mean
from stapy.elaborate.analyse.check import assigned_names
from stapy.ir import program as p

_KEYWORDS = ("else", "return", "delete", "next", "break", "continue", "try")
_SHORTEST = 3  # of names that may be a keyword with a wrong letter


class LoneWords:
    """The words of one body; ``function`` is the one whose body it is."""

    def __init__(self, body: p.Stmt, function: p.Function | None) -> None:
        self._body = body
        self._params = {param.name for param in function.params} if function is not None else set()
        self._variables: set[str] | None = None
        self._opens = NOWHERE  # the last word that has a name behind it elsewhere

    def look_at(self, node: p.Expr, sources: SourceMap) -> tuple[str, bool]:
        """Return the hint at a value that is dropped, and whether it only goes with the one before.

        That is the name in ``int i`` or ``goto out``: one mistake.  Words of one body come in
        their order.
        """
        if not isinstance(node, p.LocalRef):
            return "", False
        hint, is_second = self.hint(node.name), self._is_second(node.span, sources)
        if hint and names_something(node.name):
            self._opens = node.span
        return hint, is_second

    def _is_second(self, span: Span, sources: SourceMap) -> bool:
        first = self._opens
        if first.source != span.source or span.source < 0 or first.end >= span.start:
            return False
        between = sources.sources[span.source].text[first.end : span.start]
        return between.isspace() and "\n" not in between

    def hint(self, name: str) -> str:
        """Tell what the language has for such a word; "" where it is, or may be, a variable.

        SystemTap drops the name and runs what follows, as ``S`` in ``if (c) then S``.
        """
        if self._variables is None:
            self._variables = self._params | assigned_names(self._body)
        if name in self._variables:
            return ""
        near = did_you_mean(name, _KEYWORDS) if len(name) >= _SHORTEST else ""
        return statement_hint(name) or variable_hint(name) or near
