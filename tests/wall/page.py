"""``docs/wall.md``: a table of kernels and families, and under it what stands in the way."""

from __future__ import annotations

import re

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
or were fetched by `stapy kernel fetch`, and adds them.
"""


def write(rows: list[Row]) -> str:
    """Write the page."""
    rows = sorted(rows, key=lambda row: release_order(row.release))
    names = [name for name, _ in families()]
    tried = [row for row in rows if not row.why]
    lines = [HEAD.format(units=UNITS)]
    lines += _kernels(rows)
    lines += ["", "## Families", ""]
    lines += _table(tried, [UNITS, *names])
    lines += _notes(tried)
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
        kernel = f"{row.release} | {row.architecture} | {row.compiler}"
        if row.why:
            lines.append(f"| | {kernel} | not tried: {row.why} | {row.date} | | |")
            continue
        number += 1
        good = sum(state == OK for state, _ in row.cells.values())
        lines.append(
            f"| {number} | {kernel} | {row.place} | {row.date} "
            f"| {row.stapy} | {good} of {len(row.cells)} |"
        )
    return lines


def _table(rows: list[Row], names: list[str]) -> list[str]:
    numbers = range(1, len(rows) + 1)
    lines = ["| family | " + " | ".join(map(str, numbers)) + " |", "|---|" + "---|" * len(rows)]
    for name in names:
        cells = [row.cells.get(name, ["not tried", ""])[0] for row in rows]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def _notes(rows: list[Row]) -> list[str]:
    lines: list[str] = []
    for number, row in enumerate(rows, 1):
        said: dict[tuple[str, str], list[str]] = {}  # one line for what several families hear
        for name, (state, text) in row.cells.items():
            if state not in (OK, MADE):
                said.setdefault((state, re.sub(r"[|`]", "'", text)), []).append(name)
        for (state, plain), names in said.items():
            lines.append(f"- {number}, {row.release}: {', '.join(names)}: {state}: {plain}")
    return ["", "## What stands in the way", "", *(lines or ["Nothing."])]
