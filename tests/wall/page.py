"""``docs/wall.md``: a table of kernels and families, and under it what stands in the way.

The page is read as well: where the cache is empty it alone knows what earlier runs found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stapy.kernel.release import release_order
from tests.wall.rows import MADE, OK, UNITS, Row, families

HEAD = """\
# The wall

Written by `make wall`: which probe families work on which kernel. Each family has one script
(`tests/wall/families.txt`), which is made into a module for the kernel, loaded into it in QEMU,
and must print the right thing. "{units}" compiles every file of the kernel side, whether a script
of the table needs it or not.

`ok`: printed the right thing. `made`: compiled; nothing could be booted. Anything else is a
message's code (`stapy --explain CODE`), files of the runtime that the kernel's compiler refuses,
or `wrong`: loaded, and did not print what it must; the words stand below the table. A kernel that
is not here has not been tried. `make wall KERNELS="RELEASE …"` tries kernels that are installed,
or were fetched by `stapy kernel fetch`, and adds them. Rows of other kernels stay as they are.
"""
_NOT_TRIED = "not tried"


def write(rows: list[Row]) -> str:
    """Write the page."""
    rows = sorted(rows, key=lambda row: release_order(row.release))
    names = [name for name, _ in families()]
    tried = [row for row in rows if not row.why]
    lines = [HEAD.format(units=UNITS)]
    lines += _kernels(rows)
    lines += ["", "## Families", ""]
    lines += _table(tried, [UNITS, *names])
    lines += _notes(tried, [row for row in rows if row.why])
    return "\n".join(lines) + "\n"


def _kernels(rows: list[Row]) -> list[str]:
    lines = [
        "## Kernels",
        "",
        "| | kernel | for | compiler | modules made in | tried | stapy | ok |",
    ]
    lines.append("|---|---|---|---|---|---|---|---|")
    number = 0
    for row in rows:
        kernel = " | ".join(map(_plain, (row.release, row.architecture, row.compiler)))
        if row.why:
            lines.append(
                f"| | {kernel} | {_NOT_TRIED}: {_plain(row.why)} | {_plain(row.date)} | | |"
            )
            continue
        number += 1
        good = sum(state == OK for state, _ in row.cells.values())
        lines.append(
            f"| {number} | {kernel} | {_plain(row.place)} | {_plain(row.date)} "
            f"| {_plain(row.stapy)} | {good} of {len(row.cells)} |"
        )
    return lines


def _table(rows: list[Row], names: list[str]) -> list[str]:
    numbers = range(1, len(rows) + 1)
    lines = ["| family | " + " | ".join(map(str, numbers)) + " |", "|---|" + "---|" * len(rows)]
    for name in names:
        cells = [_plain(row.cells.get(name, [_NOT_TRIED, ""])[0]) for row in rows]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def _notes(rows: list[Row], untried: list[Row]) -> list[str]:
    lines: list[str] = []
    for number, row in enumerate(rows, 1):
        said: dict[tuple[str, str], list[str]] = {}  # one line for what several families hear
        for name, (state, text) in row.cells.items():
            if state not in (OK, MADE):
                said.setdefault((_plain(state), _plain(text)), []).append(name)
        for (state, plain), names in said.items():
            lines.append(f"- {number}, {_plain(row.release)}: {', '.join(names)}: {state}: {plain}")
    lines += [f"- {_plain(row.release)}: {_NOT_TRIED}: {_plain(row.why)}" for row in untried]
    return ["", "## What stands in the way", "", *(lines or ["Nothing."])]


def _plain(text: str) -> str:
    """Take from a text what would end a cell of a table, or a line."""
    return re.sub(r"[|`]", "'", " ".join(text.split()))


# --- reading ------------------------------------------------------------------


def read(page: str) -> list[Row]:
    """Read the rows of a page that `write` has made; what cannot be read is left out."""
    kernels, _, rest = page.partition("\n## Families\n")
    table, _, notes = rest.partition("\n## What stands in the way\n")
    families = list(_cells(table))[1:]
    rows = []
    for cells in _cells(kernels):
        if len(cells) != 8 or not cells[1] or cells[1] == "kernel":
            continue
        number, release, architecture, compiler, place, date, stapy, _ = cells
        row = Row(release, compiler, place, date, stapy, architecture=architecture)
        rows.append(row)
        if not number:
            row.place, row.why = "", place.removeprefix(f"{_NOT_TRIED}: ")
            continue
        for name, *states in families:
            state = states[int(number) - 1] if int(number) <= len(states) else _NOT_TRIED
            if state != _NOT_TRIED:
                row.cells[name] = [state, _told(notes, f"- {number}, {release}: ", name, state)]
    return rows


def _cells(text: str) -> Iterator[list[str]]:
    """Yield the cells of each row of a table, without the line below its head."""
    for line in text.splitlines():
        if line.startswith("| ") and line.endswith("|"):
            yield [cell.strip() for cell in line[1:-1].split("|")]


def _told(notes: str, start: str, family: str, state: str) -> str:
    """Find what a page says below its table of a family's state."""
    for line in notes.splitlines():
        names, found, text = line.removeprefix(start).partition(f": {state}: ")
        # Names of families have commas as well: `begin, end`.
        if found and line.startswith(start) and f", {family}, " in f", {names}, ":
            return text
    return ""
