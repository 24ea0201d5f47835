"""Functions on texts, numbers and memory, edge by edge, against `functions.table`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tapsets import function_table as table
from tests.vm import harness

SECTIONS = table.sections()
PARTS = [
    (name, first) for name, rows in SECTIONS.items() for first in range(0, len(rows), table.ROWS)
]

pytestmark = [pytest.mark.build, pytest.mark.vm]


@pytest.mark.parametrize("section, first", PARTS)
def test_rows(
    section: str, first: int, release: str, guests: harness.Guests, tmp_path: Path
) -> None:
    rows = SECTIONS[section][first : first + table.ROWS]
    memory = section == "memory"
    (tmp_path / "rows.stp").write_text(table.script(rows, memory), encoding="utf-8")
    words = [*(["-c", table.COMMAND] if memory else []), "rows.stp", *table.WORDS]
    built = harness.build(release, words, tmp_path)
    assert built.module, built.stderr[-3000:]
    result = harness.run_built(guests.get(release), built, words, 120)
    harness.check_kernel(result)
    found = table.answers(result.stdout)
    wrong = [
        f"{row.text}: {found.get(number)!r}, not {row.ours!r}"
        for number, row in enumerate(rows)
        if found.get(number) != row.ours
    ]
    assert not wrong, "\n".join(wrong)
