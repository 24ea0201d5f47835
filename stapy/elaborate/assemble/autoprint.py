"""Printing globals that a script fills and never reads, at the end of the session."""

from __future__ import annotations

from stapy.diagnostics import NOWHERE
from stapy.ir import program as p
from stapy.ir.walk import walk

HEX = "#"
BAR = p.FormatPiece("bar")  # how far a value is from the first one, for who looks at a terminal
OPERATORS = ("count", "min", "max", "sum", "avg")


def _text(text: str) -> p.FormatPiece:
    return p.FormatPiece("text", text)


def _value(kind: p.Type, is_pointer: bool = False) -> list[p.FormatPiece]:
    """Format a value as SystemTap shows it: a number, a hexadecimal pointer, a quoted string."""
    if kind == p.STRING:
        return [_text('"'), p.FormatPiece("s"), _text('"')]
    return [p.FormatPiece("x", "", HEX) if is_pointer else p.FormatPiece("d")]


def print_of(
    pieces: list[p.FormatPiece], args: list[p.Expr], shows: p.Global | None = None
) -> p.Stmt:
    """Build a print, of a global that it ``shows``; neighbouring texts become one."""
    merged: list[p.FormatPiece] = []
    for piece in pieces:
        if merged and piece.kind == "text" and merged[-1].kind == "text":
            merged[-1] = _text(merged[-1].text + piece.text)
        else:
            merged.append(piece)
    return p.Evaluate(NOWHERE, p.PrintOp(NOWHERE, p.VOID, merged, args, shows))


def _operators(stat: p.Expr, var: p.Global) -> tuple[list[p.FormatPiece], list[p.Expr]]:
    """Build what is printed of a statistic, without the end of the line."""
    pieces: list[p.FormatPiece] = []
    args: list[p.Expr] = []
    for op in OPERATORS:
        var.stats.add(op)
        pieces += [_text(f" @{op}="), p.FormatPiece("d")]
        args.append(p.StatRead(NOWHERE, p.LONG, op, stat))
    return pieces, args


def _scalar_stat(var: p.Global) -> p.Stmt:
    """Build the statement that prints a statistic; an empty one has only its count, in hex."""
    place = p.GlobalRef(NOWHERE, p.STATS, var)
    pieces, args = _operators(place, var)
    count = p.StatRead(NOWHERE, p.LONG, "count", place)
    empty = p.BinaryOp(NOWHERE, p.LONG, "==", count, p.Const(NOWHERE, p.LONG, 0))
    nothing = print_of([_text(f"{var.name} @count=0x0\n")], [])
    return p.If(NOWHERE, empty, nothing, print_of([_text(var.name), *pieces, _text("\n")], args))


def _array(var: p.Global) -> tuple[p.Stmt, list[p.Variable]]:
    keys = _keys(var)
    refs = _refs(keys)
    pieces = [_text(var.name + "[")]
    for number, key in enumerate(keys):
        if number:
            pieces.append(_text(","))
        pieces += _value(key.type)
    pieces.append(_text("]"))
    if var.type == p.STATS:
        stat = _element(var, refs)
        more, args = _operators(stat, var)
        count = p.StatRead(NOWHERE, p.LONG, "count", stat)
        body = print_of([*pieces, *more, BAR, _text("\n")], [*refs, *args, count])
        return _loop(var, keys, None, "count", body), keys
    value = p.Variable("__val", var.type)
    pieces += [_text("="), *_value(var.type)]
    shown = _refs([value])
    if var.type == p.LONG:
        pieces.append(BAR)
        shown *= 2
    body = print_of([*pieces, _text("\n")], [*refs, *shown])
    return _loop(var, keys, value, "", body), [*keys, value]


def _keys(var: p.Global) -> list[p.Variable]:
    return [p.Variable(f"__idx{number}", kind) for number, kind in enumerate(var.keys)]


def _refs(variables: list[p.Variable]) -> list[p.Expr]:
    return [p.LocalRef(NOWHERE, one.type, one.name) for one in variables]


def _element(var: p.Global, refs: list[p.Expr]) -> p.Expr:
    any_keys: list[p.Expr | None] = list(refs)
    return p.ElementRef(NOWHERE, p.STATS, var, any_keys)


def _loop(
    var: p.Global, keys: list[p.Variable], value: p.Variable | None, op: str, body: p.Stmt
) -> p.Stmt:
    """Go over an array, the largest values first."""
    return p.Foreach(NOWHERE, var, keys, value, None, "value", 0, op, True, None, body)


def handler_body(var: p.Global, is_pointer: bool) -> tuple[p.Stmt, list[p.Variable]]:
    """Build what prints one global, which may be a pointer; return it and the locals it needs."""
    var.autoprint = True
    if var.keys:
        return _array(var)
    if var.type == p.STATS:
        return _scalar_stat(var), []
    place = p.GlobalRef(NOWHERE, var.type, var)
    shown = _value(var.type, is_pointer)
    return print_of([_text(var.name + "="), *shown, _text("\n")], [place]), []


def show(body: p.Stmt, var: p.Global) -> None:
    """Mark the prints of a global's text, which its records say as well."""
    for node in walk(body):
        if isinstance(node, p.PrintOp):
            node.shows = var


def record_body(var: p.Global) -> tuple[p.Stmt, list[p.Variable]]:
    """Build what tells programs of one global: a record, or one for each element."""
    var.autoprint = True
    keys = _keys(var)
    refs = _refs(keys)
    pieces = [p.FormatPiece("field", name=f"key{at + 1}") for at in range(len(keys))]
    pieces.append(p.FormatPiece("field", name="value"))
    if var.type == p.STATS:
        stat = _element(var, refs) if keys else p.GlobalRef(NOWHERE, p.STATS, var)
        body = print_of(pieces, [*refs, p.HistogramRef(NOWHERE, p.HISTOGRAM, stat)], var)
        return (_loop(var, keys, None, "count", body) if keys else body), keys
    if not keys:
        return print_of(pieces, [p.GlobalRef(NOWHERE, var.type, var)], var), []
    value = p.Variable("__val", var.type)
    body = print_of(pieces, [*refs, *_refs([value])], var)
    return _loop(var, keys, value, "", body), [*keys, value]
