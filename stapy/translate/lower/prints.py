"""The print family: arguments first, then pieces into the output or into a string."""

from __future__ import annotations

from collections.abc import Iterator

from stapy.ir import program as p
from stapy.ir.effects import effects
from stapy.record import Record
from stapy.translate.c.text import string_literal
from stapy.translate.c.values import NOTHING, Value, merged
from stapy.translate.lower import arrays
from stapy.translate.lower.body import FunctionWriter
from stapy.translate.lower.dispatch import Destination, lower, lower_many, lowers, lowers_into
from stapy.translate.tables.records import PrintTable, field_kind

FLAGS = {
    "-": "STAPY_F_LEFT",
    "+": "STAPY_F_PLUS",
    " ": "STAPY_F_SPACE",
    "0": "STAPY_F_ZERO",
    "#": "STAPY_F_ALT",
}
NUMBERS = "diuoxXp"


class PrintItem(Record):
    """A piece with its C arguments; ``value`` is None for text."""

    piece: p.FormatPiece
    width: str
    precision: str
    value: Value | None
    arg: p.Expr | None


def flags_text(flags: str) -> str:
    """Write the flags of a directive as C."""
    return " | ".join(dict.fromkeys(FLAGS[flag] for flag in flags if flag in FLAGS)) or "0"


def _fold(
    pieces: list[p.FormatPiece], args: list[p.Expr]
) -> tuple[list[p.FormatPiece], list[p.Expr]]:
    """Turn plain constants into text and join neighbouring texts; return pieces and arguments."""
    out: list[p.FormatPiece] = []
    left: list[p.Expr] = []
    rest = iter(args)
    for piece in pieces:
        text = piece.text if piece.kind == "text" else None
        if piece.kind != "text":
            plain = piece.width is None and piece.precision is None and not piece.flags
            stars = [next(rest) for star in (piece.width, piece.precision) if star == "*"]
            arg = next(rest)
            if plain and isinstance(arg, p.Text) and piece.kind == "s":
                text = arg.value.split("\0", 1)[0]
            elif plain and isinstance(arg, p.Const) and piece.kind in "di":
                text = str(arg.value)
            else:
                left += [*stars, arg]
        if text is None:
            out.append(piece)
        elif out and out[-1].kind == "text":
            out[-1] = p.FormatPiece("text", out[-1].text + text)
        elif text:
            out.append(p.FormatPiece("text", text))
    return out, left


def _pieces(
    pieces: list[p.FormatPiece], args: list[p.Expr], values: list[Value]
) -> list[PrintItem]:
    rest: Iterator[tuple[p.Expr, Value]] = iter(zip(args, values))
    done: list[PrintItem] = []
    for piece in pieces:
        if piece.kind == "text":
            done.append(PrintItem(piece, "0", "-1", None, None))
            continue
        width, precision = (
            _width(next(rest)[1]) if given == "*" else str(default if given is None else given)
            for given, default in ((piece.width, 0), (piece.precision, -1))
        )
        arg, value = next(rest)
        done.append(PrintItem(piece, width, precision, value, arg))
    return done


def _width(value: Value) -> str:
    """Write a width that the script reckons: as the runtime has them, or bounded by it."""
    if isinstance(value.constant, int) and 0 <= value.constant <= p.MAX_WIDTH:
        return value.text
    return f"stapy_width({value.text})"


def _emit(body: FunctionWriter, item: PrintItem, sink: str) -> None:
    """Write one piece into a sink; the runtime takes back what stands before one that fails."""
    out = body.out
    piece = item.piece
    if piece.kind == "text":
        text = piece.text
        size = len(text.encode("latin-1", "replace"))
        out.line(f"stapy_out_text({sink}, {string_literal(text)}, {size});")
        return
    if piece.kind in ("n", "field") or item.value is None or item.arg is None:
        return
    flags = flags_text(piece.flags)
    value = item.value.text
    if piece.kind == "s" or (piece.kind == "d" and item.arg.type == p.STRING):
        out.line(f"stapy_out_string({sink}, {value}, {flags}, {item.width}, {item.precision});")
    elif piece.kind in NUMBERS:
        letter = "d" if piece.kind == "i" else piece.kind
        out.line(
            f"stapy_out_long({sink}, {value}, '{letter}', {flags}, {item.width}, {item.precision});"
        )
    elif piece.kind == "c":
        out.line(f"stapy_out_char({sink}, {value}, {flags}, {item.width});")
    elif piece.kind == "b":
        out.line(f"stapy_out_binary({sink}, {value}, {flags}, {item.width}, {item.precision});")
    elif piece.kind in ("m", "M"):
        place = body.place(item.arg.span)
        hexadecimal = "true" if piece.kind == "M" else "false"
        body.check(
            f"stapy_out_memory(c, {sink}, {value}, {hexadecimal}, {flags}, {item.width}, "
            f"{item.precision}, {place})"
        )
    elif piece.kind == "hist":
        keys = body.histograms[id(item.arg)]
        shape = body.unit.shape(keys.var)
        value = arrays.stat_found(body, keys)
        place = body.place(item.arg.span)
        body.check(f"stapy_out_histogram(c, {sink}, {value}, &{shape}, {place})")


@lowers(p.HistogramRef)
def _histogram(body: FunctionWriter, expr: p.HistogramRef) -> Value:
    """Evaluate only the keys: a merged statistic lives until its array is asked for the next."""
    keys = arrays.stat_keys(body, expr.stat)
    if body.args_change:
        keys.values = [
            None if value is None else body.keep(value, "key", kind == p.STRING)
            for value, kind in zip(keys.values, keys.var.keys)
        ]
    body.histograms[id(expr)] = keys
    return Value("NULL")


@lowers(p.PrintOp)
def lower_print(body: FunctionWriter, expr: p.PrintOp) -> Value:
    """Print, or format into a buffer of the frame."""
    if expr.type == p.STRING:
        text, _ = body.buffer(body.room_of(expr))
        format_into(body, expr, text, f"sizeof({text})")
        return Value(text)
    pieces, args = expr.pieces, expr.args
    if body.unit.records is None:
        pieces, args = _fold(pieces, args)  # else constants are fields as well
    body.args_change = any(effects(arg).writes for arg in args)
    values = lower_many(body, args)
    items = _pieces(pieces, args, values)
    if not items and not expr.is_snapshot:
        return Value("0", constant=0)
    if "out" not in {declarator.lstrip("*") for _, declarator in body.declarations}:
        body.declarations.append(("struct stapy_out", "*out"))
    if body.unit.records is None:
        body.out.line("out = stapy_print_begin(c);")
    else:
        _begin_record(body, expr, items, body.unit.records)
    bar = _begin_bar(body) if any(item.piece.kind == "bar" for item in items) else ""
    for item in items:
        if item.piece.kind == "bar" and item.value is not None:
            body.out.line(f"stapy_out_bar(c, out, &{bar}, {item.value.text});")
        else:
            _emit(body, item, "out")
    body.out.line("stapy_print_end(c);")
    return Value("0", constant=0)


def _begin_bar(body: FunctionWriter) -> str:
    """Begin a line of a list that may get a bar; return the variable that all its lines share."""
    bar = body.names.make("bar")
    body.declarations.append(("struct stapy_bar", f"{bar} = {{ NULL }}"))
    body.out.line(f"{bar}.line = out->at;")
    return bar


def _begin_record(
    body: FunctionWriter, expr: p.PrintOp, items: list[PrintItem], table: PrintTable
) -> None:
    """Begin a print for programs with its fields; what is told twice is read once."""
    fields = []
    for item in items:
        if item.piece.name and item.arg is not None and item.value is not None:
            fields.append((item.piece, item.arg))
            if item.value.is_fleeting:
                item.value = body.keep(item.value, "value", item.arg.type == p.STRING)
    number = table.add(body.unit.places, expr, fields)
    body.out.line(f"out = stapy_typed_begin(c, {number});")
    for item in items:
        if item.piece.name and item.arg is not None and item.value is not None:
            _emit_field(body, item, item.arg, item.value.text)


def _emit_field(body: FunctionWriter, item: PrintItem, arg: p.Expr, value: str) -> None:
    kind = field_kind(item.piece, arg)
    if kind == "string":
        body.out.line(f"stapy_typed_string(out, {value});")
    elif kind == "stat":
        keys = body.histograms[id(arg)]
        stat = arrays.stat_found(body, keys)
        body.out.line(f"stapy_typed_stat(out, {stat}, &{body.unit.shape(keys.var)});")
    elif kind in ("text", "bytes"):
        place = body.place(arg.span)
        flags = flags_text(item.piece.flags)
        body.check(f"stapy_typed_memory(c, out, {value}, {flags}, {item.precision}, {place})")
    else:
        body.out.line(f"stapy_typed_long(out, {value});")


def format_into(body: FunctionWriter, expr: p.PrintOp, dest: str, size: str) -> None:
    """Write sprint and its relatives into ``dest``; no argument may read it."""
    pieces, args = _fold(expr.pieces, expr.args)
    body.args_change = any(effects(arg).writes for arg in args)
    values = lower_many(body, args)
    items = _pieces(pieces, args, values)
    with body.temporaries():
        sink = body.temp("struct stapy_out", "sink")
        body.out.line(f"stapy_out_to(&{sink}, {dest}, {size});")
        for item in items:
            _emit(body, item, f"&{sink}")
        body.out.line(f"stapy_out_finish(&{sink});")


@lowers_into(p.PrintOp)
def _format_into_variable(body: FunctionWriter, expr: p.PrintOp, target: Destination) -> bool:
    format_into(body, expr, target.text, target.size)
    return True


@lowers(p.PrettyPrint)
def _pretty(body: FunctionWriter, expr: p.PrettyPrint) -> Value:
    """Write pieces whose reads may fail one by one; a failed one prints as "?"."""
    text, size = body.buffer(0)
    sink = body.temp("struct stapy_out", "sink")
    pieces, args = _fold(expr.pieces, expr.args)
    rest = iter(args)
    body.out.line(f"stapy_out_to(&{sink}, {text}, sizeof({text}));")
    reads = NOTHING
    for piece in pieces:
        if piece.kind == "text":
            _emit(body, PrintItem(piece, "0", "-1", None, None), f"&{sink}")
            continue
        count = 1 + (piece.width == "*") + (piece.precision == "*")
        own = [next(rest) for _ in range(count)]
        reads |= _try_piece(body, piece, own, f"&{sink}")
    body.out.line(f"stapy_out_finish(&{sink});")
    return Value(text, reads=reads, room=size)


def _try_piece(
    body: FunctionWriter, piece: p.FormatPiece, args: list[p.Expr], sink: str
) -> frozenset[str]:
    outer = body.fail_label
    failed = body.new_label("unreadable")
    body.fail_label = failed
    with body.temporaries():
        values = [lower(body, arg) for arg in args]
        (item,) = _pieces([piece], args, values)
        _emit(body, item, sink)
    body.fail_label = outer
    if failed in body.labels:
        done = body.new_label("shown")
        body.out.line(body.goto(done))
        body.out.label(failed)
        if body.unit.repeats:  # "?" is what the last run prints
            body.out.guard("unlikely(c->missed)", body.fail())
        body.out.line("stapy_caught(c);")
        body.out.line(f'stapy_out_text({sink}, "?", 1);')
        body.out.label(done)
    return merged(*values)
