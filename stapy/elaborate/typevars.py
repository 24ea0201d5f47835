"""Type variables: what inference has found out about each `OpenType`.

A union-find over types.  The first place that gave a variable its type is kept,
so that a conflict can show both places.
"""

from __future__ import annotations

from stapy.diagnostics import NOWHERE, Span
from stapy.ir.program import OpenType, Type


def is_open(kind: Type) -> bool:
    """Tell whether a type is a type variable."""
    return isinstance(kind, OpenType)


class TypeTable:
    """All type variables of one program."""

    def __init__(self) -> None:
        self._parent: dict[Type, Type] = {}
        self._known: dict[Type, tuple[Type, Span]] = {}  # by root: type and where it came from

    def new(self) -> Type:
        """Make a fresh type variable."""
        return OpenType()

    def _root(self, kind: Type) -> Type:
        root = kind
        while root in self._parent:
            root = self._parent[root]
        while kind != root:
            self._parent[kind], kind = root, self._parent[kind]
        return root

    def find(self, kind: Type) -> Type:
        """Resolve ``kind``: to a concrete type, or the variable that stands for its group."""
        if not is_open(kind):
            return kind
        root = self._root(kind)
        known = self._known.get(root)
        return known[0] if known is not None else root

    def settled(self, kind: Type, otherwise: Type) -> Type:
        """Resolve ``kind`` to what it was found to be, or to ``otherwise`` when nothing told."""
        found = self.find(kind)
        return otherwise if is_open(found) else found

    def origin(self, kind: Type) -> Span:
        """Find the place that gave the group of ``kind`` its type, NOWHERE when none did."""
        known = self._known.get(self._root(kind)) if is_open(kind) else None
        return known[1] if known is not None else NOWHERE

    def unify(self, a: Type, b: Type, span: Span) -> bool:
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

    def _place(self, kind: Type, span: Span) -> Span:
        """Return where a type comes from: the first place that said so, else ``span``."""
        origin = self.origin(kind)
        return origin if origin != NOWHERE else span
