"""What -l can print of one kernel or module: names and places, judged once and kept.

A list of all functions with a debug package has 70,000 lines, for which 350,000 inlined
instances would have to be placed and judged every time.  But a line says no more than a
function, its file and its line, and whether one of its instances may be probed depends on
the build and on our list of what must not be probed: on nothing that a script says.  So
the answers are stored beside the index of the build, and a pattern is a scan.

`FunctionNames` are the functions that BTF and the symbol table tell of (``Debuginfo.functions``),
`FunctionLines` those of DWARF (``Debuginfo.places``).  `scan.py` asks.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from stapy.cache import file_identity, key_of
from stapy.debuginfo import pack
from stapy.debuginfo.elf import Buffer
from stapy.debuginfo.errors import DebuginfoError
from stapy.debuginfo.lookup.same_name import common_prototype
from stapy.debuginfo.lookup.wildcards import wanted
from stapy.debuginfo.symbols.table import is_function, section_of, shared
from stapy.ir.literals import quote_name
from stapy.paths import package_dir
from stapy.probes.decide import ENTRY, ENTRY_GURU, allowed_below, allowed_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stapy.debuginfo.dwarf.query.dwarf_file import DwarfFile
    from stapy.debuginfo.loading import Loaded
    from stapy.services import DebuginfoLike

T = TypeVar("T")

# Of a name: a pattern of plain names takes it; several functions (for all that is known)
# or a copy, which DWARF knows better; another name of a function that BTF has.
WANTED, SEVERAL, COPY, SECOND = 1, 2, 4, 8


class _StoredTable:
    """Texts and numbers out of one stored content."""

    def __init__(self, data: Buffer) -> None:
        self._data = memoryview(data)
        self._parts = pack.decode(data)

    def content(self) -> bytes:
        """Copy what the table was read from."""
        return bytes(self._data)

    def _part(self, name: str) -> memoryview:
        if name not in self._parts:
            raise DebuginfoError(f"damaged catalogue: no {name}")
        start, end = self._parts[name]
        return self._data[start:end]

    def _texts(self, name: str) -> list[str]:
        text = str(self._part(name), "utf-8")
        return text.split("\n") if text else []

    def _numbers(self, name: str, code: Literal["B", "H", "I", "Q"] = "I") -> list[int]:
        part = self._part(name)
        if len(part) % array(code).itemsize:
            raise DebuginfoError(f"damaged catalogue: {name}")
        found: list[int] = part.cast(code).tolist()
        return found

    def _equal(self, *tables: Any) -> None:
        if len({len(table) for table in tables}) > 1:
            raise DebuginfoError("damaged catalogue: tables of different sizes")


class FunctionNames(_StoredTable):
    """Functions by name; ``bits`` beside them, and in ``allowed`` how `decide` lets them be probed.

    ``groups`` are pairs of a row and the number that all names of its address share.
    """

    def __init__(self, data: Buffer) -> None:
        super().__init__(data)
        self.names = self._texts("name")
        self.bits = bytes(self._part("bits"))
        self.allowed = bytes(self._part("allowed"))
        self.groups = list(zip(self._numbers("row"), self._numbers("group"), strict=True))
        self._equal(self.names, self.bits, self.allowed)
        if any(row >= len(self.names) for row, _ in self.groups):
            raise DebuginfoError("damaged catalogue: no such name")


class FunctionLines(_StoredTable):
    """Functions as ``name@file:line``; rows of one name follow each other.

    ``first[n]`` is the first row of name ``n``, which is without its scope; ``file`` has
    numbers of ``files``, and ``bits`` say how `decide` lets inlined instances be probed.  The
    functions' own code, in the order of the index: ``out_line``, the row that it belongs to,
    ``out_symbol`` and ``out_address``, the place, and ``out_bits``, how it may be probed.
    """

    def __init__(self, data: Buffer) -> None:
        super().__init__(data)
        self.names = self._texts("name")
        self.first = self._numbers("first")
        self.texts = self._texts("line")
        self.bits = bytes(self._part("bits"))
        self.file = self._numbers("file_number")
        self.files = self._texts("file")
        symbols = self._texts("symbol")
        self.out_line = self._numbers("out_line")
        self.out_address = self._numbers("out_address", "Q")
        self.out_bits = bytes(self._part("out_bits"))
        numbers = self._numbers("out_symbol")
        self._equal(self.texts, self.bits, self.file)
        self._equal(self.out_line, self.out_address, self.out_bits, numbers)
        inside = max(self.out_line, default=-1) < len(self.texts)
        if len(self.first) != len(self.names) + 1 or not inside:
            raise DebuginfoError("damaged catalogue: a table is cut off")
        try:
            self.out_symbol = [symbols[number] for number in numbers]
        except IndexError:
            raise DebuginfoError("damaged catalogue: no such symbol") from None


def names(info: DebuginfoLike, loaded: Loaded) -> FunctionNames | None:
    """Open what BTF and the symbols of a kernel or module tell; None when that is damaged."""
    if not loaded.key:
        return None
    key = key_of("names", rules(), loaded.key)
    return _kept(info, key, FunctionNames, lambda: _made_names(loaded))


def lines(info: DebuginfoLike, loaded: Loaded, dwarf: DwarfFile) -> FunctionLines | None:
    """Open what DWARF tells of a kernel or module; None when that is damaged."""
    if not loaded.key:
        return None
    key = key_of("lines-of-functions", rules(), loaded.key,
                 *dwarf.identity)  # fmt: skip
    return _kept(info, key, FunctionLines, lambda: _made_lines(loaded, dwarf))


def _kept(
    info: DebuginfoLike, key: str, table: Callable[[Buffer], T], make: Callable[[], bytes]
) -> T | None:
    """Get a table out of the cache, or make it now; None when it cannot be made."""
    try:
        try:
            return table(info.kept(key, make))
        except (DebuginfoError, ValueError):
            return table(make())  # what was stored is damaged
    except DebuginfoError:
        return None


@cache
def rules() -> str:
    """Name the state of the rooms that decide what a list has: every file in them counts."""
    home = package_dir()
    rooms = (home / name for name in ("debuginfo", "ir", "kernel", "probes"))
    files = sorted(file for room in rooms for file in room.rglob("*.py"))
    return key_of(*(file_identity(file) for file in files))


# --- names ----------------------------------------------------------------------


def _made_names(loaded: Loaded) -> bytes:
    kinds: dict[str, list[str]] = {}
    if loaded.symbols is not None:
        for name, kind in loaded.symbols.rows(""):
            kinds.setdefault(name, []).append(kind)
    rows: dict[str, int] = {}
    groups: list[tuple[str, int]] = []
    if loaded.btf is None:
        rows = dict.fromkeys(kinds, 0)
    else:
        rows = dict.fromkeys(loaded.btf.functions(), 0)
        groups = [
            (name, int(shared(kind)))
            for name in rows
            for kind in kinds.get(name, ())
            if shared(kind)
        ]
        second = _second(kinds, rows, {group for _, group in groups})
        groups += second
        rows.update((name, SECOND) for name, _ in second)
        rows.update((name, 0) for name in kinds if "." in name)
    for name, bits in rows.items():
        own = kinds.get(name, [])
        if wanted(name, "*", own, loaded):
            several = SEVERAL if _several(name, own, loaded) else 0
            rows[name] = bits | WANTED | several | (COPY if "." in name else 0)
    shown = {name for name, _ in groups}
    rows = {name: bits for name, bits in rows.items() if bits or name in shown}
    numbers = {name: number for number, name in enumerate(rows)}
    return pack.encode(
        {
            "name": _joined(rows),
            "bits": bytes(rows.values()),
            "allowed": bytes(map(allowed_below, rows)),
            "row": array("I", [numbers[name] for name, _ in groups]).tobytes(),
            "group": array("I", [group for _, group in groups]).tobytes(),
        }
    )


def _several(name: str, kinds: list[str], loaded: Loaded) -> bool:
    """Tell whether a name is that of several functions, or BTF describes several."""
    copies = sum(is_function([kind]) for kind in kinds)
    if copies > 1 or loaded.btf is None or not loaded.btf.shares_name(name):
        return copies > 1
    types = loaded.btf.prototypes(name)
    return bool(types) and bool(common_prototype(name, types, copies).ambiguity)


def _second(
    kinds: dict[str, list[str]], known: dict[str, int], groups: set[int]
) -> list[tuple[str, int]]:
    """List names of functions that BTF has by another one, in the order of the symbols.

    Each with the number of its group.
    """
    return [
        (name, int(shared(rows[0])))
        for name, rows in kinds.items()
        if len(rows) == 1
        and shared(rows[0])
        and int(shared(rows[0])) in groups
        and name not in known
        and "." not in name
        and is_function(rows)
        and not section_of(rows)
    ]


def _joined(texts: Iterable[str]) -> bytes:
    return "\n".join(texts).encode("utf-8", "replace")


# --- lines ----------------------------------------------------------------------


class _Anchors:
    """The symbols that places are told by, and how code below each may be probed."""

    def __init__(self, loaded: Loaded, dwarf: DwarfFile) -> None:
        self.addresses, self.symbols = dwarf.index.anchor_tables()
        self.refusals = dwarf.refusals()  # of addresses
        self._known: dict[int, int] = {}
        self._kinds: dict[str, list[str]] = {}
        if loaded.symbols is not None:
            for name, kind in loaded.symbols.rows(""):
                if len(kind) > 1:
                    self._kinds.setdefault(name, []).append(kind)

    def above(self, address: int) -> tuple[int, int]:
        """Find the symbol that an address is told by; give its number and what it allows."""
        number = bisect_right(self.addresses, address) - 1
        known = self._known.get(number)
        if known is None:
            name = self.symbols[number] if number >= 0 else ""
            refused = not name or section_of(self._kinds.get(name, []))
            known = self._known[number] = 0 if refused else allowed_below(name)
        return number, known


def _made_lines(loaded: Loaded, dwarf: DwarfFile) -> bytes:
    anchors = _Anchors(loaded, dwarf)
    table, pcs = dwarf.index.tables()
    paths = dwarf.index.paths()
    names: list[str] = []
    texts: list[str] = []
    first, bits, files = array("I"), bytearray(), array("I")
    out_line, out_symbol, out_address = array("I"), array("I"), array("Q")
    out_bits = bytearray()
    symbols: dict[int, int] = {}
    of_name: list[int] = []  # by row
    rows: dict[tuple[str, int, int], int] = {}
    for name, scope, file, line, start, middle, end in table:
        if not names or names[-1] != name:
            names.append(name)
            first.append(len(texts))
            rows.clear()
        row = rows.get((scope, file, line))
        if row is None:
            row = rows[scope, file, line] = len(texts)
            function = f"{scope}::{name}" if scope else name
            path = paths[file] if file < len(paths) else ""
            texts.append(quote_name(f"{function}@{path}:{line}" if path else function)[1:-1])
            files.append(file)
            bits.append(0)
            of_name.append(allowed_of(function, path))
        for pc in pcs[start:middle]:
            number, allowed = anchors.above(pc)
            if allowed:
                out_line.append(row)
                out_symbol.append(symbols.setdefault(number, len(symbols)))
                out_address.append(pc)
                out_bits.append(allowed & of_name[row])
        full = (ENTRY | ENTRY_GURU) & of_name[row]
        at = middle
        while at < end and bits[row] != full:  # one place is as good as all of them
            number, allowed = anchors.above(pcs[at])
            if allowed and pcs[at] not in anchors.refusals:
                bits[row] |= full & allowed
            at += 1
    first.append(len(texts))
    return pack.encode(
        {
            "name": _joined(names),
            "first": first.tobytes(),
            "line": _joined(texts),
            "bits": bytes(bits),
            "file_number": files.tobytes(),
            "file": _joined(paths),
            "symbol": _joined(anchors.symbols[number] for number in symbols),
            "out_line": out_line.tobytes(),
            "out_symbol": out_symbol.tobytes(),
            "out_address": out_address.tobytes(),
            "out_bits": bytes(out_bits),
        }
    )
