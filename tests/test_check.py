"""Which tests ``make check`` runs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.check import ALWAYS, MANUAL, changed, places

FILES = {
    "tests/parse/test_lexer.py": "from stapy.parse.lexer import Lexer\n",
    "tests/test_record.py": "from stapy import record, timing\n",
    "tests/test_manual.py": "",
    "tests/conftest.py": "",
    "stapy/parse/lexer.py": "",
    "docs/x.md": "",
    **dict.fromkeys(ALWAYS, ""),
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def git(root: Path, *words: str) -> None:
    who = ("-c", "user.name=x", "-c", "user.email=x@x")
    subprocess.run(["git", *who, *words], cwd=root, check=True, capture_output=True)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (["stapy/record.py"], {"tests/test_record.py", *ALWAYS}),
        (["stapy/parse/lexer.py", "docs/x.md"], {"tests/parse", MANUAL, *ALWAYS}),
        (["tests/test_record.py"], {"tests/test_record.py"}),
        (["man/stapy.1"], {MANUAL}),
        # Nobody knows what these concern: all.
        (["tests/test_record.py", "tests/conftest.py"], set()),
        (["tests/test_record.py", "stapy/nobody.py"], set()),
        (["setup.cfg"], set()),
        ([], set()),
    ],
)
def test_places(root: Path, files: list[str], expected: set[str]) -> None:
    assert set(places({Path(name) for name in files}, root)) == expected


def test_no_history_is_all(root: Path) -> None:
    assert changed(root) is None
    assert places(None, root) == []
    git(root, "init", "-q")
    assert changed(root) is None


def test_what_changed(root: Path) -> None:
    """What is not committed, the commits that the origin lacks; else the last commit."""
    git(root, "init", "-q")
    git(root, "add", "tests")
    git(root, "commit", "-qm", "first")
    git(root, "add", "stapy", "docs")
    git(root, "commit", "-qm", "second")
    git(root, "update-ref", "refs/remotes/origin/main", "HEAD")
    assert changed(root) == {Path("stapy/parse/lexer.py"), Path("docs/x.md")}
    (root / "stapy/new.py").write_text("")
    assert changed(root) == {Path("stapy/new.py")}
    (root / "docs/x.md").write_text("more")
    git(root, "add", "docs")
    git(root, "commit", "-qm", "third")
    assert changed(root) == {Path("stapy/new.py"), Path("docs/x.md")}
