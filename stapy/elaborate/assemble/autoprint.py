"""Printing globals that a script fills and never reads, at the end of the session."""

from __future__ import annotations

from stapy.diagnostics import NOWHERE
from stapy.ir import program as p

HEX = "#"
OPERATORS = ("count", "min", "max", "sum", "avg")


def _text(text: str) -> p.FormatPiece:
    return p.FormatPiece("text", text)


def _value(kind: p.Type, is_pointer: bool = False) -> list[p.FormatPiece]:
    """Format a value as SystemTap shows it: a number, a hexadecimal pointer, a quoted string."""
    if kind == p.STRING:
        return [_text('"'), p.FormatPiece("s"), _text('"')]
    return [p.FormatPiece("x", "", HEX) if is_pointer else p.FormatPiece("d")]


def _print(pieces: list[p.FormatPiece], args: list[p.Expr]) -> p.Stmt:
    merged: list[p.FormatPiece] = []
    for piece in pieces:
        if merged and piece.kind == "text" and merged[-1].kind == "text":
            merged[-1] = _text(merged[-1].text + piece.text)
        else:
            merged.append(piece)
    return p.Evaluate(NOWHERE, p.PrintOp(NOWHERE, p.VOID, merged, args))


def _operators(stat: p.Expr, var: p.Global) -> tuple[list[p.FormatPiece], list[p.Expr]]:
    pieces: list[p.FormatPiece] = []
    args: list[p.Expr] = []
    for op in OPERATORS:
        var.stats.add(op)
        pieces += [_text(f" @{op}="), p.FormatPiece("d")]
        args.append(p.StatRead(NOWHERE, p.LONG, op, stat))
    pieces.append(_text("\n"))
    return pieces, args


def _scalar_stat(var: p.Global) -> p.Stmt:
    """Build the statement that prints a statistic; an empty one has only its count, in hex."""
    place = p.GlobalRef(NOWHERE, p.STATS, var)
    pieces, args = _operators(place, var)
    count = p.StatRead(NOWHERE, p.LONG, "count", place)
    empty = p.BinaryOp(NOWHERE, p.LONG, "==", count, p.Const(NOWHERE, p.LONG, 0))
    nothing = _print([_text(f"{var.name} @count=0x0\n")], [])
    return p.If(NOWHERE, empty, nothing, _print([_text(var.name), *pieces], args))


def _array(var: p.Global) -> tuple[p.Stmt, list[p.Variable]]:
    keys = [p.Variable(f"__idx{number}", kind) for number, kind in enumerate(var.keys)]
    refs: list[p.Expr] = [p.LocalRef(NOWHERE, key.type, key.name) for key in keys]
    pieces = [_text(var.name + "[")]
    for number, key in enumerate(keys):
        if number:
            pieces.append(_text(","))
        pieces += _value(key.type)
    pieces.append(_text("]"))
    if var.type == p.STATS:
        any_keys: list[p.Expr | None] = list(refs)
        element = p.ElementRef(NOWHERE, p.STATS, var, any_keys)
        more, args = _operators(element, var)
        body = _print([*pieces, *more], [*refs, *args])
        loop = p.Foreach(NOWHERE, var, keys, None, None, "value", 0, "count", True, None, body)
        return loop, keys
    value = p.Variable("__val", var.type)
    pieces += [_text("="), *_value(var.type), _text("\n")]
    shown = p.LocalRef(NOWHERE, var.type, value.name)
    body_ = _print(pieces, [*refs, shown])
    loop = p.Foreach(NOWHERE, var, keys, value, None, "value", 0, "", True, None, body_)
    return loop, [*keys, value]


def handler_body(var: p.Global, is_pointer: bool) -> tuple[p.Stmt, list[p.Variable]]:
    """Build what prints one global, which may be a pointer; return it and the locals it needs."""
    var.autoprint = True
    if var.keys:
        return _array(var)
    if var.type == p.STATS:
        return _scalar_stat(var), []
    place = p.GlobalRef(NOWHERE, var.type, var)
    shown = _value(var.type, is_pointer)
    return _print([_text(var.name + "="), *shown, _text("\n")], [place]), []
