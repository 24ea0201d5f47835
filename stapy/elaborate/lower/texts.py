"""Target variables that are text: ``$value`` of files in /proc, which scripts read or set.

They have no C type behind them, so no chain, no address and no pretty printing.
The messages are SystemTap's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.elaborate.lower.casts import current_scope
from stapy.ir import program as p
from stapy.parse import nodes as n
from stapy.record import replace

if TYPE_CHECKING:
    from stapy.elaborate.lower.context import Context
    from stapy.ir.scope import TargetVariable

OPERATORS = ("=", ".=")


def read(low: Context, node: n.Target, variable: TargetVariable) -> p.Expr:
    """Lower the text of a variable; a `Pending` error where it can only be written."""
    wrong = _as_something_else(low, node)
    if wrong is not None:
        return wrong
    if not variable.readable:
        family = _family(low)
        return low.pending(
            "E0264",
            f"{family} {node.name} variable cannot be read in a {family} read probe",
            node.span,
            hint=f"collect the text in a variable of the script and set {node.name} to it",
        )
    return _value(node, variable)


def are_all(low: Context) -> bool:
    """Tell whether a text or two are all the target variables that there are."""
    scope = current_scope(low)
    return scope is not None and bool(scope.unknown)


def place(low: Context, node: n.Target, op: str) -> p.Expr | None:
    """Lower the text that an assignment sets; None (reported) when it may not be set."""
    scope = current_scope(low)
    assert scope is not None
    variable = scope.variables.get(node.name)
    if variable is None:
        return low.pending("E0241", scope.unknown, node.span)
    family = scope.module
    wrong = _as_something_else(low, node)
    if wrong is not None:
        return wrong
    if not variable.writable:
        text = f"{family} {node.name} variable is read-only in a {family} write probe"
        low.error("E0264", text, node.span)
        return None
    if op not in OPERATORS:
        allowed = ", ".join(f"'{item}'" for item in OPERATORS)
        low.error(
            "E0264",
            "Only the following assign operators are implemented on "
            f"{family} read target variables: {allowed}",
            node.span,
        )
        return None
    return _value(node, variable)


def _value(node: n.Target, variable: TargetVariable) -> p.Expr:
    assert variable.value is not None  # these variables are kept nowhere
    return replace(variable.value, span=node.span)


def _family(low: Context) -> str:
    scope = current_scope(low)
    return scope.module if scope is not None else ""


def _as_something_else(low: Context, node: n.Target) -> p.Expr | None:
    if node.address_of:
        return low.pending("E0264", f"cannot take address of {_family(low)} variable", node.span)
    if not node.chain:
        return None
    first = node.chain[0]
    if isinstance(first, n.Pretty):
        use = "be pretty-printed"
    elif isinstance(first, n.MemberAccess):
        use = "be used as a structure"
    else:
        use = "be used as array"
    text = f"{_family(low)} variable '{node.name}' may not {use}"
    return low.pending("E0264", text, first.span)
