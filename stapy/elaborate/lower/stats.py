"""Statistics: ``<<<``, ``@count`` …, histograms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.diagnostics.suggest import did_you_mean
from stapy.elaborate.lower.elements import element
from stapy.elaborate.lower.fold import constant
from stapy.ir import program as p
from stapy.parse import nodes as n

if TYPE_CHECKING:
    from stapy.elaborate.lower.context import Context

MAX_BUCKETS = 128  # with those of what is below and above
POSSIBLE_BUCKETS = 4090  # the kernel has 32 KiB for a per-CPU variable
EDGES = 3  # buckets below and above, and that of the upper bound
MAX_SHIFT = 62


def stat_place(low: Context, node: n.Expr, arity_hint: str) -> p.Expr | None:
    """Lower the global or element that an aggregate operator works on; None when refused."""
    if isinstance(node, n.Name):
        var = low.global_(node.name)
        if var is None:
            low.error(
                "E0203",
                "stat locals not supported, missing global declaration?",
                node.span,
                where=f"'{node.name}' is a local variable",
                hint=did_you_mean(node.name, low.names.global_names(low.body.file))
                or f"add 'global {node.name}' at the top level",
            )
            return None
        if not low.names.note_arity(var, 0, node.span):
            return None
        return p.GlobalRef(node.span, var.type, var)
    if isinstance(node, n.Index) and isinstance(node.base, n.Name):
        place = element(low, node, allow_wildcard=True)
        return place if isinstance(place, p.ElementRef) else None
    value = low.expr(node)
    low.error(
        "E0301",
        f"type mismatch: expected stats but found {shown(low, value)}",
        node.span,
        where=f"{arity_hint} needs a global that '<<<' fills",
    )
    return None


def shown(low: Context, value: p.Expr) -> str:
    """Name the type of a value as far as it is known."""
    return str(low.types.find(value.type))


def insert(low: Context, node: n.Assign) -> p.Expr:
    """Lower ``stat <<< value``."""
    target = node.target
    value = low.expr(node.value)
    place: p.Expr | None
    if isinstance(target, n.Index) and isinstance(target.base, n.Name):
        place = element(low, target)
        place = place if isinstance(place, p.ElementRef) else None
    elif isinstance(target, n.Name):
        place = stat_place(low, target, "'<<<'")
    else:
        low.error("E0254", "Expecting lvalue for assignment", node.span)
        place = None
    if place is None:
        return p.Const(node.span, p.LONG, 0)
    return p.AssignOp(node.span, p.LONG, "<<<", place, value)


def stat_read(low: Context, node: n.StatOp) -> p.Expr:
    """Lower ``@count(x)``, ``@avg(x)``, ``@variance(x, shift)`` and their kin."""
    place = stat_place(low, node.stat, f"@{node.op}")
    shift = 0
    if node.params:
        value = constant(low.expr(node.params[0]))
        if not isinstance(value, int) or not 0 <= value <= MAX_SHIFT:
            low.error(
                "E0302",
                f"bit shift of @variance must be a number from 0 to {MAX_SHIFT}",
                node.params[0].span,
            )
        else:
            shift = value
    if place is None:
        return p.Const(node.span, p.LONG, 0)
    var = place.var if isinstance(place, (p.GlobalRef, p.ElementRef)) else None
    if var is not None:
        var.stats.add(node.op)
        if node.op == "variance" and shift:
            if var.shift and var.shift != shift:
                low.error("E0302", f"multiple variance bit shifts on '{var.name}'", node.span)
            var.shift = shift
    return p.StatRead(node.span, p.LONG, node.op, place, shift)


def _shape(low: Context, node: n.Histogram) -> p.HistogramShape | None:
    if node.kind == "log":
        return p.HistogramShape("log")
    numbers = [constant(low.expr(item)) for item in node.params]
    low_, high, step = 0, 0, 1
    if len(numbers) != 3 or not all(isinstance(item, int) for item in numbers):
        low.error("E0306", "@hist_linear needs three numbers: low, high, step", node.span)
        return None
    low_, high, step = (int(item) for item in numbers if item is not None)
    wrong = _wrong_shape(low, low_, high, step)
    if wrong:
        message, hint = wrong
        low.error("E0306", message, node.span, hint=hint)
        return None
    return p.HistogramShape("linear", low_, high, step)


def _wrong_shape(low: Context, start: int, end: int, step: int) -> tuple[str, str] | None:
    """Say why a linear histogram cannot be kept, and what helps; None if it can."""
    if step < 1:
        return f"histogram: interval must be positive, not {step}", ""
    if end < start:
        return f"histogram: no buckets between {start} and {end}", "the lower bound comes first"
    buckets = (end - start) // step + EDGES
    allowed = _allowed_buckets(low)
    if allowed is None:
        return "STP_MAX_BUCKETS must be a number", ""
    most = min(allowed, POSSIBLE_BUCKETS)
    if buckets <= most:
        return None
    what = f"histogram: Number of buckets must be between 1 and {most - EDGES}"
    hint = "choose a larger interval"
    if buckets <= POSSIBLE_BUCKETS:
        hint += f", or allow more: -D STP_MAX_BUCKETS={buckets}"
    return f"{what}, not {buckets - EDGES}", hint


def _allowed_buckets(low: Context) -> int | None:
    """Read ``-D STP_MAX_BUCKETS``, or the default; None when that is no number."""
    given = dict(low.services.options.defines).get("STP_MAX_BUCKETS")
    if given is None:
        return MAX_BUCKETS
    try:
        return int(given.rstrip("uUlL"), 0)
    except ValueError:
        return None


def histogram_stat(low: Context, node: n.Histogram) -> p.Expr | None:
    """Lower the statistic of a histogram and note its shape in the global; None when refused."""
    shape = _shape(low, node)
    place = stat_place(low, node.stat, f"@hist_{node.kind}")
    if place is None or shape is None:
        return None
    var = place.var if isinstance(place, (p.GlobalRef, p.ElementRef)) else None
    if var is None:
        return None
    old = var.histogram
    if old is not None and (old.kind, old.low, old.high, old.step) != (
        shape.kind,
        shape.low,
        shape.high,
        shape.step,
    ):
        low.error(
            "E0306",
            f"multiple histogram types declared on '{var.name}'",
            node.span,
            hint="fill a second statistic for the other histogram",
        )
        return None
    var.histogram = shape
    var.stats.add("histogram")
    return place


def histogram_value(low: Context, node: n.Histogram) -> p.Expr:
    """Refuse a histogram where a value is wanted: only print takes one."""
    histogram_stat(low, node)
    return low.error(
        "E0303",
        "unexpected histogram in expression",
        node.span,
        hint="print(@hist_log(x)) draws it, @hist_log(x)[n] reads a bucket",
    )
