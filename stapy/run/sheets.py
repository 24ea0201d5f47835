"""``--format=csv``: prints as rows of one table, each global as a table of its own."""

from __future__ import annotations

import csv

from . import jsontext
from .errors import RunError
from .records import PrintDecoder, RecordTable, text_of
from .render import LossCounter, Renderer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List, Optional, Tuple

    from .ground.manifest import FieldDescription
    from .messages import MessagePrinter
    from .records import Record

    Table = Tuple[str, str]

_PRINTS: Table = ("print", "")
_OF_PRINTS = ("time", "cpu", "probe", "place")
_OF_STATISTICS = ("count", "sum", "min", "max", "avg")
_OF_BUCKETS = ("low", "high", "count")


class CsvRenderer(Renderer):
    """Tables with a header each, and an empty line between two of them."""

    def __init__(self, decoder: PrintDecoder, table: RecordTable, messages: MessagePrinter) -> None:
        super().__init__(decoder)
        self._losses = LossCounter(messages)
        self._messages = messages
        self._headers: Dict[Table, List[str]] = {}
        self._places: Dict[int, List[Tuple[int, int]]] = {}  # of a print: columns, and fields
        self._buckets: Dict[str, List[List[object]]] = {}
        self._kinds: Dict[str, str] = {}
        self._plan(table)
        if not self._headers:
            raise RunError(
                "--format=csv has no tables for this script: no print of it has fields, and it "
                "writes no globals"
            )
        self._current: Optional[Table] = None
        self._begun = False
        self._told: "set[Table]" = set()
        self._texts = 0

    def _plan(self, table: RecordTable) -> None:
        """Find the columns of all tables."""
        columns: List[str] = []
        for number, row in enumerate(table.prints):
            fields = row["fields"]
            if "shows" in row:
                if fields:
                    self._plan_global(row["shows"], fields)
                continue
            shown = [(at, one) for at, one in enumerate(fields) if not one.get("constant")]
            names = _free([one["name"] for _, one in shown])
            columns += [name for name in names if name not in columns]
            self._places[number] = [
                (columns.index(name), at) for name, (at, _) in zip(names, shown)
            ]
        if columns:
            self._headers[_PRINTS] = [*_OF_PRINTS, *columns]

    def _plan_global(self, name: str, fields: "List[FieldDescription]") -> None:
        keys = [field["name"] for field in fields[:-1]]
        value = fields[-1]
        is_stat = value["kind"] == "stat"
        kind = "" if not keys and not is_stat else name  # plain ones share a table
        columns = _OF_STATISTICS if is_stat else ("value",)
        self._kinds[name] = kind
        self._headers["global", kind] = ["global", *keys, *columns]
        if value.get("shape"):
            self._headers["buckets", name] = ["global", *keys, *_OF_BUCKETS]

    def line(self, record: Record) -> bytes:
        """Write a record as a row, after the header where a table begins."""
        kind = record["type"]
        if kind == "print":
            return self._print(record)
        if kind == "global":
            return self._global(record)
        if kind == "text":
            self._texts += 1
        else:
            self._losses.count(record)
        return b""

    def _print(self, record: Record) -> bytes:
        places = self._places[record["number"]]
        if not places:
            return b""  # a heading, or the like
        values = list(record["fields"].values())
        row: List[object] = [""] * len(self._headers[_PRINTS])
        row[: len(_OF_PRINTS)] = [
            f"{record['time']:.6f}", record["cpu"], record.get("probe", ""), record["place"],
        ]  # fmt: skip
        for place, at in places:
            row[len(_OF_PRINTS) + place] = values[at]
        return self._rows(_PRINTS, [row])

    def _global(self, record: Record) -> bytes:
        if record["automatic"]:
            return b""
        name, value = record["name"], record["value"]
        before = [name, *record.get("keys", ())]
        table: Table = ("global", self._kinds[name])
        if not isinstance(value, dict):
            return self._rows(table, [[*before, value]])
        if "buckets" in value:
            rows = self._buckets.setdefault(name, [])
            for one in value["buckets"]:
                rows.append([*before, *(one.get(column, "") for column in _OF_BUCKETS)])
        return self._rows(table, [[*before, *(value.get(one, "") for one in _OF_STATISTICS)]])

    def _rows(self, table: Table, rows: "List[List[object]]") -> bytes:
        lines = _RowBuffer()
        # The writer quotes what its end of a line has: a lone carriage return as well.
        writer = csv.writer(lines, lineterminator="\r\n")
        if self._current != table:
            if self._begun:
                lines.write("\r\n")
            self._begun = True
            self._current = table
            self._told.add(table)
            writer.writerow(self._headers[table])
        for row in rows:
            writer.writerow(map(_cell, row))
        return lines.data()

    def restart(self) -> None:
        """Begin with a header again: another file follows."""
        self._current, self._begun = None, False

    def finish(self, errors: int) -> bytes:
        """Write the buckets of histograms, and the headers of tables that have no rows."""
        found = [
            self._rows(("buckets", name), rows) for name, rows in self._buckets.items() if rows
        ]
        found += [self._rows(table, []) for table in self._headers if table not in self._told]
        self._losses.tell()
        if self._texts:
            self._messages.warning(
                f"{self._texts} prints have no fields and are in no table, such as the lines of "
                "print_backtrace(): --format=json has them"
            )
        return b"".join(found)


class _RowBuffer:
    """What `csv.writer` writes to, a row at a time: lines end as they do in Unix."""

    def __init__(self) -> None:
        self._parts: List[str] = []

    def write(self, text: str) -> None:
        """Take a row."""
        self._parts.append(text[:-2] + "\n")

    def data(self) -> bytes:
        """Return all rows."""
        return "".join(self._parts).encode("utf-8")


def _free(names: "List[str]") -> "List[str]":
    """Give fields other names than the columns that each print has."""
    found: List[str] = []
    for name in names:
        while name in _OF_PRINTS or name in found:
            name += "_2"
        found.append(name)
    return found


def _cell(value: object) -> object:
    """Make a text of UTF-8 of what a cell shall have; numbers are left to `csv`."""
    if isinstance(value, bytes):
        text, digits = text_of(value)
        if digits:
            text = value.decode("utf-8", "backslashreplace")
        return text.replace("\0", "\\x00")
    if isinstance(value, dict):
        return jsontext.write(value)
    return value
