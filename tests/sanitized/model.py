"""What the runtime's arrays, statistics and formats are to do, in Python."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

Key: TypeAlias = int | bytes
Keys: TypeAlias = tuple[Key, ...]
CPUS = 3


def wrapped(value: int) -> int:
    """Wrap a number as 64 bits with a sign hold it."""
    return (value + 2**63) % 2**64 - 2**63


def quotient(a: int, b: int) -> int:
    """Divide as C does: towards zero."""
    return abs(a) // b if a >= 0 else -(abs(a) // b)


def text(value: bytes) -> str:
    return "x" + value.hex()


def written(keys: Keys) -> str:
    return " ".join(text(key) if isinstance(key, bytes) else str(key) for key in keys)


@dataclass(frozen=True)
class Shape:
    """What is kept of a statistic: a histogram of powers of two, or a linear one."""

    variance: bool = False
    linear: tuple[int, int, int] | None = None  # low, high, step

    def bucket(self, value: int) -> int:
        if self.linear is None:
            length = abs(value).bit_length()
            return 64 + length if value >= 0 else 64 - length
        low, high, step = self.linear
        last = (high - low) // step + 2
        return 0 if value < low else min((value - low) // step + 1, last)


def said_of(values: list[int], shape: Shape) -> str:
    """Print a statistic as the program prints it."""
    if not values:
        return "none"
    count, total = len(values), wrapped(sum(values))
    figures = [count, total, min(values), max(values), quotient(total, count)]
    if shape.variance:
        figures.append(variance(values))
    buckets: dict[int, int] = {}
    for value in values:
        buckets[shape.bucket(value)] = buckets.get(shape.bucket(value), 0) + 1
    return (
        " ".join(map(str, figures))
        + " "
        + "".join(f"{number}:{buckets[number]}," for number in sorted(buckets))
    )


def variance(values: list[int]) -> int:
    """Compute the variance of a sample, cut to a whole number; at most the greatest `s64`."""
    count = len(values)
    if count < 2:
        return 0
    exact = count * sum(value * value for value in values) - sum(values) ** 2
    return min(exact // (count * (count - 1)), 2**63 - 1)


@dataclass(frozen=True)
class Declaration:
    """One array of structures.c."""

    keys: tuple[int, ...]  # bytes of a string's buffer; 0: a number
    size: int
    wraps: bool = False
    value: int = 0  # bytes of a string's buffer; 0: a number
    shape: Shape | None = None
    told_size: bool = True  # the message names the size

    def cut(self, keys: Keys) -> Keys:
        """Cut keys as they are kept."""
        return tuple(
            key[: most - 1] if isinstance(key, bytes) else key
            for key, most in zip(keys, self.keys, strict=True)
        )


@dataclass
class Array:
    """An array: of a statistic one table for each CPU, else one table. Oldest elements first."""

    declared: Declaration
    tables: list[dict[Keys, object]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.tables = [{} for _ in range(CPUS if self.declared.shape else 1)]

    def take(self, keys: Keys, cpu: int, new: object) -> str | object:
        """Return the element's value, made if not there; a text is the error of a full array."""
        table, keys = self.tables[cpu], self.declared.cut(keys)
        if keys not in table:
            if len(table) == self.declared.size:
                if not self.declared.wraps:
                    size = f"size limit ({self.declared.size})"
                    told = size if self.declared.told_size else "MAXMAPENTRIES"
                    return f"error Array overflow, check {told}"
                del table[next(iter(table))]
            table[keys] = new
        return table[keys]

    def set(self, keys: Keys, value: Key) -> str:
        made = self.take(keys, 0, [])
        if isinstance(made, str):
            return made
        kept = value[: self.declared.value - 1] if isinstance(value, bytes) else value
        self.tables[0][self.declared.cut(keys)] = kept
        return "ok"

    def add(self, keys: Keys, cpu: int, value: int) -> str:
        made = self.take(keys, cpu, [])
        if isinstance(made, str):
            return made
        assert isinstance(made, list)
        made.append(value)
        return "ok"

    def get(self, keys: Keys) -> str:
        keys = self.declared.cut(keys)
        present = any(keys in table for table in self.tables)
        return f"{int(present)} {self.said(keys)}"

    def said(self, keys: Keys) -> str:
        """Print an element's value as the program prints it."""
        if self.declared.shape:
            return said_of(self.values(keys), self.declared.shape)
        value = self.tables[0].get(keys, b"" if self.declared.value else 0)
        return text(value) if isinstance(value, bytes) else str(value)

    def values(self, keys: Keys) -> list[int]:
        """Collect all that was added to an element of a statistic, on all CPUs."""
        found: list[int] = []
        for table in self.tables:
            part = table.get(keys, [])
            assert isinstance(part, list)
            found += part
        return found

    def drop(self, keys: Keys) -> None:
        for table in self.tables:
            table.pop(self.declared.cut(keys), None)

    def matching(self, keys: Keys, any_of: int) -> list[Keys]:
        """Elements of a slice, each once; -1: all elements. In the order of a walk."""
        wanted = self.declared.cut(keys)
        return list(
            {
                found: None
                for table in self.tables
                for found in table
                if any_of < 0
                or all(
                    any_of >> at & 1 or found[at] == wanted[at]
                    for at in range(len(self.declared.keys))
                )
            }
        )

    def slice(self, keys: Keys, any_of: int) -> str:
        found = self.matching(keys, any_of)
        if not self.declared.shape:
            return f"{int(bool(found))} "
        values = [value for each in found for value in self.values(each)]
        return f"{int(bool(found))} {said_of(values, self.declared.shape)}"

    def drop_slice(self, keys: Keys, any_of: int) -> str:
        found = self.matching(keys, any_of)
        for each in found:
            self.drop(each)
        return f"{int(bool(found))} "

    def each(
        self, sort: int, operator: int, descending: bool, limit: int, keys: Keys, any_of: int
    ) -> str:
        found = self.matching(keys, any_of)
        if sort == 1:
            found.sort(key=lambda at: self.rank(at, operator), reverse=descending)
        elif sort > 1:
            found.sort(key=lambda at: at[sort - 2], reverse=descending)
        if limit >= 0:
            found = found[:limit]
        return "".join(f"{written(at)} {self.said(at)};" for at in found)

    def rank(self, keys: Keys, operator: int) -> object:
        """Return what a loop that is sorted by value compares."""
        if not self.declared.shape:
            return self.tables[0][keys]
        return int(said_of(self.values(keys), self.declared.shape).split()[operator])


def padded(body: str, width: int, is_left: bool) -> str:
    return body.ljust(width) if is_left else body.rjust(width)


LEFT, PLUS, SPACE, ZERO, ALTERNATIVE = 1, 2, 4, 8, 16


def number(value: int, conversion: str, flags: int, width: int, precision: int) -> str:
    """Format a number by printf's rules; as in the kernel, zeros fill the width, too."""
    sign = ""
    if conversion == "d":
        digits = str(abs(value))
        sign = "-" if value < 0 else "+" if flags & PLUS else " " if flags & SPACE else ""
    else:
        kind = {"u": "d", "p": "x"}.get(conversion, conversion)
        digits = format(value % 2**64, kind)
        if conversion != "u" and (flags & ALTERNATIVE or conversion == "p"):
            sign = {"o": "0", "x": "0x", "X": "0X", "p": "0x"}[conversion]
    digits = digits.rjust(precision, "0")
    if flags & ZERO and not flags & LEFT:
        digits = digits.rjust(width - len(sign), "0")
    return padded(sign + digits, width, bool(flags & LEFT))
