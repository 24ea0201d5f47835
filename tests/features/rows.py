"""Rows of docs/features.md: what they promise, and the cases that they name.

A row is ``| ID | Feature | stapy | shown by |``.  The last cell lists references,
separated by commas::

    tests/vm/cases/timers.stp                     a script is a case by itself
    tests/options/test_cli.py::test_options               a function of a Python file, or a table
    tests/elaborate/cases/points.txt              a list of cases; a quotation tells which
    tests/golden/formats.stp `%#c`                with the words that show the feature

Quotations stand where the feature's own words are not what a script would say: for
features that are told in prose, or with names that each script chooses for itself.
"""

from __future__ import annotations

import re
from pathlib import Path

from stapy.record import Record, new

_ROW = re.compile(r"\| ([A-Z]{2}-\d+) \|")
_CELLS = re.compile(r"(?<!\\)\|")
_QUOTED = re.compile(r"`` (.+?) ``|`([^`]+)`")


class Reference(Record):
    """A case that a row names: file, name inside of it or "", quotations from it."""

    path: str
    name: str = ""
    quotes: list[str] = new(list)

    def __str__(self) -> str:
        return f"{self.path}::{self.name}" if self.name else self.path


class Row(Record):
    """One feature: its place in the document, its cells, and what shows it."""

    line: int
    id: str
    feature: str
    status: str
    shown: list[Reference] = new(list)

    @property
    def promised(self) -> bool:
        """True for features that are said to be there, at least in part."""
        return re.match(r"(no|n/a|see)\b", self.status) is None

    @property
    def codes(self) -> list[str]:
        """The feature's words in code style."""
        return code_words(self.feature)


def code_words(text: str) -> list[str]:
    """List what stands between backticks, without the escapes of a table."""
    return [(long or short).replace("\\|", "|").strip() for long, short in _QUOTED.findall(text)]


def references(cell: str) -> list[Reference]:
    """Parse the references of a cell; commas in quotations separate nothing."""
    quotes: list[str] = []

    def keep(match: re.Match[str]) -> str:
        quotes.append((match[1] or match[2]).replace("\\|", "|"))
        return f"\0{len(quotes) - 1}\0"

    found = []
    for part in _QUOTED.sub(keep, cell).split(","):
        words = re.sub(r"\0\d+\0", " ", part).split()
        own = [quotes[int(number)] for number in re.findall(r"\0(\d+)\0", part)]
        if words or own:
            path, _, name = (words[0] if words else "").partition("::")
            found.append(Reference(path, name, own))
            found += [Reference(word) for word in words[1:]]  # prose: names no case
    return found


def read(path: Path) -> list[Row]:
    """Read all rows of the document, in order."""
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if _ROW.match(line):
            cells = [cell.strip() for cell in _CELLS.split(line)[1:-1]]
            cells += [""] * (4 - len(cells))
            rows.append(Row(number, cells[0], cells[1], cells[2], references(cells[3])))
    return rows
