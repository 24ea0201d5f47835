"""The examples on pages of functions and points are scripts, or statements, for each kernel."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stapy.cli import main
from stapy.manual.entries import ALIAS, FUNCTION, DocEntry
from stapy.manual.library import open_reference
from tests.vm.harness import releases

pytestmark = pytest.mark.build

LEAST = 280  # of them there are many
# A page shows what may be asked of a person, too: what they print is on the same line.
PRINTED = re.compile(r" # [^\n\"]*$")


def script_of(example: str) -> str:
    """Make a script of statements."""
    text = PRINTED.sub("", example)
    return text if re.search(r"^probe\b", text, re.MULTILINE) else f"probe begin {{\n{text}\n}}"


def examples() -> list[tuple[DocEntry, bool]]:
    """List functions and aliases that have an example, and whether they need guru mode."""
    reference = open_reference()
    found = [
        entry
        for path in reference.files()
        if "#" not in path
        for entry in reference.of_file(path)
        if entry.kind in (ALIAS, FUNCTION) and "Example" in entry.doc.sections
    ]
    return [(one, one.kind == FUNCTION and reference.conduct(one).needs_guru) for one in found]


@pytest.mark.parametrize("release", releases())
def test_examples_are_accepted(
    release: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Passes 1 to 3 have nothing to say, and each example has what it is an example of."""
    paths: list[str] = []
    for entry, needs_guru in examples():
        name = entry.name.partition(":")[0].partition("(")[0]
        mark = "(" if entry.kind == FUNCTION else " {"
        example = entry.doc.sections["Example"]
        assert re.search(rf"\b{re.escape(name + mark)}", example), name
        path = tmp_path / f"{len(paths)}-{name}.stp"
        head = "#!/usr/bin/stapy -g\n" if needs_guru else ""
        path.write_text(f"{head}{script_of(example)}\n", encoding="utf-8")
        paths.append(str(path))
    assert len(paths) >= LEAST
    assert main(["check", "-W", "-r", release, *paths]) == 0, capsys.readouterr()
