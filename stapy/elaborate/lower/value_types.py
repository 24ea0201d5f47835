"""What is known of the C types behind values that the language calls numbers (for autocast)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.debuginfo import ctypes
from stapy.elaborate.lower.pending import Pending
from stapy.ir import program as p

if TYPE_CHECKING:
    from stapy.debuginfo.ctypes import CType
    from stapy.elaborate.lower.body import LoweringState


MIXED: CType = ctypes.UnknownType("values of two types")  # of a local that has had both


class ValueTypes:
    """C types of the expressions of one program, as far as they are known.

    ``known`` are those of globals, as an earlier look at the same scripts found them.
    """

    def __init__(self, known: dict[str, CType] | None = None) -> None:
        self._known = known or {}  # by c_name
        self._copied: dict[int, list[p.Global]] = {}  # which others a global was given
        self.asked: set[str] = set()  # globals whose type would have been of use
        # Expressions are kept with their C type: an id is only unique while its object lives.
        self._ctypes: dict[int, tuple[p.Expr, CType]] = {}
        self._stored: dict[int, tuple[p.Global, list[CType | None]]] = {}  # by the global's id

    def remember(self, value: p.Expr, type: CType | None) -> None:
        """Note the C type of an expression."""
        if type is not None:
            self._ctypes[id(value)] = (value, type)

    def ctype(self, value: p.Expr) -> CType | None:
        """Find the C type of an expression, None when it is not known."""
        found = self._ctypes.get(id(value))
        return found[1] if found is not None else None

    def common_ctype(self, values: list[p.Expr]) -> CType | None:
        """Find the C type that all values share, constants left out; None when one is unknown."""
        return common([self.ctype(v) for v in values if not isinstance(v, p.Const)])

    def assign(self, body: LoweringState, name: str, value: p.Expr) -> None:
        """Note that a local got a value; two different types make its type unknown.

        A value without a type leaves what was known, as in SystemTap.
        """
        if isinstance(value, p.Const):
            return
        if isinstance(value, Pending):
            body.causes.setdefault(name, value)
        before, type = body.ctypes.get(name), self.ctype(value)
        if before is not None and type is not None:
            type = common([before, type]) or MIXED
        body.ctypes[name] = before if type is None else type

    def note_stored(self, target: p.Expr, value: p.Expr) -> None:
        """Note that a global was given a value."""
        if isinstance(target, p.GlobalRef):
            type = self.ctype(value)
            if isinstance(value, p.GlobalRef):
                self._copied.setdefault(id(target.var), []).append(value.var)
            self._stored.setdefault(id(target.var), (target.var, []))[1].append(type)

    def of_local(self, body: LoweringState, name: str) -> CType | None:
        """Find the C type of what a local holds at this place, None when it is not known."""
        type = body.ctypes.get(name)
        return None if type is MIXED else type

    def of_global(self, var: p.Global) -> CType | None:
        """Find the C type of what a scalar global holds, None when it is not known."""
        return None if var.keys else self._known.get(var.c_name)

    def want(self, body: LoweringState, value: p.Expr) -> None:
        """Note that a member was asked of a value whose type is not known."""
        if isinstance(value, p.GlobalRef):
            self.asked.add(value.var.c_name)
        elif isinstance(value, p.LocalRef):
            body.wanted.add(value.name)

    def of_globals(self) -> dict[str, CType]:
        """Map the c_name of each scalar global given values of one type only to that type."""
        found = {}
        for var, types in self._stored.values():
            type = common([type for type in types if type is not None])
            if type is not None and not var.keys:
                found[var.c_name] = type
        return found

    def holds_pointers(self, var: p.Global) -> bool:
        """Tell whether a scalar global was given a pointer, if only by another global."""
        given, seen = [var], {id(var)}
        for one in given:
            types = self._stored.get(id(one), (one, []))[1]
            if not one.keys and any(
                type is not None and isinstance(ctypes.strip(type), ctypes.Pointer)
                for type in types
            ):
                return True
            more = [other for other in self._copied.get(id(one), []) if id(other) not in seen]
            seen |= {id(other) for other in more}
            given += more
        return False


def common(types: list[CType | None]) -> CType | None:
    """Return the one type that all are; None when they differ or one is not known."""
    if not types or any(t is None for t in types):
        return None
    names = {ctypes.c_name(t) for t in types if t is not None}
    return types[0] if len(names) == 1 else None
