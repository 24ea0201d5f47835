"""The C of about thirty scripts, kept whole: a change to the translator shows as a diff.

``pytest --update-golden tests/translate/test_golden.py`` writes them anew; read the diff.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.translate.support import GOLDEN, source_of

SCRIPTS = sorted(GOLDEN.glob("*.stp"))


def arguments(text: str) -> str:
    """Read the command-line words of a script from its ``# args:`` line."""
    first = text.splitlines()[0]
    return first.removeprefix("# args:") if first.startswith("# args:") else ""


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_golden(script: Path, request: pytest.FixtureRequest) -> None:
    text = script.read_text(encoding="latin-1")
    source = source_of(text, script.name, arguments(text))
    made = source.files[f"{script.stem}.c"]
    golden = script.with_suffix(".c")
    if request.config.getoption("--update-golden"):
        golden.write_text(made, encoding="latin-1")
    assert made == golden.read_text(encoding="latin-1")


def test_there_are_golden_files_for_all_scripts_and_no_others() -> None:
    assert {path.stem for path in GOLDEN.glob("*.c")} == {path.stem for path in SCRIPTS}
    assert len(SCRIPTS) >= 30
