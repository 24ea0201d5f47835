"""A name that stands alone as a statement: a word that other languages have, or a mistyped one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.diagnostics.foreign_words import statement_hint
from stapy.diagnostics.habits import variable_hint
from stapy.diagnostics.suggest import did_you_mean
from stapy.elaborate.analyse.check import assigned_names

if TYPE_CHECKING:
    from stapy.ir import program as p

_KEYWORDS = ("else", "return", "delete", "next", "break", "continue", "try")
_SHORTEST = 3  # of names that may be a keyword with a wrong letter


class LoneWords:
    """The words of one body; ``function`` is the one whose body it is."""

    def __init__(self, body: p.Stmt, function: p.Function | None) -> None:
        self._body = body
        self._params = {param.name for param in function.params} if function is not None else set()
        self._variables: set[str] | None = None

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
