"""The examples in comments are scripts, or statements, that each kernel's passes accept."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from stapy.cli import main
from stapy.manual.entries import FUNCTION, DocEntry
from stapy.manual.library import open_reference
from tests.vm.harness import releases

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.build

LEAST = 680  # of them there are many
# A page shows what may be asked of a person, too: what they print is on the same line.
PRINTED = re.compile(r" # [^\n\"]*$")
# What a script can have once only, or what other examples would use as well.
APART = re.compile(
    r"^(?:global|function|probe (?:init|oneshot|json_data|prometheus|input)\b)", re.M
)


def script_of(example: str) -> str:
    """Make a script of statements."""
    text = PRINTED.sub("", example)
    return text if re.search(r"^probe\b", text, re.MULTILINE) else f"probe begin {{\n{text}\n}}"


def examples() -> list[tuple[DocEntry, bool]]:
    """List what has an example in its comment, and whether it needs guru mode."""
    reference = open_reference()
    found = [
        entry
        for path in reference.files()
        if "#" not in path
        for entry in reference.of_file(path)
        if "Example" in entry.doc.sections
    ]
    return [(one, one.kind == FUNCTION and reference.conduct(one).needs_guru) for one in found]


@pytest.mark.parametrize("release", releases())
def test_examples_are_accepted(
    release: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Passes 1 to 3 have nothing to say of each; those that can stand in one script do."""
    scripts: dict[str, list[str]] = {}
    found = examples()
    for at, (entry, needs_guru) in enumerate(found):
        text = script_of(entry.doc.sections["Example"])
        name = f"{at}-{entry.name}" if APART.search(text) else "together"
        head = "#!/usr/bin/stapy -g" if needs_guru else ""
        scripts.setdefault(f"{name}{'-guru' if needs_guru else ''}.stp", [head]).append(text)
    for name, texts in scripts.items():
        (tmp_path / name).write_text("\n".join(texts) + "\n", encoding="utf-8")
    assert len(found) >= LEAST
    paths = [str(tmp_path / name) for name in scripts]
    assert main(["check", "-W", "-r", release, *paths]) == 0, capsys.readouterr()
