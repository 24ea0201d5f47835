"""A name that stands alone as a statement: a word that other languages have, or a mistyped one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.diagnostics.foreign_words import statement_hint
from stapy.diagnostics.habits import variable_hint
from stapy.diagnostics.suggest import did_you_mean
from stapy.elaborate.analyse.check import unassigned

if TYPE_CHECKING:
    from stapy.ir import program as p

_KEYWORDS = ("else", "return", "delete", "next", "break", "continue", "try")
_SHORTEST = 3  # of names that may be a keyword with a wrong letter


def word_hint(ref: p.LocalRef, body: p.Stmt, function: p.Function | None) -> str:
    """Tell what the language has for such a word; "" where it is, or may be, a variable.

    SystemTap drops the name and runs what follows, as ``S`` in ``if (c) then S``.
    """
    params = function.params if function is not None else []
    if any(param.name == ref.name for param in params) or not unassigned(body, {ref.name}):
        return ""
    near = did_you_mean(ref.name, _KEYWORDS) if len(ref.name) >= _SHORTEST else ""
    return statement_hint(ref.name) or variable_hint(ref.name) or near
