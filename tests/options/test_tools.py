"""A first word that is a tool's name: the tool, unless there is a script of that name."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy import cli

SCRIPT = "probe begin { exit() }\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", cli.TOOLS)
def test_the_tool(folder: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([name, "--help"]) == 0
    assert f"stapy {name}" in capsys.readouterr().out


@pytest.mark.parametrize("name", cli.TOOLS)
@pytest.mark.parametrize("form", ["{}", "./{}"])
def test_a_script_of_that_name(
    folder: Path, name: str, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / name).write_text(SCRIPT)
    assert cli.main([form.format(name), "-p1"]) == 0
    assert "exit()" in capsys.readouterr().out


@pytest.mark.parametrize("name", cli.TOOLS)
def test_a_folder_is_no_script(folder: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / name).mkdir()
    assert cli.main([name, "--help"]) == 0
    assert f"stapy {name}" in capsys.readouterr().out


def test_nobody_elses_file_is_run_in_place_of_the_tool(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = folder / "doctor"
    script.write_text(SCRIPT)
    script.chmod(0o666)
    assert cli.main(["doctor"]) == 1
    said = capsys.readouterr()
    assert said.out == "" and "'./doctor' is the file" in said.err
    assert cli.main(["./doctor", "-p1"]) == 0


def test_behind_options_it_is_a_script(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["-p1", "doctor"]) == 1
    assert "Input file 'doctor' is missing" in capsys.readouterr().err
