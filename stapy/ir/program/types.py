"""Types of values.

There is one immutable object for each type, and one more for each type that is not found yet.
Types are compared with ``==``, never by their text, and so will be those that have a size.
"""

from __future__ import annotations

from typing import ClassVar


class Type:
    """What an expression, a variable or a function gives; as text, what dumps and messages say."""

    __slots__ = ()
    name: ClassVar[str]

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class LongType(Type):
    """A number of 64 bits."""

    __slots__ = ()
    name = "long"


class StringType(Type):
    """Text: bytes up to MAXSTRINGLEN."""

    __slots__ = ()
    name = "string"


class StatsType(Type):
    """A statistic, which ``<<<`` fills: a global, or the elements of one."""

    __slots__ = ()
    name = "stats"


class VoidType(Type):
    """No value: what a function without result gives."""

    __slots__ = ()
    name = "void"


class HistogramType(Type):
    """A whole histogram; only as an argument of `PrintOp`."""

    __slots__ = ()
    name = "histogram"


class OpenType(Type):
    """A type that inference has yet to find; each object is one of its own.

    `TypeTable` of pass 2 makes them and knows what became of each; no `Program` has any.
    """

    __slots__ = ()
    name = "unknown"


LONG: Type = LongType()
STRING: Type = StringType()
STATS: Type = StatsType()
VOID: Type = VoidType()
HISTOGRAM: Type = HistogramType()

# Types that a script can write down, by their words.
WRITTEN = {LONG.name: LONG, STRING.name: STRING}
