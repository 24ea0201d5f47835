"""What an example on a page says that it prints, it prints: ``println(arch_bytes()) # 8``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from stapy.manual.library import open_reference
from tests.vm import harness

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.build, pytest.mark.vm]

LEAST = 30  # of them there are so many
_TOLD = re.compile(r"(print(?:ln|f)\([^\n]*\)) # ([^\n\"]*)")


def told() -> list[tuple[str, str]]:
    """List the examples of one statement that say what they print, with that."""
    reference = open_reference()
    found = [
        _TOLD.fullmatch(entry.doc.sections.get("Example", ""))
        for path in reference.files()
        if "#" not in path
        for entry in reference.of_file(path)
    ]
    return [(one[1], one[2]) for one in found if one]


def test_values(release: str, guests: harness.Guests, tmp_path: Path) -> None:
    rows = told()
    assert len(rows) >= LEAST
    body = "\n".join(statement for statement, _ in rows)
    (tmp_path / "values.stp").write_text(f"probe begin {{\n{body}\nexit()\n}}\n", encoding="utf-8")
    built = harness.build(release, ["values.stp"], tmp_path)
    assert built.module, built.stderr[-3000:]
    result = harness.run_built(guests.get(release), built, ["values.stp"], 120)
    harness.check_kernel(result)
    assert result.stdout.splitlines() == [value for _, value in rows]
