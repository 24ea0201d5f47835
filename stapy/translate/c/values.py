"""What an expression became in C: a text that is pure, and what it depends on."""

from __future__ import annotations

from stapy.record import Record
from stapy.translate.c.text import number, string_literal

# Precedence levels of C, higher binds tighter.
ATOM, UNARY, MUL, ADD, SHIFT, LESS, EQUAL, AND, XOR, OR, ANDAND, OROR, CHOICE = range(15, 2, -1)

NOTHING: frozenset[str] = frozenset()


class Value(Record):
    """A pure C expression.

    ``level`` is its precedence; ``reads`` names the state that it reads
    ("l.x", "g.x"), so that a later side effect can force it into a temporary;
    ``is_fleeting`` marks a value that may differ at each evaluation (a clock).
    ``is_wide`` tells that the C type is s64: narrower ones are cast before
    arithmetic.  ``constant`` is the value of a literal.  ``room`` is the number
    of bytes, with the NUL, that a string can need; 0 means MAXSTRINGLEN.
    """

    text: str
    level: int = ATOM
    reads: frozenset[str] = NOTHING
    is_fleeting: bool = False
    is_wide: bool = True
    constant: int | str | None = None
    room: int = 0

    def at(self, level: int) -> str:
        """Return the text, in parentheses unless it binds at least as tight as ``level``."""
        return self.text if self.level >= level else f"({self.text})"

    def as_wide(self) -> Value:
        """Convert to the C type s64, where the value is narrower."""
        if self.is_wide:
            return self
        return Value(f"(s64){self.at(UNARY)}", UNARY, self.reads, self.is_fleeting, True)


def const(value: int) -> Value:
    """Make the `Value` of an integer constant."""
    text = number(value)
    level = UNARY if value < 0 and text != "S64_MIN" else ATOM
    return Value(text, level, is_wide=abs(value) > 0x7FFFFFFF, constant=value)


def literal(value: str) -> Value:
    """Make the `Value` of a string literal; it ends at a NUL byte, as all strings do."""
    value = value.split("\0", 1)[0]
    return Value(string_literal(value), constant=value, room=len(value) + 1)


def merged(*values: Value) -> frozenset[str]:
    """Collect everything that some values read."""
    return NOTHING.union(*(value.reads for value in values))
