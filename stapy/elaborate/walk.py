"""Walking and rebuilding trees of records, for every pass over the typed program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stapy.elaborate import program as p
from stapy.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_LEAVES = (p.Global, p.Function, p.Handler, p.Variable, p.FormatPiece)
_FIELDS: dict[type, tuple[str, ...]] = {}


def _tree_fields(kind: Any) -> tuple[str, ...]:
    fields = _FIELDS.get(kind)
    if fields is None:
        fields = tuple(field for field in kind.fields if field not in ("span", "type"))
        _FIELDS[kind] = fields
    return fields


def children(node: Any) -> Iterator[Any]:
    """The expressions and statements directly below a node, in order of evaluation."""
    for field in _tree_fields(type(node)):
        value = getattr(node, field)
        if isinstance(value, (p.Expr, p.Stmt)):
            yield value
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, (p.Expr, p.Stmt)):
                    yield item


def walk(node: Any) -> Iterator[Any]:
    """A node and everything below it."""
    yield node
    for child in children(node):
        yield from walk(child)


def transform(node: Any, change: Callable[[Any], Any]) -> Any:
    """Replace expressions and statements bottom-up, in place; the new root is returned."""
    for field in _tree_fields(type(node)):
        value = getattr(node, field)
        if isinstance(value, (p.Expr, p.Stmt)):
            setattr(node, field, transform(value, change))
        elif isinstance(value, list):
            for number, item in enumerate(value):
                if isinstance(item, (p.Expr, p.Stmt)):
                    value[number] = transform(item, change)
    return change(node)


def fingerprint(node: Any) -> Any:
    """A hashable value that is equal for equal trees; places do not count."""
    if isinstance(node, (p.Global, p.Function, p.Handler)):
        return ("@", node.c_name)
    if isinstance(node, Record):
        kind = type(node)
        return (
            kind.__name__,
            *(fingerprint(getattr(node, f)) for f in kind.fields if f != "span"),
        )
    if isinstance(node, (list, tuple)):
        return tuple(fingerprint(item) for item in node)
    if isinstance(node, set):
        return tuple(sorted(node))
    if isinstance(node, dict):
        return tuple(sorted((key, fingerprint(value)) for key, value in node.items()))
    return node


def copy_tree(node: Any) -> Any:
    """A copy of a tree; globals, functions, handlers and variables stay shared."""
    if isinstance(node, _LEAVES):
        return node
    if isinstance(node, Record):
        kind = type(node)
        return kind(**{field: copy_tree(getattr(node, field)) for field in kind.fields})
    if isinstance(node, list):
        return [copy_tree(item) for item in node]
    return node
