"""--snapshots: what tells programs of globals while a session runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.diagnostics import NOWHERE
from stapy.elaborate.assemble.autoprint import print_of, record_body
from stapy.ir import program as p
from stapy.ir.walk import walk
from stapy.run.ground.manifest import SNAPSHOT_ELEMENTS

if TYPE_CHECKING:
    from stapy.services import Services

# Elements; to sort more could take longer than other CPUs wait for the array: 1 ms.
_SORTED_ROOM = 4096
_ROOM = 2048  # of an array whose size nobody says


def point(var: p.Global) -> str:
    """Name the probe that tells a global, which no script has."""
    return f"--snapshots of {var.name}"


def body_of(var: p.Global, services: Services) -> tuple[p.Stmt, list[p.Variable]]:
    """Build what tells one global; warn of an array that is told otherwise than one expects.

    Of an array it first tells that a look begins, which may find no element.
    """
    body, locals_ = record_body(var)
    is_sorted = _room(var, services.options.defines) <= _SORTED_ROOM
    if var.keys:
        body = p.Block(NOWHERE, [print_of([], [], var), body])
        if not is_sorted:
            services.diagnostics.warning(
                "W0615",
                f"snapshots of '{var.name}' have the elements that came first, not the largest",
                var.span,
                where=f"to sort more than {_SORTED_ROOM} takes too long while a session runs",
            )
    for node in walk(body):
        if isinstance(node, p.PrintOp):
            node.is_snapshot = True
        if isinstance(node, p.Foreach):
            node.limit = p.Const(NOWHERE, p.LONG, SNAPSHOT_ELEMENTS)
            node.sort_by = "value" if is_sorted else ""
    return body, locals_


def _room(var: p.Global, defines: dict[str, str]) -> int:
    """Tell how many elements an array can have; more than any for -D that is no plain number."""
    text = defines.get("MAXMAPENTRIES", str(_ROOM))
    default = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 1 << 64
    return var.size or default
