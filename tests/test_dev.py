"""What ``make dev`` looks at after a change."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.dev import concerned, stamps

FILES = {
    "tests/parse/test_lexer.py": "from stapy.parse.lexer import Lexer\n",
    "tests/test_record.py": "from stapy import record, timing\n",
    "tests/translate/test_lowering.py": "from stapy.parse.lexer import (\n    Lexer,\n)\n",
    "tests/test_other.py": "import stapy\n",
}


@pytest.mark.parametrize(
    ("changed", "places"),
    [
        (
            "stapy/parse/lexer.py",
            {"tests/parse", "tests/parse/test_lexer.py", "tests/translate/test_lowering.py"},
        ),
        ("stapy/parse/parser.py", {"tests/parse"}),
        ("stapy/record.py", {"tests/test_record.py"}),
        ("stapy/records.py", set()),
        ("tests/test_other.py", {"tests/test_other.py"}),
        ("tests/parse/words.txt", {"tests/parse"}),
        ("tests/conftest.py", set()),
        ("runtime/output.h", {"tests/translate"}),
        ("tapsets/strings.stp", set()),
    ],
)
def test_what_a_change_concerns(tmp_path: Path, changed: str, places: set[str]) -> None:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert concerned(Path(changed), tmp_path) == places


def test_a_written_file_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "stapy" / "x.py"
    path.parent.mkdir()
    path.write_text("")
    (tmp_path / "stapy" / "x.pyc").write_text("")
    os.utime(path, ns=(5, 5))
    assert stamps(tmp_path) == {Path("stapy/x.py"): 5}
