"""Folders in which debug files are looked for: keys of what is kept are made of their names."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from stapy.debuginfo.dwarf.files.paths import folders_of_modules


def test_folders_of_modules_have_one_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the modules, not of a set's hashes, which are others in each process."""
    kernel = SimpleNamespace(root=tmp_path, release="9.9")
    modules = [tmp_path / f"{name}" / f"{number}.ko" for number in range(3) for name in "zayb"]
    monkeypatch.setenv("SYSTEMTAP_DEBUGINFO_PATH", str(tmp_path))
    tree = tmp_path / "lib/modules/9.9"
    for name in "qpr":
        (tree / name).mkdir(parents=True)
    found = folders_of_modules(kernel, modules)  # type: ignore[arg-type]
    assert found[:4] == [tmp_path / name for name in "zayb"]
    walked = [path for path in found if path.parent == tree]
    assert walked == [tree / name for name in "pqr"]
