"""Questions about syntax trees that pass 2 asks before it resolves anything."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from stapy.parse import nodes as n
from stapy.parse.print_expr import print_expr

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONTEXT = (n.Target, n.AtVar, n.Entry, n.Perf)


_PLAIN = frozenset((str, int, bool, type(None)))  # what fields have that are no nodes
_FIELDS: dict[type, tuple[str, ...]] = {}


def walk(node: n.Node | None) -> Iterator[n.Node]:
    """Yield a syntax node and everything below it, parents first, in the order of the text."""
    stack: list[object] = [node]
    while stack:
        item = stack.pop()
        if isinstance(item, list):
            stack.extend(reversed(item))
        elif isinstance(item, n.Node):
            yield item
            kind = type(item)
            fields = _FIELDS.get(kind)
            if fields is None:
                fields = tuple(field for field in reversed(kind.fields) if field != "span")
                _FIELDS[kind] = fields
            for field in fields:
                value = getattr(item, field)
                if type(value) not in _PLAIN:
                    stack.append(value)


def uses_context(node: n.Node) -> bool:
    """Tell whether a tree itself reads variables of the probed code."""
    return any(isinstance(item, _CONTEXT) for item in walk(node))


def called(node: n.Node) -> set[str]:
    """Find the names of the functions that a tree calls."""
    return {item.name for item in walk(node) if isinstance(item, n.Call)}


def has_next(decl: n.FunctionDecl) -> bool:
    """Tell whether a function can fall through to its next overload."""
    if decl.code is not None:
        return "STAP_NEXT" in decl.code
    return any(isinstance(item, n.NextStmt) for item in walk(decl.body))


def markers(code: str) -> set[str]:
    """Find the marks in the comments of embedded C: ``/* pure */``, ``/* pragma:unwind */`` …"""
    found: set[str] = set()
    for comment in re.findall(r"/\*\s*([\w:.,+-]+(?:\s+[\w:.,+-]+)?)\s*\*/", code):
        found.add(comment.strip())
    return found


def written(body: n.Stmt) -> set[str]:
    """Find what a body assigns to, loop and catch variables included, as it prints."""
    found: set[str] = set()
    for item in walk(body):
        if isinstance(item, n.Assign):
            found.add(print_expr(item.target))
        elif isinstance(item, n.Increment):
            found.add(print_expr(item.operand))
        elif isinstance(item, n.ForeachKey):
            found.add(item.name)
        elif isinstance(item, n.TryStmt) and item.variable is not None:
            found.add(item.variable)
    return found
