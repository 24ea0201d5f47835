"""The whole suite is run by `make test`: pytest leaves out some folders by their names."""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def test_no_folder_is_left_out(pytestconfig: pytest.Config) -> None:
    skipped = pytestconfig.getini("norecursedirs")
    files = [path.relative_to(HERE) for path in HERE.rglob("test_*.py")]
    folders = {part for path in files for part in path.parts[:-1]}
    assert "build" in folders
    assert not [name for name in folders if any(fnmatch(name, pattern) for pattern in skipped)]
