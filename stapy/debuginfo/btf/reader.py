"""BTF, the compact type information that kernels and modules carry.

Opening costs one walk over the type headers, and nothing when its index comes
from the cache: types become objects of `stapy.debuginfo.ctypes` one by one, on
first use.  A module's BTF is split: its type numbers and string offsets
continue those of the kernel's, its ``base``.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from stapy.debuginfo import ctypes as c
from stapy.debuginfo.basic_types import basic_name
from stapy.debuginfo.btf.index import DATASEC, ENUM, ENUM64, KIND_LETTERS, kind_of
from stapy.debuginfo.btf.section import BtfIndex, BtfSection
from stapy.debuginfo.btf.types import TypeFactory
from stapy.debuginfo.elf import Buffer
from stapy.debuginfo.glob import literal_prefix, matcher

TRACEITER = "__traceiter_"
_MANY = 64  # so many names one by one cost as much as all of them
_SECTIONS = 64  # how many types at the end may be sections


class Btf(BtfSection):
    """The questions to one BTF section and its base."""

    base: Btf | None

    def __init__(
        self,
        data: Buffer,
        name: str,
        base: Btf | None = None,
        index: BtfIndex | None = None,
        part: tuple[int, int] | None = None,
        kept: Path | None = None,
    ) -> None:
        super().__init__(data, name, base, index, part, kept)
        self._factory = TypeFactory(self, self.type_by_number)
        self._several: set[str] | None = None
        self._asked = 0

    def type_by_number(self, number: int) -> c.CType:
        """Make the type of a number; `Unknown` for a number that does not exist."""
        if number < self.first and self.base is not None:
            return self.base.type_by_number(number)
        return self._factory.get(number)

    def _numbers(self, letter: str, name: str) -> list[int]:
        rows = self.index.names.get(f"{letter} {name}".encode())
        return [self._number(row) for row in rows]

    def _number(self, text: bytes | str) -> int:
        try:
            return int(text)
        except ValueError:
            raise self.damaged("a damaged index of names") from None

    def function(self, name: str) -> c.FunctionType | None:
        """Find the prototype of a function by name; of several, the first; None without one."""
        number = self.function_number(name)
        return None if number is None else self.prototype(number)

    def function_number(self, name: str) -> int | None:
        """Find the type number of the first function of this name; None without one."""
        return next(iter(self._numbers("f", name)), None)

    def prototypes(self, name: str) -> list[c.FunctionType]:
        """List the prototypes of all functions of this name."""
        found = map(self.prototype, self._numbers("f", name))
        return [type for type in found if type is not None]

    def shares_name(self, name: str) -> bool:
        """Tell whether BTF describes several functions of this name."""
        self._asked += 1
        if self._several is None and self._asked < _MANY:
            return len(self._numbers("f", name)) > 1
        if self._several is None:
            rows = self.index.names.text_of(b"f ").split("\n")
            names = [row[2 : row.rfind(" ")] for row in rows]
            self._several = {name for name, following in pairwise(names) if name == following}
        return name in self._several

    def prototype(self, number: int) -> c.FunctionType | None:
        """Make the prototype of the FUNC with this type number; None when it is damaged."""
        _, _, proto, _ = self.header(number)
        type = self.type_by_number(proto)
        return type if isinstance(type, c.FunctionType) else None

    def has_function(self, name: str) -> bool:
        """Tell whether BTF describes a function of this name."""
        return bool(self._numbers("f", name))

    def function_numbers(self, pattern: str = "*") -> Iterator[tuple[str, int]]:
        """Yield ``(name, type number)`` of functions that match ``* ? []``.

        Sorted by name, each name once.
        """
        prefix = literal_prefix(pattern)
        match = matcher(pattern)
        last = ""
        for row in self.index.names.with_prefix(b"f " + prefix.encode()):
            rest, _, number = row.decode("latin-1").rpartition(" ")
            name = prefix + rest
            if name != last and match(name):
                yield name, self._number(number)
            last = name

    def functions(self, pattern: str = "*") -> Iterator[str]:
        """Yield the names of functions that match ``* ? []``, sorted, each once."""
        return (name for name, _ in self.function_numbers(pattern))

    def tracepoints(self, pattern: str = "*") -> Iterator[str]:
        """Yield names of tracepoints that match; `tracepoint` gives their parameters."""
        for name in self.functions(TRACEITER + pattern):
            yield name[len(TRACEITER) :]

    def tracepoint(self, name: str) -> list[c.Parameter] | None:
        """Find the parameters of a tracepoint; None when there is none of that name."""
        proto = self.function(TRACEITER + name)
        return None if proto is None else proto.params[1:]

    def type(self, name: str) -> c.CType | None:
        """Find ``struct x``, ``union x``, ``enum x`` or ``x``; None when there is none.

        ``x`` alone is a typedef or basic type, else a tag.
        """
        name = basic_name(name) or name
        kind, _, tag = name.strip().rpartition(" ")
        letters = {"struct": "sw", "union": "uW", "enum": "e", "class": "s"}.get(kind)
        if letters is None:
            tag, letters = " ".join(name.split()), "tisue"
        for letter in letters:
            for number in self._numbers(letter, tag.replace(" ", "\t")):
                return self.type_by_number(number)
        return None

    def type_names(self, letters: str = "sue") -> Iterator[str]:
        """Yield names of all types of some kinds, as `type` takes them (for suggestions)."""
        words = {"s": "struct ", "u": "union ", "e": "enum "}
        for letter in letters:
            for row in self.index.names.with_prefix(f"{letter} ".encode()):
                name = row[: row.rfind(b" ")].decode("latin-1")
                yield words.get(letter, "") + name.replace("\t", " ")

    def variable(self, name: str) -> c.CType | None:
        """Find the type of a global variable; None unless it is per CPU, as BTF has them."""
        for number in self._numbers("v", name):
            return self.type_by_number(self.header(number)[2])
        return None

    def per_cpu(self, name: str) -> tuple[c.CType, int] | None:
        """Find a per-CPU variable's type, and its offset in bytes in its section.

        Returns None when there is none of that name.
        """
        wanted = set(self._numbers("v", name))
        last = self.first + len(self.index.positions) - 1
        # Sections are the last types of all.
        for number in range(last, max(self.first, last - _SECTIONS) - 1, -1) if wanted else ():
            text, info, _, body = self.header(number)
            if kind_of(info) != DATASEC or self.string(text) != b".data..percpu":
                continue
            rows = self.words(body, 3 * (info & 0xFFFF))
            for variable, offset in zip(rows[::3], rows[1::3]):
                if variable in wanted:
                    return self.type_by_number(self.header(variable)[2]), offset
        return None

    def enumerator(self, name: str) -> int | None:
        """Find the value of an enumeration constant; None when there is none of that name.

        They are not in the index: one search for the string and one for its
        offset among the types answer in about two milliseconds.
        """
        offset = self._string_offset(name.encode())
        if offset is None:
            return None
        for number, value in self._enumerators_at(offset):
            type = self.type_by_number(number)
            if isinstance(type, c.Enum):
                for row in type.values:
                    if row.name == name:
                        return row.value
            return value
        return None

    def enumerators(self) -> Iterator[str]:
        """Yield the names of all enumeration constants, by a walk over all types.

        It is slow, and meant for suggestions.
        """
        for number in range(self.first, self.end):
            _, info, _, _ = self.header(number)
            if kind_of(info) in (ENUM, ENUM64):
                type = self.type_by_number(number)
                for row in type.values if isinstance(type, c.Enum) else ():
                    yield row.name

    def _string_offset(self, text: bytes) -> int | None:
        at = self._data.find(b"\0" + text + b"\0", self._text, self._text + self._text_size)
        if at >= 0:
            return at + 1 - self._text + self._first_text
        return self.base._string_offset(text) if self.base else None

    def _enumerators_at(self, offset: int) -> Iterator[tuple[int, int]]:
        needle = struct.pack("<I", offset)
        at = self._types
        end = self._types + self._type_size
        while (at := self._data.find(needle, at, end)) >= 0:
            place = at - self._types
            if place % 4 == 0:
                row = bisect_right(self.index.positions, place) - 1
                if row >= 0:
                    _, info, _, body = self.header(self.first + row)
                    stride = {6: 8, 19: 12}.get(kind_of(info))
                    inside = at - body
                    if stride and 0 <= inside < stride * (info & 0xFFFF) and inside % stride == 0:
                        yield self.first + row, self.words(at, 2)[1]
            at += 1


__all__ = ["KIND_LETTERS", "Btf", "BtfIndex"]
