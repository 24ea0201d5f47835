"""Reads the index of one debug file in place; `build.py` makes it."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Literal, overload

from stapy.debuginfo import pack
from stapy.debuginfo.elf import Buffer
from stapy.debuginfo.errors import DamagedIndexError, DebuginfoError
from stapy.debuginfo.glob import has_wildcard, literal_prefix, matcher
from stapy.diagnostics.suggest import nearest
from stapy.patterns import compiled_when_used
from stapy.record import Record

VERSION = 8
_OPERATOR = compiled_when_used(r"(?:^|(?<=::))operator(?!\w).*$", re.S)
NO_FILE = 0xFFFFFFFF  # file number of what names no file


class Site(Record):
    """One place of a function: its entry out of line, or that of an inlined instance."""

    pc: int
    entry: int
    inlined: bool


class FunctionRow(Record):
    """One function of the source; ``entry`` is where its attributes are.

    ``scope`` has the namespaces and classes around it, "" in C.
    """

    name: str
    file: str
    line: int
    entry: int
    sites: list[Site]
    scope: str = ""

    @property
    def qualified(self) -> str:
        """The name with its scope."""
        return f"{self.scope}::{self.name}" if self.scope else self.name


class _Texts(Sequence[bytes]):
    """A table of texts."""

    def __init__(self, blob: memoryview, starts: memoryview) -> None:
        self.blob = blob
        self.starts = starts
        self._count = len(starts) - 1
        self._shown: dict[int, str] = {}  # those that were asked for

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, row: int) -> bytes: ...
    @overload
    def __getitem__(self, row: slice) -> Sequence[bytes]: ...
    def __getitem__(self, row: int | slice) -> bytes | Sequence[bytes]:
        if isinstance(row, slice):
            return bytes(self.blob[self.starts[row.start] : self.starts[row.stop]]).split(b"\n")[
                :-1
            ]
        if not 0 <= row < self._count:
            raise IndexError(row)
        return bytes(self.blob[self.starts[row] : self.starts[row + 1] - 1])

    def span(self, prefix: bytes) -> tuple[int, int]:
        """Find the rows of a sorted table that start with a prefix: first and behind the last."""
        low = bisect_left(self, prefix)
        high = bisect_left(self, prefix + b"\xff\xff\xff\xff", low)
        return low, high

    def shown(self, row: int) -> str:
        """Look up the text of a row to be shown; raises `IndexError` for one that is not there."""
        found = self._shown.get(row)
        if found is None:
            found = self._shown[row] = self[row].decode("utf-8", "replace")
        return found

    def matching(self, pattern: str) -> Iterator[tuple[int, str]]:
        """Yield the rows of a sorted table whose text matches a wildcard, with that text."""
        if not has_wildcard(pattern):
            key = pattern.encode()
            row = bisect_left(self, key)
            if row < len(self) and self[row] == key:
                yield row, pattern
            return
        low, high = self.span(literal_prefix(pattern).encode())
        match = matcher(pattern)
        for row, text in zip(range(low, high), self[low:high], strict=False):
            shown = text.decode("utf-8", "replace")
            if match(shown):
                yield row, shown


class DwarfIndex:
    """One index file.

    ``in_parts`` is True when the debug file can be relocated part by part.
    ``path`` is where it is kept: damage that only shows in use drops it there.
    """

    def __init__(self, data: Buffer, path: Path | None = None) -> None:
        self._kept = path
        self._unit_starts: list[int] | None = None  # in a list they are found sooner
        self._own_code: list[tuple[int, int]] | None = None
        parts = pack.decode(data)
        whole = memoryview(data)

        def part(name: str, code: Literal["B", "I", "Q"] = "B") -> memoryview:
            if name not in parts:
                raise DebuginfoError(f"damaged index: no {name}")
            start, end = parts[name]
            try:
                return whole[start:end].cast(code)
            except (TypeError, ValueError):
                raise DebuginfoError(f"damaged index: {name}") from None

        def texts(prefix: str) -> _Texts:
            return _Texts(part(prefix + "_text"), part(prefix + "_start", "I"))

        self._names = texts("name")
        self._first = part("name_first", "I")
        self._entry = part("function_entry", "I")
        self._file = part("function_file", "I")
        self._line = part("function_line", "I")
        self._site = part("function_site", "I")
        self._inline = part("function_inline", "I")
        self._scope = part("function_scope", "I")
        self._scopes = texts("scope")
        self._pc = part("site_pc", "Q")
        self._site_entry = part("site_entry", "I")
        self._files = texts("file")
        self._things = texts("thing")
        self._thing_entry = part("thing_entry", "I")
        self._anchors = texts("anchor")
        self._anchor_address = part("anchor_address", "Q")
        self._unit_start, self._unit_end = part("unit_start", "I"), part("unit_end", "I")
        self._unit_folder, self._folders = part("unit_folder", "I"), texts("folder")
        self.in_parts = bytes(part("in_parts")) == b"1"
        self._check()

    def _check(self) -> None:
        """Check that tables have the sizes they should; raise `DebuginfoError` if not."""
        texts = (
            self._names, self._files, self._things, self._anchors, self._scopes, self._folders
        )  # fmt: skip
        if any(len(table.starts) == 0 for table in texts):
            raise DebuginfoError("damaged index: an empty table")
        names, rows, sites = len(self._names), len(self._entry), len(self._pc)
        units = len(self._unit_start)
        sizes = (
            (self._first, names + 1), (self._file, rows), (self._line, rows),
            (self._scope, rows), (self._inline, rows), (self._site, rows + 1),
            (self._site_entry, sites), (self._thing_entry, len(self._things)),
            (self._anchor_address, len(self._anchors)),
            (self._unit_end, units), (self._unit_folder, units),
        )  # fmt: skip
        good = all(len(table) == size for table, size in sizes)
        if not good or any(table.starts[-1] != len(table.blob) for table in texts):
            raise DebuginfoError("damaged index: tables of different sizes")
        if self._first[-1] != rows or self._site[-1] != sites:
            raise DebuginfoError("damaged index: a table is cut off")

    def _damaged(self) -> DamagedIndexError:
        if self._kept is not None:
            self._kept.unlink(missing_ok=True)
        return DamagedIndexError("its index was damaged and is dropped: run the command again")

    # --- functions -------------------------------------------------------

    def functions(self, pattern: str, file_pattern: str = "") -> Iterator[FunctionRow]:
        """Yield functions with code, by name and, where it is given, by file.

        Scopes in front of the name, ``a::b::f``, are the inner ones of its own.
        """
        outside, pattern = split_scope(pattern)
        wanted = self.files(file_pattern) if file_pattern else None
        for number, name in self._names.matching(pattern):
            low, high = self._first[number], self._first[number + 1]
            if not low <= high <= len(self._entry):
                raise self._damaged()
            for row in range(low, high):
                if outside and not scope_matches(self._scope_text(self._scope[row]), outside):
                    continue
                if wanted is None or self._file[row] in wanted:
                    yield self._row(row, name)

    def tables(self) -> tuple[Iterator[tuple[str, str, int, int, int, int, int]], list[int]]:
        """Read all functions, as they are stored, and the addresses of all sites.

        Of each function its name, scope, number of the file, line, and where among the
        addresses its sites begin, those that are inlined, and those of the next one.
        """
        first, starts = self._first.tolist(), self._site.tolist()
        lows, highs = zip(starts, self._inline, starts[1:]), pairwise(first)
        if any(not low <= middle <= high <= len(self._pc) for low, middle, high in lows):
            raise self._damaged()
        if any(not low <= high <= len(self._entry) for low, high in highs):
            raise self._damaged()

        def rows() -> Iterator[tuple[str, str, int, int, int, int, int]]:
            scopes = [self._scope_text(number) for number in range(len(self._scopes))]
            for number, text in enumerate(self._names[0 : len(self._names)]):
                name = text.decode("utf-8", "replace")
                for row in range(first[number], first[number + 1]):
                    yield (name, scopes[self._scope[row]], self._file[row], self._line[row],
                           starts[row], self._inline[row], starts[row + 1])  # fmt: skip

        if max(self._scope, default=0) >= len(self._scopes):
            raise self._damaged()
        return rows(), self._pc.tolist()

    @property
    def sites(self) -> int:
        """How many sites all functions have."""
        return len(self._pc)

    def paths(self) -> list[str]:
        """List all files, by their numbers."""
        return [text.decode("utf-8", "replace") for text in self._files[0 : len(self._files)]]

    def function_at(self, address: int) -> FunctionRow | None:
        """Find the function whose code out of line begins at an address, or None."""
        wanted, at = address.to_bytes(8, "little"), -1
        pcs = bytes(self._pc.cast("B"))
        while True:
            at = pcs.find(wanted, at + 1)
            if at < 0:
                return None
            site = at // 8
            row = bisect_right(self._site, site) - 1
            if at % 8 == 0 and 0 <= row < len(self._entry) and site < self._inline[row]:
                name = bisect_right(self._first, row) - 1
                return self._row(row, self._names[name].decode("utf-8", "replace"))

    def begun_before(self, address: int) -> int | None:
        """Find the entry of the last function out of line to begin by an address.

        That is its offset; None when all begin later.
        """
        if self._own_code is None:
            own = [
                (self._pc[at], self._site_entry[at])
                for start, middle in zip(self._site, self._inline)
                for at in range(start, min(middle, len(self._pc)))
            ]
            self._own_code = sorted(own)
        at = bisect_right(self._own_code, (address, 1 << 32)) - 1
        return self._own_code[at][1] if at >= 0 else None

    def _row(self, row: int, name: str) -> FunctionRow:
        start, middle, end = self._site[row], self._inline[row], self._site[row + 1]
        if not start <= middle <= end <= len(self._pc):
            raise self._damaged()
        sites = [Site(self._pc[at], self._site_entry[at], at >= middle) for at in range(start, end)]
        return FunctionRow(name, self.path(self._file[row]), self._line[row],
                           self._entry[row], sites, self._scope_text(self._scope[row]))  # fmt: skip

    def _scope_text(self, number: int) -> str:
        if not number:
            return ""
        try:
            return self._scopes.shown(number)
        except IndexError:
            raise self._damaged() from None

    def path(self, number: int) -> str:
        """Look up the file of a number, "" for `NO_FILE`."""
        try:
            return self._files.shown(number)
        except IndexError:  # `NO_FILE`, which is beyond all
            return ""

    def folder(self, entry: int) -> str | None:
        """Look up the folder that the unit of an entry was compiled in.

        None for a unit without functions, and one that could not be read.
        """
        starts = self._unit_starts
        if starts is None:
            starts = self._unit_starts = self._unit_start.tolist()
        row = bisect_right(starts, entry) - 1
        if row < 0 or entry >= self._unit_end[row]:
            return None
        try:
            return self._folders.shown(self._unit_folder[row])
        except IndexError:
            raise self._damaged() from None

    def files(self, pattern: str) -> set[int]:
        """Find the numbers of the files that a pattern means: a whole path or last parts."""
        test = file_matcher(pattern)
        found = {number for number, path in enumerate(self.paths()) if test(path)}
        if not found and pattern.startswith("/"):
            # Most paths count from where the unit was compiled, which only its entries tell.
            ends = enumerate(self.paths())
            found = {number for number, path in ends if pattern.endswith("/" + path)}
        return found

    def files_like(self, pattern: str) -> list[str]:
        """Suggest up to two files whose last part is like a pattern's.

        Only those in the pattern's folder if there are any.
        """
        folder, _, last = pattern.rpartition("/")
        by_name: dict[str, list[str]] = {}
        for text in self.paths():
            by_name.setdefault(text.rpartition("/")[2], []).append(text)
        found = [path for name in [last, *nearest(last, by_name)] for path in by_name.get(name, [])]
        same = [path for path in found if path.rpartition("/")[0].endswith(folder)]
        return (same or found)[:2]

    def similar(self, name: str) -> Iterator[str]:
        """Yield the names that begin like one, by its first two letters."""
        low, high = self._names.span(name[:2].encode())
        for text in self._names[low:high]:
            yield text.decode("utf-8", "replace")

    # --- other names -----------------------------------------------------

    def things(self, letter: str, name: str) -> list[int]:
        """Find the entries of a type (s, u, e, t, b) or of a global variable (v)."""
        key = (letter + name).encode()
        found: list[int] = []
        row = bisect_left(self._things, key)
        while row < len(self._things) and self._things[row] == key:
            found.append(self._thing_entry[row])
            row += 1
        return found

    def variables_like(self, name: str) -> Iterator[str]:
        """Yield global variables that begin like one, by its first two letters."""
        low, high = self._things.span(b"v" + name[:2].encode())
        for text in self._things[low:high]:
            yield text[1:].decode("utf-8", "replace")

    def variables_within(self, name: str) -> Iterator[str]:
        """Yield global variables of a name that are in a namespace or class, with that."""
        end = b"::" + name.encode()
        low, high = self._things.span(b"v")
        for text in self._things[low:high]:
            if text.endswith(end):
                yield text[1:].decode("utf-8", "replace")

    # --- addresses -------------------------------------------------------

    def anchor(self, address: int) -> tuple[str, int] | None:
        """Express an address as ``(symbol, offset)``; None when no symbol is below it.

        The symbol is unique in the kernel or module.
        """
        row = bisect_right(self._anchor_address, address) - 1
        if row < 0:
            return None
        name = self._anchors.shown(row)
        return (name, address - self._anchor_address[row]) if name else None

    def anchor_tables(self) -> tuple[list[int], list[str]]:
        """Read where `anchor` looks: addresses, and the symbols there or ""."""
        texts = self._anchors[0 : len(self._anchors)]
        return self._anchor_address.tolist(), [t.decode("utf-8", "replace") for t in texts]

    def anchors(self) -> Iterator[tuple[int, str]]:
        """Yield ``(address, symbol)`` of every symbol that is unique."""
        for address, name in zip(*self.anchor_tables()):
            if name:
                yield address, name


def split_scope(text: str) -> tuple[str, str]:
    """Split ``a::b::f`` into ``a::b`` and ``f``; a template's own colons do not count."""
    operator = _OPERATOR().search(text)
    if operator is not None:  # its own angle brackets are no pair
        return text[: max(0, operator.start() - 2)], text[operator.start() :]
    depth = 0
    for at in range(len(text) - 1, 0, -1):
        depth += (text[at] == ">") - (text[at] == "<")
        if not depth and text[at - 1 : at + 1] == "::":
            return text[: at - 1], text[at + 1 :]
    return "", text


def scope_matches(scope: str, pattern: str) -> bool:
    """Tell whether the inner parts of a scope are those of a pattern."""
    while pattern:
        pattern, wanted = split_scope(pattern)
        scope, part = split_scope(scope)
        if not part or not matcher(wanted)(part):
            return False
    return True


def file_matcher(pattern: str) -> Callable[[str], bool]:
    """Make a test of a path against a pattern as probe points have it."""
    whole, tail = matcher(pattern), matcher("*/" + pattern)
    return lambda path: whole(path) or tail(path)
