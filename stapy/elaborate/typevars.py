"""Type variables: names such as ``?7`` that stand for a type until inference has found it.

A union-find over names.  The concrete names are those of ``program.py``
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
        self._origin: dict[str, Span] = {}
        self._count = 0

    def new(self) -> str:
        """A fresh type variable."""
        self._count += 1
        return f"?{self._count}"

    def find(self, kind: str) -> str:
        """What is known of ``kind``: a concrete type, or the variable that stands for its group."""
        root = kind
        while root in self._parent:
            root = self._parent[root]
        while kind != root:
            self._parent[kind], kind = root, self._parent[kind]
        return root

    def origin(self, kind: str) -> Span:
        """The place that gave the group of ``kind`` its type."""
        while kind in self._parent:
            if kind in self._origin:
                return self._origin[kind]
            kind = self._parent[kind]
        return self._origin.get(kind, NOWHERE)

    def unify(self, a: str, b: str, span: Span) -> bool:
        """Make two types one; False when both are concrete and differ."""
        first, second = self.find(a), self.find(b)
        if first == second:
            return True
        if not is_open(first):
            first, second = second, first
        if not is_open(first):
            return False
        if not is_open(second):
            self._origin[first] = span
        self._parent[first] = second
        return True

    def copy_origin(self, kind: str, span: Span) -> None:
        """Note ``span`` as the origin of a variable declared with a type."""
        self._origin.setdefault(kind, span)
