"""What a probe point becomes: its places with all bodies that run there, and the way to them."""

from __future__ import annotations

from stapy.diagnostics import NOWHERE, SourceMap, Span
from stapy.elaborate.names.select import FileScope
from stapy.parse import nodes as n
from stapy.probes.family import Family, Match, print_component
from stapy.record import Record, new


class ScopedBody(Record):
    """A body and the file whose private names it sees."""

    body: n.Stmt
    file: FileScope


class ConditionPiece(Record):
    """An ``if`` of a point or of an alias on the way."""

    expr: n.Expr
    file: FileScope


class Derived(Record):
    """One point brought down to a family: its places and all that will run there."""

    family: Family
    matches: list[Match]
    pieces: list[ScopedBody]
    conditions: list[ConditionPiece]
    written: str
    alias: str
    chain: list[str]
    span: Span
    is_user: bool
    own: n.Stmt
    use: Span = NOWHERE  # the point as the script writes it
    optional: bool = False
    sufficient: bool = False


class Way(Record):
    """What was collected on the way from the script's point down the aliases.

    ``head`` is the part of the script's point that names an alias: what follows is its suffix.
    """

    written: str
    span: Span
    is_user: bool
    before: list[ScopedBody] = new(list)
    after: list[ScopedBody] = new(list)
    conditions: list[ConditionPiece] = new(list)
    chain: list[str] = new(list)
    active: tuple[int, ...] = ()
    alias: str = ""
    optional: bool = False
    use: Span = NOWHERE
    head: list[n.PointComponent] = new(list)


def within(span: Span, whole: Span) -> bool:
    """Tell whether a span is a part of another."""
    return span.source == whole.source and whole.start <= span.start and span.end <= whole.end


def print_points(points: list[n.ProbePoint], sources: SourceMap) -> str:
    """Print a list of points as one text, conditions as they were written."""
    texts = []
    for point in points:
        text = dotted(point.components)
        text += "!" if point.sufficient else "?" if point.optional else ""
        condition = sources.text(point.condition.span) if point.condition is not None else ""
        text += f" if ({condition})" if condition else ""  # a monitor's switch has no text
        texts.append(text)
    return ",".join(texts)


def dotted(components: list[n.PointComponent]) -> str:
    """Print components as one text, joined by dots."""
    return ".".join(print_component(c) for c in components)
