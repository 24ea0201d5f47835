"""Type variables: names such as ``?7`` that stand for a type until inference has found it.

A union-find over names.  The concrete names are those of ``ir/program.py``
("long", "string", "stats", "void"); the first place that gave a variable its
type is kept, so that a conflict can show both places.
"""

from __future__ import annotations

from stapy.diagnostics import NOWHERE, Span


def is_open(kind: str) -> bool:
    """True for a type variable."""
    return kind.startswith("?")


class TypeTable:
    """All type variables of one program."""

    def __init__(self) -> None:
        self._parent: dict[str, str] = {}
        self._known: dict[str, tuple[str, Span]] = {}  # by root: type and where it came from
        self._count = 0

    def new(self) -> str:
        """A fresh type variable."""
        self._count += 1
        return f"?{self._count}"

    def _root(self, kind: str) -> str:
        root = kind
        while root in self._parent:
            root = self._parent[root]
        while kind != root:
            self._parent[kind], kind = root, self._parent[kind]
        return root

    def find(self, kind: str) -> str:
        """What is known of ``kind``: a concrete type, or the variable that stands for its group."""
        if not is_open(kind):
            return kind
        root = self._root(kind)
        known = self._known.get(root)
        return known[0] if known is not None else root

    def origin(self, kind: str) -> Span:
        """The place that gave the group of ``kind`` its type."""
        known = self._known.get(self._root(kind)) if is_open(kind) else None
        return known[1] if known is not None else NOWHERE

    def unify(self, a: str, b: str, span: Span) -> bool:
        """Make two types one; False when both are concrete and differ."""
        first, second = self.find(a), self.find(b)
        if first == second:
            return True
        if is_open(first) and is_open(second):
            self._parent[first] = second
            return True
        if is_open(first):
            self._known[first] = (second, self._place(b, span))
            return True
        if is_open(second):
            self._known[second] = (first, self._place(a, span))
            return True
        return False

    def _place(self, kind: str, span: Span) -> Span:
        """Where a type comes from: the first place that said so, else this one."""
        origin = self.origin(kind)
        return origin if origin != NOWHERE else span
