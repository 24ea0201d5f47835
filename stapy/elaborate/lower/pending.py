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
    """Tell of mistakes that do not count, because what they are in is left out."""
    for item in errors:
        diagnostics.warning(
            "W0613",
            item.message,
            item.span,
            where=item.where,
            labels=item.labels,
            notes=["this code has no effect and is left out"],
            hint="with -u nothing is left out, and this is an error",
        )
