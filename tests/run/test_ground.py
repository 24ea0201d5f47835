"""The room that the consumer shares with the ground floor leads nowhere."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import stapy.run.ground

FOLDER = Path(stapy.run.ground.__file__).parent


def test_its_files_import_the_standard_library_only() -> None:
    files = sorted(FOLDER.rglob("*.py"))
    assert len(files) > 2
    for path in files:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                assert not node.level, f"{path.name}:{node.lineno}"
                names = [node.module or ""]
            outside = {name.partition(".")[0] for name in names} - sys.stdlib_module_names
            assert not outside, f"{path.name}:{node.lineno}"
