"""Tables of source lines for scripts that ask for them at run time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.ir import program as p
from stapy.translate.c.text import string_literal

if TYPE_CHECKING:
    from stapy.translate.templating import Model


def tables(program: p.Program) -> tuple[list[Model], dict[str, bytes]]:
    """Make rows for ``templates/lines.c.j2`` and the files that they name."""
    rows: list[Model] = []
    files: dict[str, bytes] = {}
    for number, table in enumerate(program.line_tables):
        name = f"lines_{number}.bin"
        files[name] = table.blob
        fields = [("data", f"stapy_lines_{number}"), ("bytes", str(len(table.blob)))]
        symbols = ""
        if table.module is None:
            fields += [
                ("start", f"(unsigned long)register_kprobe + ({table.start}L)"),
                ("size", str(table.size)),
            ]
        else:
            symbols = f"line_symbols_{number}.bin"
            files[symbols] = table.symbols
            fields += [
                ("module", string_literal(table.module)),
                ("symbols", f"stapy_line_symbols_{number}"),
                ("nr_symbols", str(len(table.symbols) // 8)),
            ]
        rows.append(
            {
                "number": str(number),
                "file": name,
                "symbols_file": symbols,
                "fields": [{"name": field, "value": value} for field, value in fields],
            }
        )
    return rows, files
