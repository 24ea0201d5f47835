"""Variables of a program by its tables of symbols: where they lie, and in which source file."""

from __future__ import annotations

import re
from pathlib import Path

from stapy.debuginfo.elf import ElfFile
from stapy.debuginfo.glob import has_wildcard, matcher
from stapy.debuginfo.user.file import UserFile
from stapy.debuginfo.user.symbols import moved_by
from stapy.record import Record

_OBJECT, _FUNCTION, _FILE, _THREAD_LOCAL, _CHOOSER = 1, 2, 4, 6, 10


class DataSymbol(Record):
    """A variable; ``source`` is the file name of what it is local to, "" for one of all files."""

    name: str
    source: str
    address: int
    size: int

    @property
    def shown(self) -> str:
        """The name by which this one alone is meant."""
        return f"{self.name}@{self.source}" if self.source else self.name


class DataSymbols(Record):
    """What the tables of symbols say that is not about code."""

    variables: list[DataSymbol]
    functions: set[str]
    thread_local: set[str]
    elsewhere: set[str]  # of other files, which this one uses

    def matching(self, pattern: str) -> list[DataSymbol]:
        """Find variables by name or pattern, ``NAME`` or ``NAME@FILE``; each place once.

        A pattern leaves out what compilers and linkers have made for themselves.
        """
        name, at, source = pattern.partition("@")
        is_name, is_source = matcher(name), matcher(source.rpartition("/")[2])
        found: dict[int, DataSymbol] = {}
        several = has_wildcard(pattern)
        for row in self.variables:
            if several and _is_made(row):
                continue
            if is_name(row.name) and (not at or (row.source and is_source(row.source))):
                found.setdefault(row.address, row)
        return list(found.values())

    @property
    def names(self) -> list[str]:
        """Names of variables, for suggestions."""
        return [row.name for row in self.variables]


# Of the start of programs, of the linker, and of C++: tables of classes, guards of initialisation.
_MADE = re.compile(
    r"_DYNAMIC|_GLOBAL_OFFSET_TABLE_|_IO_stdin_used|__dso_handle|__TMC_END__|__FRAME_END__"
    r"|__(init|fini|preinit)_array\w*|__(do_global_dtors_aux|frame_dummy)_\w+|__EH_FRAME_\w+"
    r"|__stack_chk_guard|__asan_\w+|__gcov\w*|__llvm_\w+|DW\.ref\..*|\.L.*|_ZT[VTISC].*|_ZGR?V.*"
)


_START = ("crtstuff.c", "Scrt1.o", "crt1.o", "rcrt1.o", "gcrt1.o", "crti.o", "abi-note.c")


def _is_made(row: DataSymbol) -> bool:
    return row.source in _START or _MADE.fullmatch(row.name) is not None


def data_symbols(file: UserFile, debug: Path | None) -> DataSymbols:
    """Read the symbols of a file, and of its debug file."""
    files = [(file.elf, 0)]
    if debug is not None:
        elf = ElfFile.open(debug)
        files.insert(0, (elf, moved_by(file, elf)))
    found = DataSymbols([], set(), set(), set())
    known: set[tuple[str, int]] = set()
    for elf, moved in files:
        for table in (".symtab", ".dynsym"):
            source = ""
            for row in elf.symbols(table):
                name = row.name.partition("@")[0]
                if row.kind == _FILE:
                    source = row.name
                elif not row.section:
                    found.elsewhere.add(name)
                elif row.kind in (_FUNCTION, _CHOOSER):
                    found.functions.add(name)
                elif row.kind == _THREAD_LOCAL:
                    found.thread_local.add(name)
                elif row.kind == _OBJECT and (name, row.value + moved) not in known:
                    known.add((name, row.value + moved))
                    own = source if not row.binding else ""
                    found.variables.append(DataSymbol(name, own, row.value + moved, row.size))
    return found
