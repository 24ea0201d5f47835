"""Walking and rebuilding trees of records, for every pass over the typed program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stapy.ir import program as p
from stapy.record import PLACES, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

_LEAVES = (p.Global, p.Function, p.Handler, p.Variable, p.FormatPiece, p.Condition)


class _TreeFields(dict[type[p.Node], tuple[str, ...]]):
    """The fields of each kind of node that can hold expressions or statements.

    Their annotations tell, once.
    """

    def __missing__(self, kind: type[p.Node]) -> tuple[str, ...]:
        notes: dict[str, str] = {}
        for base in reversed(kind.__mro__):
            notes.update(vars(base).get("__annotations__", {}))
        self[kind] = found = tuple(
            field for field in kind.fields if "Expr" in notes[field] or "Stmt" in notes[field]
        )
        return found


_FIELDS = _TreeFields()


def walk(node: p.Node | None) -> list[p.Node]:
    """List a node and everything below it, parents first, in the order of the text.

    A list and not a generator: pass 2 spends most of its time here.
    """
    found: list[p.Node] = []
    stack = [node]
    fields_of = _FIELDS
    while stack:
        item = stack.pop()
        if item is None:
            continue
        found.append(item)
        for field in reversed(fields_of[type(item)]):
            value = getattr(item, field)
            if type(value) is list:
                stack.extend(reversed(value))
            elif value is not None:
                stack.append(value)
    return found


def below(node: p.Node) -> list[p.Node]:
    """List the expressions and statements directly below a node."""
    found: list[p.Node] = []
    for field in _FIELDS[type(node)]:
        value = getattr(node, field)
        if type(value) is list:
            found += [item for item in value if item is not None]
        elif value is not None:
            found.append(value)
    return found


def transform(node: p.Node, change: Callable[[Any], Any]) -> Any:
    """Replace expressions and statements bottom-up, in place; return the new root."""
    for field in _FIELDS[type(node)]:
        value = getattr(node, field)
        if type(value) is list:
            for number, item in enumerate(value):
                if item is not None:
                    value[number] = transform(item, change)
        elif value is not None:
            setattr(node, field, transform(value, change))
    return change(node)


def fingerprint(node: object) -> Hashable:
    """Compute a hashable value that is equal for equal trees; places do not count."""
    if isinstance(node, (p.Global, p.Function, p.Handler)):
        return ("@", node.c_name)
    if isinstance(node, Record):
        kind = type(node)
        return (
            kind.__name__,
            *(fingerprint(getattr(node, f)) for f in kind.fields if f not in PLACES),
        )
    if isinstance(node, (list, tuple)):
        return tuple(fingerprint(item) for item in node)
    if isinstance(node, set):
        return tuple(sorted(node))
    if isinstance(node, dict):
        return tuple(sorted((key, fingerprint(value)) for key, value in node.items()))
    return node


def copy_tree(node: p.Node) -> Any:
    """Copy a tree; globals, functions, handlers, variables and conditions stay shared."""
    if isinstance(node, _LEAVES):
        return node
    if isinstance(node, Record):
        kind = type(node)
        return kind(**{field: copy_tree(getattr(node, field)) for field in kind.fields})
    if isinstance(node, list):
        return [copy_tree(item) for item in node]
    return node
