"""What a script may use at its level of privilege, and without guru mode; as in SystemTap.

* C that is marked ``/* guru */`` is for guru mode; tapsets may call it, for they are presumed to
  know how.  Embedded expressions so marked need guru mode wherever they stand.
* ``--privilege=stapusr`` allows C that is marked ``/* unprivileged */`` or
  ``/* myproc-unprivileged */``, and the probe points that watch nobody but the session itself.
  What memory may be read is for the runtime to say.
* ``stapsys`` and ``stapdev`` allow all of it; ``stapsys`` and guru mode exclude each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.diagnostics import used_at
from stapy.elaborate.names.syntax import markers
from stapy.ir.program import ASSERTS
from stapy.probes.family import Family, PointError, is_unprivileged

if TYPE_CHECKING:
    from stapy.diagnostics import Span
    from stapy.parse import nodes as n
    from stapy.services import Services

GURU = "guru"
MYPROC = "myproc-unprivileged"
FREE = frozenset({"unprivileged", MYPROC})
STAPUSR = "stapusr"
FORBIDDEN = "E0219"  # the code of a refused probe point


def check_function(services: Services, decl: n.FunctionDecl, use: Span) -> None:
    """Report C of a function that the level of privilege does not allow; ``use`` is its call."""
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


def asserted(services: Services, marks: set[str]) -> set[str]:
    """Return the mark of C that checks whose process it runs in, nothing where it need not."""
    needed = services.options.privilege == STAPUSR and MYPROC in marks
    return {ASSERTS} if needed else set()


def check_point(services: Services, family: Family, point: n.ProbePoint) -> None:
    """Refuse a probe point that the level of privilege does not allow: `PointError`."""
    if services.options.privilege == STAPUSR and not is_unprivileged(family):
        last = point.components[-1]
        raise PointError(
            FORBIDDEN,
            f"probe point is not allowed for --privilege={STAPUSR}",
            last.span,
            notes=[
                "unprivileged users may probe their session (begin, end, error), time, and "
                "their own processes (process)"
            ],
        )
