"""What the prints of a script tell programs (``--format``): the table that the module carries.

It is JSON in a file of the module in /proc, so that whoever attaches to a session can read its
output; `stapy.run.records` is its reader.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from stapy import __version__
from stapy.ir import program as p
from stapy.run.ground.manifest import SCHEMA

if TYPE_CHECKING:
    from stapy.run.ground.manifest import FieldDescription, PrintDescription, Shape
    from stapy.translate.tables.limits import Limits
    from stapy.translate.tables.places import PlaceTable

_LITERAL = 2000  # characters of one literal of C
_SIGNED = "di"
_UNSIGNED = "uoxXp"
_KINDS = {"c": "char", "b": "long", "m": "text", "M": "bytes", "hist": "stat", "s": "string"}
_TYPES = {p.STRING: "string", p.HISTOGRAM: "stat"}


def field_kind(piece: p.FormatPiece, arg: p.Expr) -> str:
    """Name how a field is sent, and what it is."""
    if piece.kind == "field":
        return _TYPES.get(arg.type, "long")
    if piece.kind in _SIGNED:
        return "string" if arg.type == p.STRING else "long"
    return "unsigned" if piece.kind in _UNSIGNED else _KINDS[piece.kind]


class PrintTable:
    """The prints of one module, numbered as they are translated."""

    def __init__(self) -> None:
        self._rows: list[PrintDescription] = []

    def add(
        self, places: PlaceTable, expr: p.PrintOp, fields: list[tuple[p.FormatPiece, p.Expr]]
    ) -> int:
        """Add a print with its fields; return its number."""
        rows = []
        for piece, arg in fields:
            row: FieldDescription = {"name": piece.name, "kind": field_kind(piece, arg)}
            if isinstance(arg, p.Text):
                row["constant"] = True  # part of a heading, or a label
            shape = _shape(arg.stat) if isinstance(arg, p.HistogramRef) else None
            if shape is not None:
                row["shape"] = shape
            rows.append(row)
        print_: PrintDescription = {"fields": rows}
        if expr.shows is not None:
            print_["shows"] = expr.shows.name
        if expr.is_snapshot:
            print_["snapshot"] = True
        if expr.span.source >= 0:
            print_["place"] = places.where(expr.span)
        self._rows.append(print_)
        return len(self._rows) - 1

    def text(
        self, form: str, script: str, program: p.Program, places: PlaceTable, limits: Limits
    ) -> str:
        """Write the whole table as JSON."""
        table = {
            "schema": SCHEMA,
            "stapy": __version__,
            "format": form,
            "script": script,
            "release": program.release,
            "arch": program.arch,
            "string_bytes": limits.string_room,
            "stack_frames": limits.number("MAXBACKTRACE"),
            "prints": self._rows,
            "probes": [[probe.written, places.where(probe.span)] for probe in program.probes],
        }
        return json.dumps(table, separators=(",", ":"))


def _shape(stat: p.Expr) -> Shape | None:
    """Describe the buckets of a statistic; None for one without."""
    shape = stat.var.histogram if isinstance(stat, (p.GlobalRef, p.ElementRef)) else None
    if shape is None:
        return None
    if shape.kind == "log":
        return ["log"]
    return ["linear", shape.low, shape.high, shape.step]


def pieces_of(text: str) -> list[str]:
    """Cut a text into parts for literals of C."""
    return [text[at : at + _LITERAL] for at in range(0, len(text), _LITERAL)]
