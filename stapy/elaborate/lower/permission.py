"""Refusing calls and C of a body that guru mode or the level of privilege do not allow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.diagnostics import Label
from stapy.elaborate.names.privilege import FREE, GURU, STAPUSR
from stapy.elaborate.names.syntax import markers

if TYPE_CHECKING:
    from stapy.diagnostics import Span
    from stapy.elaborate.lower.context import Context
    from stapy.elaborate.names.select import FunctionSource
    from stapy.parse import nodes as n


def check_call(low: Context, node: n.Call, sources: list[FunctionSource]) -> None:
    """Report a call of a user's script that needs guru mode."""
    if low.services.options.guru or low.body.file.script.is_library:
        return
    for source in sources:
        if source.decl.code is None or GURU not in markers(source.decl.code):
            continue
        low.error(
            "E0217",
            "function may not be used unless -g is specified",
            node.span,
            where=f"'{node.name}' can harm the system",
            labels=[Label(source.decl.span, "it is for guru mode")],
            hint="add option -g (guru mode) when you are sure",
        )
        return


def check_code(low: Context, marks: set[str], span: Span) -> None:
    """Report embedded C inside of a body that guru mode or the level of privilege do not allow."""
    options = low.services.options
    if GURU in marks and not options.guru:
        low.error(
            "E0217",
            "embedded expression may not be used unless -g is specified",
            span,
            where="this C can harm the system",
        )
    if options.privilege == STAPUSR and not marks & FREE:
        low.error(
            "E0218",
            f"embedded expression may not be used when --privilege={STAPUSR} is specified",
            span,
            where="this C is not for unprivileged users",
        )
