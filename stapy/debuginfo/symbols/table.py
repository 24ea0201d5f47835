"""Which functions exist in a kernel or module, whatever table told it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterator
from typing import Protocol

from stapy.debuginfo.elf import STT_FUNC, ElfFile
from stapy.debuginfo.sorted_lines import SortedLines
from stapy.debuginfo.symbols.kallsyms import SECTIONS, Kallsyms

# Mark behind the kind letter -> section or list, as messages name it.
MARKS = {
    "i": ".init.text",
    "n": ".noinstr.text",
    "k": ".kprobes.text",
    "e": ".entry.text",
    "b": "NOKPROBE_SYMBOL",
}
_TEXT = "tTwW"
_MANY = 64  # so many names one by one cost as much as all of them from the cache
# Behind this mark stands a number that all names of one address share.
SHARED = "="
_GROUP = re.compile(rf"{SHARED}(\d+)$", re.MULTILINE)


class Symbols(Protocol):
    """A kind is nm's letter and marks: those of `MARKS`, and `SHARED` of names of one address."""

    def kinds(self, name: str) -> list[str]:
        """List the kinds of all symbols of a name; empty when there is none."""

    def rows(self, prefix: str) -> Iterator[tuple[str, str]]:
        """Yield ``(name, kind)`` of the symbols whose name starts with ``prefix``, sorted."""

    def sharing(self, groups: Container[str]) -> Iterator[tuple[str, str]]:
        """Yield ``(name, group)`` of the symbols of some groups (see `shared`), sorted by name."""


class LineSymbols:
    """Symbols in lines ``name kind``."""

    def __init__(self, lines: SortedLines) -> None:
        self._lines = lines

    def kinds(self, name: str) -> list[str]:
        """List the kinds of all symbols of a name."""
        return [row.decode("latin-1") for row in self._lines.get(name.encode())]

    def rows(self, prefix: str) -> Iterator[tuple[str, str]]:
        """Yield ``(name, kind)`` of the symbols whose name starts with ``prefix``, sorted."""
        # A kernel has 160,000 rows: the text is decoded as a whole.
        for line in self._lines.text_of(prefix.encode()).split("\n"):
            name, space, kind = line.rpartition(" ")
            if space:
                yield name, kind

    def sharing(self, groups: Container[str]) -> Iterator[tuple[str, str]]:
        """Yield ``(name, group)`` of the symbols of some groups (see `shared`), sorted by name."""
        text = self._lines.text_of(b"")
        for found in _GROUP.finditer(text):
            if found[1] in groups:
                line = text[text.rfind("\n", 0, found.start()) + 1 : found.start()]
                yield line.rpartition(" ")[0], found[1]


class PackedSymbols:
    """A kernel image's own tables: single names are looked up, lists need the decoded text.

    ``expand`` gives that text (from the cache, or decoded now).
    """

    def __init__(self, tables: Kallsyms, expand: Callable[[], SortedLines]) -> None:
        self.tables = tables
        self._expand = expand
        self._text: LineSymbols | None = None
        self._asked = 0

    def _lines(self) -> LineSymbols:
        if self._text is None:
            self._text = LineSymbols(self._expand())
        return self._text

    def kinds(self, name: str) -> list[str]:
        """List the kinds of all symbols of a name."""
        self._asked += 1
        if self._text is None and self.tables.searchable and self._asked < _MANY:
            return self.tables.find(name)
        return self._lines().kinds(name)

    def rows(self, prefix: str) -> Iterator[tuple[str, str]]:
        """Yield ``(name, kind)`` of the symbols whose name starts with ``prefix``, sorted."""
        return self._lines().rows(prefix)

    def sharing(self, groups: Container[str]) -> Iterator[tuple[str, str]]:
        """Yield ``(name, group)`` of the symbols of some groups (see `shared`), sorted by name."""
        return self._lines().sharing(groups)


def is_function(kinds: list[str]) -> bool:
    """Tell whether a symbol of these kinds may be a function."""
    for kind in kinds:  # noqa: SIM110  # any() takes twice as long, for every symbol of a kernel
        if kind[:1] in _TEXT:
            return True
    return False


def section_of(kinds: list[str]) -> str:
    """Say why a function cannot be probed at any time: a value of `MARKS`, "" when it can."""
    for kind in kinds:
        if len(kind) > 1:
            for mark in kind[1:]:
                if mark in MARKS:
                    return MARKS[mark]
    return ""


def shared(kind: str) -> str:
    """Cut out what the names of one address have in common; "" for a name that stands alone."""
    return kind.partition(SHARED)[2]


def _with_shared(lines: list[bytes], places: list[object]) -> list[bytes]:
    """Mark the lines, where two of them have equal places."""
    counts = Counter(places)
    numbers = {place: number for number, place in enumerate(counts) if counts[place] > 1}
    return [
        line + f"{SHARED}{numbers[place]}".encode() if place in numbers else line
        for line, place in zip(lines, places, strict=True)
    ]


def elf_lines(elf: ElfFile) -> bytes:
    """Write the function symbols of a module or vmlinux as lines for `LineSymbols`."""
    init = {i for i, row in enumerate(elf.sections) if row.name.startswith(".init.text")}
    lines: list[bytes] = []
    places: list[object] = []
    for symbol in elf.symbols():
        if symbol.kind == STT_FUNC and symbol.section and symbol.name:
            kind = "t" if symbol.binding == 0 else "T"
            mark = "i" if symbol.section in init else ""
            lines.append(f"{symbol.name} {kind}{mark}".encode())
            places.append((symbol.section, symbol.value))
    return SortedLines.encode(_with_shared(lines, places))


def proc_lines(text: bytes) -> bytes:
    """Turn ``/proc/kallsyms`` into lines for `LineSymbols`, without symbols of modules."""
    rows: list[tuple[int, bytes, bytes]] = []
    for line in text.splitlines():
        fields = line.split()
        if len(fields) == 3:
            rows.append((int(fields[0], 16), fields[1], fields[2]))
    addresses = {name: address for address, _, name in rows}
    ranges = [
        (mark, addresses.get(start, 0), addresses.get(end, 0)) for mark, start, end in SECTIONS
    ]
    ranges = [row for row in ranges if 0 < row[1] < row[2]]
    refused = {name[10:] for _, _, name in rows if name.startswith(b"_kbl_addr_")}
    lines: list[bytes] = []
    places: list[object] = []
    for number, (address, kind, name) in enumerate(rows):
        line = name + b" " + kind
        for mark, first, last in ranges:
            if first <= address < last:
                line += mark
        lines.append(line + b"b" if name in refused else line)
        places.append(address if address and kind.decode() in _TEXT else -number)
    return SortedLines.encode(_with_shared(lines, places))
