"""Names for what a print prints, for output that is read by programs (``--format``)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from stapy.parse import nodes as n

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stapy.ir import program as p

# The text in front of a directive that names it, as in "latency=%d" and "fd: %d".
_LABEL = re.compile(r"""([A-Za-z_]\w*)["']?\s?[=:]\s*["'(\[<]?$""")
# Functions that only fetch what their first argument points to.
_FETCHES = ("user_string", "kernel_string", "user_buffer", "kernel_buffer", "text_str")


def name_pieces(pieces: list[p.FormatPiece], args: Sequence[n.Expr]) -> None:
    """Name each directive by its expression, by the text before it, or by its number."""
    rest = iter(args)
    taken: set[str] = set()
    label = ""
    number = 0
    for piece in pieces:
        if piece.kind == "text":
            label = _label(piece.text)
            continue
        for _ in [part for part in (piece.width, piece.precision) if part == "*"]:
            next(rest, None)
        arg = next(rest, None)
        number += 1
        if arg is None or piece.kind == "n":
            continue
        name = base = (name_of(arg) or label or f"arg{number}").lstrip("$")
        again = 1
        while name in taken:
            again += 1
            name = f"{base}_{again}"
        taken.add(name)
        piece.name = name
        label = ""


def _label(text: str) -> str:
    found = _LABEL.search(text)
    return found[1] if found else ""


def name_of(node: n.Expr) -> str:
    """Name the value of an expression; "" where nothing in it does."""
    if isinstance(node, n.Name):
        return node.name
    if isinstance(node, n.Call):
        fetched = name_of(node.args[0]) if node.args and node.name.startswith(_FETCHES) else ""
        return fetched or node.name
    if isinstance(node, n.Index):
        return name_of(node.base)
    if isinstance(node, n.StatOp):
        return f"{node.op}_{name_of(node.stat)}"
    if isinstance(node, n.Histogram):
        return name_of(node.stat)
    if isinstance(node, (n.Entry, n.ProbeWrite, n.Increment)):
        return name_of(node.operand)
    if isinstance(node, n.AtEnumName):
        return name_of(node.value)
    if isinstance(node, n.Perf):
        return re.sub(r"\W+", "_", node.name)
    return _of_chain(node)


def _of_chain(node: n.Expr) -> str:
    """Name what stands at the end of a chain: its last member, else the root."""
    if not isinstance(node, (n.Target, n.AtVar, n.Cast, n.AutoCast)):
        return ""
    members = [one.name for one in node.chain if isinstance(one, n.MemberAccess)]
    if members:
        return members[-1]
    if isinstance(node, (n.Target, n.AtVar)):
        return re.sub(r"\W+", "_", node.name.partition("@")[0].lstrip("$"))
    return name_of(node.value)
