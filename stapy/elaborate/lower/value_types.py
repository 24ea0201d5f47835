"""What is known of the C types behind values that the language calls numbers (for autocast)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.debuginfo import ctypes
from stapy.elaborate.lower.pending import Pending
from stapy.ir import program as p

if TYPE_CHECKING:
    from stapy.debuginfo.ctypes import CType
    from stapy.elaborate.lower.lowerer import Body


class ValueTypes:
    """C types of the expressions of one program, as far as they are known."""

    def __init__(self) -> None:
        # Expressions are kept with their C type: an id is only unique while its object lives.
        self._ctypes: dict[int, tuple[p.Expr, CType]] = {}
        self._stored: dict[int, list[CType | None]] = {}  # in globals, by their id

    def remember(self, value: p.Expr, type: CType | None) -> None:
        """Note the C type of an expression."""
        if type is not None:
            self._ctypes[id(value)] = (value, type)

    def ctype(self, value: p.Expr) -> CType | None:
        """The C type of an expression, when it is known."""
        found = self._ctypes.get(id(value))
        return found[1] if found is not None else None

    def common_ctype(self, values: list[p.Expr]) -> CType | None:
        """The C type that all values with a known one share; constants do not count."""
        return common([self.ctype(v) for v in values if not isinstance(v, p.Const)])

    def assign(self, body: Body, name: str, value: p.Expr) -> None:
        """A local got a value; two different types make its type unknown."""
        if isinstance(value, p.Const):
            return
        if isinstance(value, Pending):
            body.causes.setdefault(name, value)
        type = self.ctype(value)
        if name in body.ctypes:
            type = common([body.ctypes[name], type])
        body.ctypes[name] = type

    def note_stored(self, target: p.Expr, type: CType | None) -> None:
        """A global was given a value of this C type."""
        if isinstance(target, p.GlobalRef):
            self._stored.setdefault(id(target.var), []).append(type)

    def holds_pointers(self, var: p.Global) -> bool:
        """True when a scalar global was given a pointer anywhere."""
        types = self._stored.get(id(var), [])
        return not var.keys and any(
            type is not None and isinstance(ctypes.strip(type), ctypes.Pointer) for type in types
        )


def common(types: list[CType | None]) -> CType | None:
    """The one type that all are; None when they differ or one is not known."""
    if not types or any(t is None for t in types):
        return None
    names = {ctypes.c_name(t) for t in types if t is not None}
    return types[0] if len(names) == 1 else None
