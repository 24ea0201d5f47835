"""Parts of a program that are known to be wrong, but may still turn out to be unused.

SystemTap drops unused code before it complains: an alias may set twenty
variables from parameters that this kernel does not have, as long as nobody
reads them.  So what cannot be resolved becomes a `Pending` value with its
message; those that survive the optimiser are reported.
"""

from __future__ import annotations

from stapy.diagnostics import Diagnostic
from stapy.elaborate.program import Expr


class Pending(Expr):
    """A value that could not be resolved, and why."""

    diagnostic: Diagnostic
