"""Equalities between types; a conflict is reported where it was found.

The message shows the place that settled the other type as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.debuginfo import ctypes
from stapy.diagnostics import NOWHERE, Diagnostics, Label, Span
from stapy.elaborate.typevars import TypeTable
from stapy.ir import program as p

if TYPE_CHECKING:
    from collections.abc import Callable

    from stapy.debuginfo.ctypes import CType

# What functions of the library print, and what has it without names.
_STACKS = {
    "backtrace": ", backtrace() its addresses",
    "ubacktrace": ", ubacktrace() its addresses",
    "stack": "",
    "syms": "",
    "ustack": "",
    "usyms": "",
}


class Constraints:
    """What is required of the types of values; `TypeTable` joins those that must be equal."""

    def __init__(self, types: TypeTable, diagnostics: Diagnostics) -> None:
        self.types = types
        self.diagnostics = diagnostics
        # The C type of an expression, where somebody knows it.
        self.ctype: Callable[[p.Expr], CType | None] = lambda value: None
        self.function: p.Function | None = None  # whose body is looked at
        self.loops: list[p.Foreach] = []  # with a value, of an array that may be of statistics

    def expect(self, value: p.Expr, kind: p.Type, hint: str = "") -> None:
        """Unify a value's type with ``kind``; report a mismatch.

        ``hint`` is what helps where a string stands for a long, or a long for a string, if that is
        not a conversion.
        """
        found = self.types.find(value.type)
        if found == p.VOID:
            self.report_no_value(value)
        elif not self.types.unify(value.type, kind, value.span):
            expected, origin = self.types.find(kind), self.types.origin(value.type)
            if origin in (NOWHERE, value.span):
                settled = self.types.origin(kind)
                self.report_mismatch(expected, found, value.span, settled, expected, value, hint)
            else:
                self.report_mismatch(expected, found, value.span, origin, found, value, hint)

    def same(self, a: p.Expr, b: p.Expr, span: Span) -> None:
        """Unify the types of two values; report a mismatch as the fault of the second."""
        first, second = self.types.find(a.type), self.types.find(b.type)
        for value, kind in ((a, first), (b, second)):
            if kind == p.VOID:
                self.report_no_value(value)
                return
        if not self.types.unify(a.type, b.type, span):
            origin = self.types.origin(a.type)
            settled = origin if origin != NOWHERE else a.span
            self.report_mismatch(first, second, b.span, settled, first, b)

    def is_scalar(self, value: p.Expr) -> bool:
        """Tell whether a value may be a long or a string; report it when it cannot be either."""
        kind = self.types.find(value.type)
        if kind == p.VOID:
            self.report_no_value(value)
            return False
        if kind == p.STATS:
            self.diagnostics.error(
                "semantic error",
                "E0301",
                "invalid type stats",
                value.span,
                where="a statistic is no value by itself",
                hint="read it with @count, @sum, @avg, … or print(@hist_log(x))",
            )
            return False
        return True

    def report_no_value(self, value: p.Expr) -> None:
        """Report that a value is needed and a call, or an expression, has none."""
        name, hint = "print", ""
        if isinstance(value, p.CallOp):
            name, hint = value.function.name, self._value_hint(value.function)
        self.diagnostics.error(
            "semantic error",
            "E0304",
            f"unresolved type: '{name}' returns no value",
            value.span,
            where="a value is needed here",
            hint=hint,
        )

    def _value_hint(self, function: p.Function) -> str:
        """Say what has the value of a function that has none."""
        source = self.diagnostics.sources.source(function.span)
        if source is not None and source.is_library:
            what = function.name.removeprefix("print_").partition("_")[0]
            if what in _STACKS and function.name != what:
                return f"s{function.name[:6]}{what}() has the text that it prints{_STACKS[what]}"
            return "it only prints, and is a statement of its own"
        if function.code is not None:
            return f"give it a type, long or string: function {function.name}:long (…)"
        return "let the function return something"

    def report_mismatch(
        self,
        expected: p.Type,
        found: p.Type,
        span: Span,
        origin: Span,
        origin_kind: p.Type,
        value: p.Expr | None = None,
        hint: str = "",
    ) -> None:
        """Report two types that differ; ``origin`` is the place that settled ``origin_kind``."""
        labels = []
        if origin not in (NOWHERE, span):
            text = f"type was first inferred here ({origin_kind})"
            labels.append(Label(origin, text))
        self.diagnostics.error(
            "semantic error",
            "E0301",
            f"type mismatch: expected {expected} but found {found}",
            span,
            where=f"this is a {found}" if found != p.STATS else "this is a statistic",
            labels=labels,
            hint=(expected == p.STRING and value is not None and self._text_hint(value))
            or (hint if {expected, found} == {p.LONG, p.STRING} else "")
            or (expected == p.STRING and value is not None and self._members_hint(value))
            or _convert_hint(expected, found),
        )

    def _members_hint(self, value: p.Expr) -> str:
        """Say how a struct that a target variable points to is printed, "" for other values."""
        known = self.ctype(value)
        type = ctypes.strip(known) if known is not None else None
        written = self.diagnostics.sources.text(value.span)
        if not isinstance(type, ctypes.Pointer) or not written.startswith("$"):
            return ""
        if not isinstance(ctypes.strip(type.target), ctypes.Struct):
            return ""
        return f"{written}$ is the text of its members, {written}$$ with those in them"

    def _text_hint(self, value: p.Expr) -> str:
        """Name the function that reads the text a value points to, "" when it points to none."""
        known = self.ctype(value)
        type = ctypes.strip(known) if known is not None else None
        if isinstance(type, ctypes.Pointer):
            target = ctypes.strip(type.target)
        elif isinstance(type, ctypes.Array):
            target = ctypes.strip(type.element)
        else:
            return ""
        written = self.diagnostics.sources.text(value.span) or "pointer"
        if not (isinstance(target, ctypes.Int) and target.size == 1):
            return ""
        if isinstance(type, ctypes.Pointer) and type.is_user:
            return f"user_string({written}) reads the text that it points to"
        other = "" if isinstance(type, ctypes.Array) else " (user_string(), when it is a program's)"
        return f"kernel_string({written}) reads the text that it points to{other}"


def _convert_hint(expected: p.Type, found: p.Type) -> str:
    if expected == p.LONG and found == p.STRING:
        return "strtol(text, 10) makes a number of a string"
    if expected == p.STRING and found == p.LONG:
        return 'sprint(number) or sprintf("%d", number) makes a string'
    if expected == p.STATS:
        return "a statistic is filled with '<<<', not with '='"
    if found == p.STATS:
        return "read a statistic with @count, @sum, @avg, …"
    return ""
