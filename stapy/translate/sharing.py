"""Handlers that differ only in texts of their own, as those of one alias' many system calls do.

The C of such handlers is written once, as a function that is given what each has of its own: its
texts, and the places that its errors name.  A script of a thousand probes is compiled in half the
time so, for a jump more in each hit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.diagnostics import Bug, Span
from stapy.ir import program as p
from stapy.ir.walk import copy_tree, transform
from stapy.record import Record, new, replace
from stapy.translate.c.text import string_literal

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

OWN = "own"  # what the C of a shared body calls the record of the handler that runs


class OwnText(p.Expr):
    """A text that each handler has of its own: the member of its record, the room for the longest.

    Stands in place of a `Text` in the body that handlers share.
    """

    member: str
    room: int


class Outline(Record):
    """What a handler's body is but for its texts, and those; and all places, in the same order."""

    shape: Hashable
    texts: list[p.Text] = new(list)
    spans: list[Span] = new(list)


class SharedBody(Record):
    """A body that some handlers share, and what each of them has of its own.

    ``handler`` is the first of them with `OwnText` where they differ.  ``columns`` maps a member
    of the record to its C, an initializer for each handler; ``spans`` a place of the first one to
    the places of all.
    """

    handler: p.Handler
    members: list[p.Handler]
    columns: dict[str, list[str]]
    spans: dict[Span, list[Span]]

    def places(self, span: Span) -> list[Span]:
        """List what a place of the first handler is in each."""
        return self.spans.get(span) or [span]

    def member(self, stem: str, values: list[str]) -> str:
        """Return the C of a member of the record with these values, made when there is none."""
        for name, known in self.columns.items():
            if known == values:
                return f"{OWN}->{name}"
        count = sum(1 for name in self.columns if name.startswith(stem))
        self.columns[f"{stem}_{count + 1}"] = values
        return f"{OWN}->{stem}_{count + 1}"


def share(
    handlers: Iterable[p.Handler], kind: Callable[[p.Handler], Hashable], room: int
) -> list[SharedBody]:
    """Find the handlers that can share a body; those whose ``kind`` differs cannot.

    ``room`` is what a string has at most, in bytes with the NUL.
    """
    groups: dict[Hashable, list[tuple[p.Handler, Outline]]] = {}
    for handler in handlers:
        found = outline(handler.body)
        if any(len(text.value) >= room for text in found.texts):
            continue  # what is printed is not cut, and what is kept is
        key = (found.shape, _pattern(found.spans), _frame(handler), kind(handler))
        groups.setdefault(key, []).append((handler, found))
    return [_shared(group) for group in groups.values() if len(group) > 1]


def _pattern(spans: list[Span]) -> Hashable:
    """Give each place the number of where it comes first: one place of a body is one of all."""
    numbers: dict[Span, int] = {}
    return tuple([numbers.setdefault(span, len(numbers)) for span in spans])


def _frame(handler: p.Handler) -> Hashable:
    """Compute what of a handler beside its body must be equal."""
    return (
        tuple((one.name, one.type) for one in handler.locals),
        tuple((lock.var.c_name, lock.for_writing) for lock in handler.locks),
        tuple(id(one) for one in handler.conditions),
        handler.rechecks_condition,
    )


def outline(body: p.Stmt) -> Outline:
    """Take a body apart into its shape and what handlers of that shape may have of their own."""
    found = Outline(None)
    found.shape = _shape(body, found)
    return found


def _shape(node: object, found: Outline) -> Hashable:
    if isinstance(node, p.Text):
        found.texts.append(node)
        found.spans.append(node.span)
        return p.Text
    if isinstance(node, (p.Global, p.Function, p.Handler)):
        return node.c_name
    if isinstance(node, p.Condition):  # a table knows them by what they are
        return id(node)
    if isinstance(node, Record):
        kind = type(node)
        parts: list[Hashable] = [kind]
        for field in kind.fields:
            value = getattr(node, field)
            if isinstance(value, Span):
                found.spans.append(value)
            elif isinstance(value, (Record, list, tuple)):
                parts.append(_shape(value, found))
            else:
                parts.append(frozenset(value) if isinstance(value, (set, dict)) else value)
        return tuple(parts)
    if isinstance(node, (list, tuple)):
        return tuple([_shape(item, found) for item in node])
    return node


def _shared(group: Sequence[tuple[p.Handler, Outline]]) -> SharedBody:
    """Make the body that a group shares."""
    first, outlines = group[0], [found for _, found in group]
    rows = zip(*(found.spans for found in outlines), strict=True)
    spans = {row[0]: list(row) for row in rows}
    handler = replace(first[0], body=copy_tree(first[0].body))
    shared = SharedBody(handler, [one for one, _ in group], {}, spans)
    texts = zip(*(found.texts for found in outlines), strict=True)

    def own(node: p.Node) -> p.Node:
        return _own_text(shared, node, next(texts)) if isinstance(node, p.Text) else node

    handler.body = transform(handler.body, own)
    if next(texts, None) is not None:
        raise Bug("a text of handlers that share a body has no place in it")
    return shared


def _own_text(shared: SharedBody, node: p.Text, row: tuple[p.Text, ...]) -> p.Expr:
    """Return what stands for a text in the shared body: itself where all agree."""
    if (node.span, node.value) != (row[0].span, row[0].value):
        raise Bug("texts of handlers that share a body are out of step")
    values = [text.value.split("\0", 1)[0] for text in row]
    if len(set(values)) == 1:
        return node
    member = shared.member("text", [string_literal(value) for value in values])
    return OwnText(node.span, node.type, member, max(map(len, values)) + 1)
