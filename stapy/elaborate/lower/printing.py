"""The print family: formats to pieces."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from stapy.elaborate.lower.fields import name_pieces
from stapy.elaborate.lower.stats import histogram_stat
from stapy.ir import program as p
from stapy.parse import nodes as n

if TYPE_CHECKING:
    from stapy.diagnostics import Span
    from stapy.elaborate.lower.context import Context

MAX_ARGS = 32
AUTO = "auto"  # plain print of a value whose type is not known yet

_DIRECTIVE = re.compile(r"([-+ #0]*)(\*|\d+)?(?:\.(\*|\d+)?)?([hlqjzt]*)([a-zA-Z])")


class FormatError(Exception):
    """A format that cannot be understood."""


def parse_format(text: str) -> list[p.FormatPiece]:
    """Split a printf format into pieces; raise `FormatError` for a wrong directive."""
    pieces: list[p.FormatPiece] = []
    literal = ""
    at = 0
    while at < len(text):
        if text[at] != "%":
            end = text.find("%", at)
            end = end if end >= 0 else len(text)
            literal += text[at:end]
            at = end
            continue
        if text[at + 1 : at + 2] == "%":
            literal += "%"
            at += 2
            continue
        found = _DIRECTIVE.match(text, at + 1)
        if found is None or found[5] not in "diuoxXscpbmMn":
            shown = text[at : found.end() if found else at + 2]
            raise FormatError(f"invalid or missing conversion specifier in '{shown}'")
        if literal:
            pieces.append(p.FormatPiece("text", literal))
            literal = ""
        pieces.append(_piece(found, text))
        at = found.end()
    if literal:
        pieces.append(p.FormatPiece("text", literal))
    return pieces


def _piece(found: re.Match[str], text: str) -> p.FormatPiece:
    flags, width, precision, _, kind = found.groups()
    has_dot = "." in found[0]
    wide: int | str | None = None
    if width is not None:
        wide = width if width == "*" else _bounded(width)
    exact: int | str | None = None
    if has_dot:
        exact = "*" if precision == "*" else _bounded(precision or "0")
    return p.FormatPiece(kind, "", flags, wide, exact)


def _bounded(digits: str) -> int:
    """Read a width of any length, of which Python itself reads only so many digits."""
    digits = digits.lstrip("0")
    return (
        min(int(digits or "0"), p.MAX_WIDTH)
        if len(digits) <= len(str(p.MAX_WIDTH))
        else p.MAX_WIDTH
    )


def _pad_pointer(piece: p.FormatPiece) -> None:
    """Format ``%p`` as before 1.3: 16 digits, zeros in front."""
    if piece.kind != "p":
        return
    digits = 16 if not isinstance(piece.width, int) else max(piece.width - 2, 0)
    piece.precision = digits if "-" in piece.flags else min(digits, 16)


def wants(piece: p.FormatPiece) -> list[p.Type | None]:
    """List the types of the arguments that a piece takes; None for one that plain print finds."""
    types: list[p.Type | None] = [p.LONG for part in (piece.width, piece.precision) if part == "*"]
    if piece.kind == "text":
        return types
    if piece.kind == "hist":
        return [*types, p.HISTOGRAM]
    if piece.kind == AUTO:
        return [*types, None]
    return [*types, p.STRING if piece.kind == "s" else p.LONG]


def print_(low: Context, node: n.Print) -> p.Expr:
    """Lower any call of the print family."""
    if node.name == "print_char":
        return _char(low, node)
    base = node.name[1:] if node.name.startswith("s") else node.name
    args: list[p.Expr] = []
    for arg in node.args:
        if isinstance(arg, n.Histogram):
            stat = histogram_stat(low, arg)
            if stat is not None:
                args.append(p.HistogramRef(arg.span, p.HISTOGRAM, stat))
            continue
        args.append(low.expr(arg))
    if len(args) > MAX_ARGS:
        low.error(
            "E0258",
            f"additional argument to print: {len(args)} of at most {MAX_ARGS}",
            node.args[MAX_ARGS].span,
            hint="print in several steps",
        )
    if base == "printf":
        return _formatted(low, node, args)
    delimiter = node.format.value if node.format is not None else ""
    pieces: list[p.FormatPiece] = []
    for number, item in enumerate(args):
        if number and delimiter:
            pieces.append(p.FormatPiece("text", delimiter))
        pieces.append(p.FormatPiece("hist" if isinstance(item, p.HistogramRef) else AUTO))
    if base.startswith("printd") and len(args) < 2:
        low.error("E0258", f"too few arguments to {node.name}", node.span)
    histogram = next((a for a in args if isinstance(a, p.HistogramRef)), None)
    if base.endswith("ln") and histogram is None:  # a picture ends in an empty line
        pieces.append(p.FormatPiece("text", "\n"))
    if histogram is not None and len(args) > 1:
        low.error(
            "E0303",
            "a histogram must be the only argument of print",
            histogram.span,
        )
    return _print_op(low, node, pieces, args)


def _print_op(
    low: Context, node: n.Print, pieces: list[p.FormatPiece], args: list[p.Expr]
) -> p.Expr:
    is_text = node.name.startswith("s")
    if low.services.options.format and not is_text:
        name_pieces(pieces, node.args)
    return p.PrintOp(node.span, p.STRING if is_text else p.VOID, pieces, args)


def _char(low: Context, node: n.Print) -> p.Expr:
    """Lower ``print_char``, which prints the byte with that number."""
    args = [low.expr(arg) for arg in node.args]
    if len(args) != 1:
        return low.error("E0258", "print_char prints one character", node.span)
    return _print_op(low, node, [p.FormatPiece("c")], args)


def _formatted(low: Context, node: n.Print, args: list[p.Expr]) -> p.Expr:
    format_ = node.format
    if format_ is None:
        return low.error("E0258", f"{node.name} needs a format string", node.span)
    try:
        pieces = parse_format(format_.value)
    except FormatError as wrong:
        return low.error("E0259", str(wrong), format_.span, hint="'%%' prints a percent sign")
    if not low.services.at_least("1.3"):
        for piece in pieces:
            _pad_pointer(piece)
    wanted = [item for piece in pieces for item in wants(piece)]
    if len(wanted) != len(args):
        return _wrong_count(low, node.span, len(wanted), len(args))
    for item in args:
        if isinstance(item, p.HistogramRef):
            low.error("E0303", "a histogram cannot be formatted", item.span)
    return _print_op(low, node, pieces, args)


def _wrong_count(low: Context, span: Span, wanted: int, given: int) -> p.Expr:
    return low.error(
        "E0258",
        "Wrong number of args to formatted print operator",
        span,
        where=f"the format takes {wanted}, but {given} given",
    )
