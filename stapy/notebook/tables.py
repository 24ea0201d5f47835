"""Globals as tables, of HTML for notebooks and of text for terminals."""

from __future__ import annotations

import html
from collections.abc import Collection

from stapy.diagnostics.render import one_line
from stapy.notebook.result import Arrays, Cell

MOST = 50  # rows that are shown of each array, the greatest values first
_STATISTIC = ("count", "sum", "min", "max", "avg")


def as_html(arrays: Arrays, cut: Collection[str] = ()) -> str:
    """Write a table for each array and statistic, and one for all others.

    Of those that are ``cut`` there may be elements that nobody has told.
    """
    parts = [_html_table(*table) for table in _tables(arrays, cut)]
    return "\n".join(parts)


def as_text(arrays: Arrays, cut: Collection[str] = ()) -> str:
    """Write tables for a terminal, columns side by side; ``cut`` is as for `as_html`."""
    return "\n".join(_text_table(*table) for table in _tables(arrays, cut))


def _tables(
    arrays: Arrays, cut: Collection[str]
) -> list[tuple[str, list[str], list[list[Cell]], str]]:
    """List tables: title, names of columns, rows, and what was left out."""
    plain = [[name, found[()]] for name, found in arrays.items() if _is_plain(found)]
    tables = [("globals", ["global", "value"], plain, "")] if plain else []
    for name, found in arrays.items():
        if _is_plain(found) or not found:
            continue
        ordered = sorted(found.items(), key=_weight, reverse=True)
        keys, value = ordered[0]
        columns = [f"key{number}" for number in range(1, len(keys) + 1)]
        columns += _STATISTIC if isinstance(value, dict) else ["value"]
        rows = [[*keys, *_cells(value)] for keys, value in ordered[:MOST]]
        left = len(ordered) - len(rows)
        more = f"{left:,} more" if left else ""
        if name in cut:
            more = f"{left:,} or more: a snapshot has no more than {len(ordered):,} elements"
        tables.append((name, columns, rows, more))
    return tables


def _is_plain(found: dict[tuple[Cell, ...], Cell]) -> bool:
    return list(found) == [()] and not isinstance(found[()], dict)


def _weight(element: tuple[tuple[Cell, ...], Cell]) -> int:
    value = element[1]["count"] if isinstance(element[1], dict) else element[1]
    return value if isinstance(value, int) else 0


def _cells(value: Cell) -> list[Cell]:
    if isinstance(value, dict):
        return [value.get(name, "") for name in _STATISTIC]
    return [value]


def _shown(cell: Cell) -> str:
    return f"{cell:,}" if isinstance(cell, int) else one_line(str(cell))


def _html_table(title: str, columns: list[str], rows: list[list[Cell]], left: str) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    lines = ["<tr>" + "".join(map(_html_cell, row)) + "</tr>" for row in rows]
    more = f"<tfoot><tr><td>… {left}</td></tr></tfoot>" if left else ""
    return (
        f"<table><caption>{html.escape(title)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(lines)}</tbody>{more}</table>"
    )


def _html_cell(cell: Cell) -> str:
    side = "right" if isinstance(cell, int) else "left"
    return f'<td style="text-align: {side}">{html.escape(_shown(cell))}</td>'


def _text_table(title: str, columns: list[str], rows: list[list[Cell]], left: str) -> str:
    cells = [columns, *([_shown(cell) for cell in row] for row in rows)]
    widths = [max(len(row[at]) for row in cells) for at in range(len(columns))]
    numeric = [all(isinstance(row[at], int) for row in rows) for at in range(len(columns))]
    lines = [title]
    for row in cells:
        parts = [
            text.rjust(width) if is_number else text.ljust(width)
            for text, width, is_number in zip(row, widths, numeric, strict=True)
        ]
        lines.append(("  " + "  ".join(parts)).rstrip())
    if left:
        lines.append(f"  … {left}")
    return "\n".join(lines) + "\n"
