"""Parts of a program that are known to be wrong, but may still turn out to be unused.

SystemTap drops unused code before it complains: an alias may set twenty
variables from parameters that this kernel does not have, as long as nobody
reads them.  So what cannot be resolved becomes a `Pending` value with its
message; those that survive the optimiser are reported.
"""

from __future__ import annotations

from typing import Any

from stapy.diagnostics import Diagnostic, Diagnostics
from stapy.elaborate import program as p
from stapy.elaborate.program import Expr
from stapy.elaborate.walk import transform


class Pending(Expr):
    """A value that could not be resolved, why, and for which probe point."""

    diagnostic: Diagnostic
    point: str = ""


def skip(tree: Any, diagnostics: Diagnostics) -> Any:
    """``--skip-badvars``: what is missing is 0, and is not written; warnings tell."""

    def change(node: Any) -> Any:
        if isinstance(node, Pending) and node.diagnostic.code.startswith("E024"):
            item = node.diagnostic
            hint = "the value is taken as 0"
            diagnostics.warning("W0640", item.message, item.span, where=item.where, hint=hint)
            return p.Const(node.span, p.LONG, 0)
        if isinstance(node, (p.AssignOp, p.IncrementOp)) and isinstance(node.target, p.Const):
            return node.value if isinstance(node, p.AssignOp) else node.target
        return node

    return transform(tree, change)
