"""Makes the index of one file: what `scan.py` found, resolved, sorted and packed."""

from __future__ import annotations

import gc
import struct
from array import array
from bisect import bisect_right
from collections.abc import Container, Iterable
from typing import NamedTuple

from stapy.debuginfo import pack
from stapy.debuginfo.dwarf import constants as k
from stapy.debuginfo.dwarf.index.found import INLINE_NAMES, NO_NAME, NO_ORIGIN, CollectedEntries
from stapy.debuginfo.dwarf.index.reader import NO_FILE
from stapy.debuginfo.dwarf.index.scan import Scanner
from stapy.debuginfo.dwarf.index.shapes import TYPES
from stapy.debuginfo.dwarf.read.lines import LineReader
from stapy.debuginfo.dwarf.read.relocate import layout
from stapy.debuginfo.dwarf.read.sections import Sections
from stapy.debuginfo.dwarf.read.units import Info
from stapy.debuginfo.elf import ET_REL, ElfFile, Strings
from stapy.debuginfo.errors import DebuginfoError

_LETTERS = {"struct": "s", "union": "u", "enum": "e", "typedef": "t", "base": "b"}
_SHF_ALLOC, _SHF_EXECINSTR = 2, 4


def build(elf: ElfFile) -> bytes:
    """Pack the index of a file; raises `DebuginfoError` when its DWARF is damaged."""
    # Hundreds of thousands of small objects and no cycles: collecting costs a third of the time.
    enabled = gc.isenabled()
    gc.disable()
    try:
        info = Info(Sections(elf))
        parts: dict[str, bytes] = {}
        found = Scanner(info).run()
        _leave_out_overridden(info, found, _anchors(elf, parts))
        _functions(info, found, parts)
        _folders(info, found, parts)
        _named(info, found, parts)
        parts["in_parts"] = b"1" if info.sections.is_sorted() else b"0"
        return pack.encode(parts)
    except (IndexError, OverflowError, struct.error):
        raise DebuginfoError(f"{elf.name}: damaged debug information") from None
    finally:
        if enabled:
            gc.enable()


class _NameTexts:
    """Texts of name numbers, each read once."""

    def __init__(self, info: Info, found: CollectedEntries) -> None:
        self._strings = Strings(bytes(info.sections.section("str")), info.name)
        self._extra = found.extra
        self._file = info.name
        self._known: dict[int, bytes] = {}

    def text(self, number: int) -> bytes:
        """Read the text of a name; raises `DebuginfoError` outside of ``.debug_str``."""
        known = self._known.get(number)
        if known is None:
            if 0 <= number - INLINE_NAMES < len(self._extra):
                known = self._extra[number - INLINE_NAMES].encode()
            else:
                if not self._strings.has(number):
                    raise DebuginfoError(f"{self._file}: name outside of .debug_str")
                known = self._strings.word(number)
            self._known[number] = known
        return known


def _text_table(parts: dict[str, bytes], prefix: str, texts: Iterable[bytes]) -> None:
    """Store a sorted list of texts under ``prefix``: one blob and where each begins."""
    starts, blob = array("I"), bytearray()
    for text in texts:
        starts.append(len(blob))
        blob += text.replace(b"\n", b"?") + b"\n"  # no name of a file that is whole has one
    starts.append(len(blob))
    parts[prefix + "_text"] = bytes(blob)
    parts[prefix + "_start"] = starts.tobytes()


class _Symbols(NamedTuple):
    """Names, and addresses of those in code."""

    names: Container[str]
    addresses: set[int]


def _leave_out_overridden(info: Info, found: CollectedEntries, symbols: _Symbols) -> None:
    """Forget the code of weak functions that others have replaced.

    It stays in the file without a symbol, under a name that is another's now,
    and nothing calls it; what was inlined into it is never run either.
    """
    overridden = [
        row
        for row, pc in enumerate(found.pc)
        if pc
        and pc not in symbols.addresses
        and info.entry(found.entry[row]).name() in symbols.names
    ]
    if not overridden:
        return
    starts = sorted({pc for pc in found.pc if pc} | symbols.addresses)
    starts.append(1 << 64)
    lows = sorted(found.pc[row] for row in overridden)
    highs = [starts[bisect_right(starts, low)] for low in lows]
    for number, pc in enumerate(found.inlined_pc):
        at = bisect_right(lows, pc) - 1
        if at >= 0 and pc < highs[at]:
            found.inlined_origin[number] = NO_ORIGIN
    for row in overridden:
        found.pc[row] = 0


def _functions(info: Info, found: CollectedEntries, parts: dict[str, bytes]) -> None:
    """Store the functions that have code, sorted by name, with all places of each."""
    names = _NameTexts(info, found)
    rows = {entry: row for row, entry in enumerate(found.entry)}
    home, inherited = _origins(info, found, rows)
    outside: dict[int, list[int]] = {}
    for row, pc in enumerate(found.pc):
        if pc:
            outside.setdefault(home[home[row]], []).append(row)
    inlined: dict[int, list[int]] = {}
    for number, origin in enumerate(found.inlined_origin):
        target = rows.get(origin)
        if target is not None:
            inlined.setdefault(home[target], []).append(number)

    def name_of(row: int) -> bytes:
        if row in inherited:
            return inherited[row].name
        return b"" if found.name[row] == NO_NAME else names.text(found.name[row])

    table = _FunctionTable(info, found)
    for name, row in sorted((name_of(row), row) for row in set(outside) | set(inlined)):
        if name:
            known = _Declared(name, found.unit[row], found.file[row], found.line[row])
            table.add(row, inherited.get(row, known))
            table.add_places(outside.get(row, ()), inlined.get(row, ()))
    table.store(parts)


class _Declared(NamedTuple):
    """What a function is called, and where it is declared: unit, number of the file, line."""

    name: bytes
    unit: int
    file: int
    line: int


def _origins(
    info: Info, found: CollectedEntries, rows: dict[int, int]
) -> tuple[list[int], dict[int, _Declared]]:
    """Find to which row each one belongs: a copy out of line to that of what it is a copy of.

    Where that has no row, what it tells stands in the dictionary.
    """
    home = list(range(len(found.entry)))
    inherited: dict[int, _Declared] = {}
    for row, origin in enumerate(found.origin):
        if origin == NO_ORIGIN:
            continue
        target = rows.get(origin)
        if target is not None:
            home[row] = target
        elif found.name[row] == NO_NAME:
            entry = info.entry(found.entry[row])
            numbers = [entry.inherited(a) for a in (k.AT_DECL_FILE, k.AT_DECL_LINE)]
            file, line = (n if isinstance(n, int) else 0 for n in numbers)
            holder = entry.holder(k.AT_DECL_FILE) or entry
            unit = info.number_of(holder.offset)
            inherited[row] = _Declared(entry.name().encode(), unit, file, line)
    return home, inherited


class _FunctionTable:
    """The columns of functions, filled from the first name to the last."""

    def __init__(self, info: Info, found: CollectedEntries) -> None:
        self._found = found
        self._files = _Files(info)
        self._names: list[bytes] = []
        self._first = array("I")  # row of each name
        columns = ("entry", "file", "line", "site", "inline", "scope")
        self._columns = {name: array("I") for name in columns}
        self._scopes = {"": 0}
        self._site_pcs, self._site_entries = array("Q"), array("I")

    def add(self, row: int, declared: _Declared) -> None:
        """Add a function; those of one name come one after the other."""
        columns = self._columns
        if not self._names or self._names[-1] != declared.name:
            self._names.append(declared.name)
            self._first.append(len(columns["entry"]))
        columns["entry"].append(self._found.entry[row])
        columns["file"].append(self._files.number(declared.unit, declared.file))
        columns["line"].append(declared.line & 0xFFFFFFFF)
        scope = _scope(self._found, row)
        columns["scope"].append(self._scopes.setdefault(scope, len(self._scopes)) if scope else 0)

    def add_places(self, outside: Iterable[int], inlined: Iterable[int]) -> None:
        """Add the places of the function that was added last: out of line, then inlined."""
        found = self._found
        self._columns["site"].append(len(self._site_pcs))
        for item in outside:
            self._site_pcs.append(found.pc[item])
            self._site_entries.append(found.entry[item])
        self._columns["inline"].append(len(self._site_pcs))
        for item in inlined:
            self._site_pcs.append(found.inlined_pc[item])
            self._site_entries.append(found.inlined_entry[item])

    def store(self, parts: dict[str, bytes]) -> None:
        """Store all columns; where rows of the last name and of places end stands behind them."""
        self._first.append(len(self._columns["entry"]))
        self._columns["site"].append(len(self._site_pcs))
        _text_table(parts, "name", self._names)
        parts["name_first"] = self._first.tobytes()
        for name, values in self._columns.items():
            parts["function_" + name] = values.tobytes()
        _text_table(parts, "scope", (scope.encode() for scope in self._scopes))
        parts["site_pc"] = self._site_pcs.tobytes()
        parts["site_entry"] = self._site_entries.tobytes()
        _text_table(parts, "file", (path.encode() for path in self._files.paths))


def _scope(found: CollectedEntries, row: int) -> str:
    """Find the scope of a function: that of its declaration, when it is defined elsewhere."""
    if not found.scopes:
        return ""
    own = found.scopes.get(found.entry[row], "")
    return found.scopes.get(found.origin[row], own)


class _Files:
    """Numbers of files over all units."""

    def __init__(self, info: Info) -> None:
        self._info = info
        self._readers: dict[int, LineReader] = {}
        self._units: dict[int, list[str]] = {}
        self._numbers: dict[str, int] = {}
        self._folders: list[str] | None = None  # of all compilations
        self.paths: list[str] = []

    def _unit(self, unit: int) -> list[str]:
        root = self._info.unit(unit).root
        home = root.unit.info
        reader = self._readers.get(home.base)
        if reader is None:
            reader = self._readers[home.base] = LineReader(home.sections)
        if k.AT_STMT_LIST not in root.values:
            return []
        directory = root.values.get(k.AT_COMP_DIR, "")
        offset, folder = root.number(k.AT_STMT_LIST), str(directory)
        program = reader.program(offset, folder, root.name())
        if k.AT_COMP_DIR in root.values:
            return program.files
        return [self._shortened(path) for path in program.files]

    def _shortened(self, path: str) -> str:
        """Cut a path that dwz moved to a unit of its own as the units that use it do."""
        if self._folders is None:
            roots = (self._info.unit(number).root for number in range(len(self._info.headers)))
            names = {str(root.values.get(k.AT_COMP_DIR, "")).rstrip("/") + "/" for root in roots}
            self._folders = sorted(names - {"/"}, key=len, reverse=True)
        return next((path[len(f) :] for f in self._folders if path.startswith(f)), path)

    def number(self, unit: int, file: int) -> int:
        """Look up the number of a unit's file over all units; `NO_FILE` when there is none."""
        table = self._units.get(unit)
        if table is None:
            table = self._units[unit] = self._unit(unit)
        if file >= len(table):
            return NO_FILE
        # Of the files of a unit, hundreds, only a few have functions.
        path = table[file]
        number = self._numbers.get(path)
        if number is None:
            number = self._numbers[path] = len(self.paths)
            self.paths.append(path)
        return number


def _folders(info: Info, found: CollectedEntries, parts: dict[str, bytes]) -> None:
    """Store the folder that each unit with functions was compiled in.

    A unit that cannot be read is left out: who asks for its folder is told why.
    """
    starts, ends, numbers = array("I"), array("I"), array("I")
    known: dict[str, int] = {}
    for unit in sorted(set(found.unit)):
        try:
            root = info.unit(unit).root
        except DebuginfoError:
            continue
        folder = str(root.values.get(k.AT_COMP_DIR, ""))
        if "\n" in folder:  # which no table of texts has
            continue
        starts.append(root.offset)
        ends.append(root.unit.header.end + root.unit.info.base)
        numbers.append(known.setdefault(folder, len(known)))
    parts["unit_start"], parts["unit_end"] = starts.tobytes(), ends.tobytes()
    parts["unit_folder"] = numbers.tobytes()
    _text_table(parts, "folder", (folder.encode() for folder in known))


def _named(info: Info, found: CollectedEntries, parts: dict[str, bytes]) -> None:
    """Store types and global variables, sorted; a letter in front tells them apart."""
    names = _NameTexts(info, found)
    rows = [
        (_LETTERS[TYPES[tag]].encode() + names.text(name), entry)
        for (tag, name), entry in found.types.items()
        if name != NO_NAME
    ]
    rows += [
        (b"v" + names.text(name), entry)
        for name, entry in zip(found.global_name, found.global_entry)
    ]
    rows.sort()
    _text_table(parts, "thing", (text for text, _ in rows))
    parts["thing_entry"] = array("I", [entry for _, entry in rows]).tobytes()


def _anchors(elf: ElfFile, parts: dict[str, bytes]) -> _Symbols:
    """Store the names that stand for one address only, by which addresses are expressed.

    The kernel moves as one piece, and its code is enough.  Of a module each
    section goes elsewhere, so its data needs names, too, and a name is good up
    to the end of its section only: there comes one without text.
    """
    addresses = layout(elf)
    whole = elf.type == ET_REL
    wanted = {
        number
        for number, row in enumerate(elf.sections)
        if row.flags & _SHF_ALLOC and (whole or row.flags & _SHF_EXECINSTR)
    }
    counts: dict[str, int] = {}
    places: dict[int, str] = {}
    functions: set[int] = set()
    for symbol in elf.symbols():
        if not symbol.section or not symbol.name or symbol.kind in (3, 4):
            continue
        counts[symbol.name] = counts.get(symbol.name, 0) + 1
        plain = symbol.kind <= 2 and not symbol.name.startswith(("__pfx_", "."))
        if symbol.section not in wanted or not plain:
            continue
        address = symbol.value + addresses[symbol.section]
        # The name of a function is better than a label at the same address.
        if symbol.kind == 2 and address not in functions:
            functions.add(address)
            places[address] = symbol.name
        else:
            places.setdefault(address, symbol.name)
    unique = {value: name for value, name in places.items() if counts[name] == 1}
    if whole:
        for number in wanted:
            unique.setdefault(addresses[number], "")
    rows = sorted(unique.items())
    parts["anchor_address"] = array("Q", [value for value, _ in rows]).tobytes()
    _text_table(parts, "anchor", (name.encode() for _, name in rows))
    return _Symbols(counts, set(places))
