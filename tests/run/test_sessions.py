"""Which sessions there are, and who reads them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stapy.run import cli, sessions


def test_only_root_is_told(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert cli.main(["--list"]) == 1
    assert "only root sees which sessions there are" in capfd.readouterr().err


def test_readers_are_found_by_their_open_files(tmp_path: Path) -> None:
    """A process without files of that kind, one with, and one that is gone."""
    for number, target in (("1", "/dev/null"), ("22", "/proc/stapy_m/control"), ("3", "")):
        (tmp_path / number / "fd").mkdir(parents=True)
        if target:
            (tmp_path / number / "fd/0").symlink_to(target)
        (tmp_path / number / "comm").write_text("stapy-run\n")
    (tmp_path / "self").mkdir()
    assert sessions._readers(["m", "other"], str(tmp_path)) == {"m": "22 (stapy-run)"}


def test_a_descriptor_that_is_closed_meanwhile_hides_no_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "22" / "fd"
    folder.mkdir(parents=True)
    (folder / "0").symlink_to("/proc/stapy_m/control")
    listed = os.listdir
    monkeypatch.setattr(
        os, "listdir", lambda path: ["9", "0"] if path == str(folder) else listed(path)
    )
    assert sessions._readers(["m"], str(tmp_path)) == {"m": "22 (?)"}


def test_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr("stapy.run.kernel.our_modules", lambda: [])
    assert sessions.lines() == ["no module of stapy's is loaded"]
