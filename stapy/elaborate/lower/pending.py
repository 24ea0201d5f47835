"""Parts of a program that are known to be wrong, but may still turn out to be unused.

SystemTap drops unused code before it complains: an alias may set twenty
variables from parameters that this kernel does not have, as long as nobody
reads them.  So what cannot be resolved becomes a `Pending` value with its
message; those that survive the optimiser are reported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.diagnostics import Diagnostic, Diagnostics
from stapy.ir.program import Expr
from stapy.record import new

if TYPE_CHECKING:
    from collections.abc import Callable


# An assignment, an expression and a probe that were left out.
_LEFT_OUT = frozenset({"W0602", "W0604", "W0606"})


class Pending(Expr):
    """A value that could not be resolved, why, and for which probe point.

    Most are never shown, so what costs time, such as similar names, belongs into
    ``explain``: it is called with the message before it is shown.  ``of`` is what
    would have been read for it, which so is no unused value; ``reads`` are more of these.
    """

    diagnostic: Diagnostic
    point: str = ""
    explain: Callable[[Diagnostic], None] | None = None
    of: Expr | None = None
    reads: list[Expr] = new(list)


def warn_of(errors: list[Diagnostic], diagnostics: Diagnostics) -> None:
    """Tell of mistakes that do not count, because what they are in is left out.

    They come before the warnings that it was left out, for that is what follows from them.
    """
    before = len(diagnostics.items)
    for item in errors:
        diagnostics.warning(
            "W0613",
            item.message,
            item.span,
            where=item.where,
            labels=item.labels,
            notes=["this code has no effect and is left out"],
            hint=item.hint or "with -u nothing is left out, and this is an error",
        )
    mistakes = diagnostics.items[before:]
    del diagnostics.items[before:]
    for mistake in mistakes:
        diagnostics.items.insert(_first_about(mistake, diagnostics.items), mistake)


def _first_about(mistake: Diagnostic, items: list[Diagnostic]) -> int:
    """Find the first warning that the code of a mistake was left out, else the end."""
    place = mistake.span
    for index, item in enumerate(items):
        whole = item.span
        is_around = whole.source == place.source and whole.start <= place.start
        if item.code in _LEFT_OUT and is_around and place.end <= whole.end:
            return index
    return len(items)
