"""Trees as plain tuples for `marshal`, and back.

A tree's spans name sources of the session that parsed it; the frozen form
numbers the sources of the tree from zero and says how to make them again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stapy.diagnostics import SourceMap, Span
from stapy.parse import nodes

_KINDS: list[Any] = sorted(
    (
        kind
        for kind in vars(nodes).values()
        if isinstance(kind, type) and issubclass(kind, nodes.Node) and kind is not nodes.Node
    ),
    key=lambda kind: kind.__name__,
)
_NUMBER = {kind: number for number, kind in enumerate(_KINDS)}

Frozen = tuple[Any, ...]


class _Freezer:
    def __init__(self, sources: SourceMap) -> None:
        self.sources = sources
        self.numbers: dict[int, int] = {}
        self.rows: list[tuple[str, int, int, int, str, bool]] = []

    def source(self, number: int) -> int:
        """Return the tree's own number of a source; its parents get theirs before it."""
        found = self.numbers.get(number)
        if found is not None:
            return found
        source = self.sources.sources[number]
        parent = source.parent
        place = (self.source(parent.source), parent.start, parent.end) if parent else (-1, 0, 0)
        self.numbers[number] = len(self.rows)
        self.rows.append((source.name, *place, source.label, source.is_library))
        return self.numbers[number]

    def value(self, value: Any) -> Any:
        if isinstance(value, nodes.Node):
            kind = type(value)
            span = value.span
            rest = [self.value(getattr(value, field)) for field in kind.fields[1:]]
            return (_NUMBER[kind], self.source(span.source), span.start, span.end, *rest)
        if isinstance(value, list):
            return [self.value(item) for item in value]
        return value


def freeze(script: nodes.Script, sources: SourceMap) -> Frozen:
    """Convert a script to ``(sources, tree)`` made of tuples, lists, texts and numbers only."""
    freezer = _Freezer(sources)
    freezer.source(script.span.source)
    tree = freezer.value(script)
    return freezer.rows, tree


def thaw(frozen: Frozen, sources: SourceMap, text_of: Callable[[str], str]) -> nodes.Script:
    """Rebuild the tree, its sources entered in a session's map; ``text_of`` reads a source."""
    rows, tree = frozen
    base = len(sources.sources)
    for name, parent, start, end, label, library in rows:
        place = Span(base + parent, start, end) if parent >= 0 else None
        sources.add(name, text_of(name), parent=place, label=label, is_library=library)
    kinds = _KINDS

    def build(value: Any) -> Any:
        if type(value) is tuple:
            span = Span(base + value[1], value[2], value[3])
            return kinds[value[0]](span, *[build(item) for item in value[4:]])
        if type(value) is list:
            return [build(item) for item in value]
        return value

    script: nodes.Script = build(tree)
    return script
