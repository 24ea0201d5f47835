"""What a script may use at its level of privilege, and without guru mode; as in SystemTap.

* C that is marked ``/* guru */`` is for guru mode; tapsets may call it, for they are presumed to
  know how.  Embedded expressions so marked need guru mode wherever they stand.
* ``--privilege=stapusr`` allows C that is marked ``/* unprivileged */`` or
  ``/* myproc-unprivileged */``, and the probe points that watch nobody but the session itself.
  What memory may be read is for the runtime to say.
* ``stapsys`` and ``stapdev`` allow all of it; ``stapsys`` and guru mode exclude each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stapy.diagnostics import Label
from stapy.ir.program import ASSERTS
from stapy.probes.family import Family, PointError, is_unprivileged

if TYPE_CHECKING:
    from stapy.diagnostics import Span
    from stapy.elaborate.lower import Lowerer
    from stapy.elaborate.select import FunctionSource
    from stapy.parse import nodes as n
    from stapy.services import Services

GURU = "guru"
MYPROC = "myproc-unprivileged"
FREE = frozenset({"unprivileged", MYPROC})
STAPUSR = "stapusr"
FORBIDDEN = "E0219"  # the code of a refused probe point


def check_call(low: Lowerer, node: n.Call, sources: list[FunctionSource]) -> None:
    """Report a call of a user's script that needs guru mode."""
    from stapy.elaborate.syntax import markers

    if low.services.options.guru or low.body.file.script.library:
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


def check_function(services: Services, decl: n.FunctionDecl, use: Span) -> None:
    """Report C of a function that the level of privilege does not allow; ``use`` is its call."""
    from stapy.diagnostics import used_at
    from stapy.elaborate.syntax import markers

    if services.options.privilege != STAPUSR or decl.code is None:
        return
    if not markers(decl.code) & FREE:
        services.diagnostics.error(
            "semantic error",
            "E0218",
            f"function may not be used when --privilege={STAPUSR} is specified",
            decl.span,
            where=f"'{decl.name}' is not for unprivileged users",
            labels=used_at(decl.span, use, "it is needed here"),
        )


def check_code(low: Lowerer, marks: set[str], span: Span) -> None:
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


def asserted(services: Services, marks: set[str]) -> set[str]:
    """The mark of C that looks first whose process it runs in, if it has to."""
    needed = services.options.privilege == STAPUSR and MYPROC in marks
    return {ASSERTS} if needed else set()


def check_point(services: Services, family: Family, point: n.ProbePoint) -> None:
    """Refuse a probe point that the level of privilege does not allow: `PointError`."""
    if services.options.privilege == STAPUSR and not is_unprivileged(family):
        last: Any = point.components[-1]
        raise PointError(
            FORBIDDEN,
            f"probe point is not allowed for --privilege={STAPUSR}",
            last.span,
            notes=["unprivileged users may probe their session (begin, end, error) and time"],
        )
