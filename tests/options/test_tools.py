"""A first word that is a tool's name: the tool, unless there is a script of that name."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy import cli
from stapy.options.tools import ALWAYS_TOOLS, TOOLS

SCRIPT = "probe begin { exit() }\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", TOOLS)
def test_the_tool(folder: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([name, "--help"]) == 0
    assert f"stapy {name}" in capsys.readouterr().out


@pytest.mark.parametrize("name", TOOLS)
@pytest.mark.parametrize("form", ["{}", "./{}"])
def test_a_script_of_that_name(
    folder: Path, name: str, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / name).write_text(SCRIPT)
    if form.format(name) in ALWAYS_TOOLS:
        assert cli.main([name, "--help"]) == 0
        assert f"stapy {name}" in capsys.readouterr().out
        (folder / name).chmod(0o666)
        assert cli.main([name, "--help"]) == 0
    else:
        assert cli.main([form.format(name), "-p1"]) == 0
        assert "exit()" in capsys.readouterr().out


@pytest.mark.parametrize("name", TOOLS)
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


# Words behind a tool's name, and what is said of them.
MISTYPED = [
    ("kernel", "fetch KERNEL …, list, or remove KERNEL …?"),
    ("kernel fetsh", "'fetsh' is not 'fetch', 'list' or 'remove'; did you mean 'fetch'?"),
    ("kernel fetch --dbug 6.1", "unknown option '--dbug'; did you mean '--debug'?"),
    ("plot --chrat bars f", "unknown option '--chrat'; did you mean '--chart'?"),
    ("plot --chart=bar f", "argument --chart: 'bar' is not 'flame', 'bars'"),
    ("plot a b", "there is no place for 'b'"),
    ("fmt --cheque", "unknown option '--cheque'; did you mean '--check'?"),
    ("fmt -x a", "unknown option '-x'"),
    ("doctor --sysrot=x", "unknown option '--sysrot'; did you mean '--sysroot'?"),
    ("doctor --message-format=jsn", "did you mean 'json'?"),
    ("check --bft x", "unknown option '--bft'; did you mean '--btf'?"),
    ("report --lst", "unknown option '--lst'; did you mean '--list'?"),
    ("test --vmm x", "unknown option '--vmm'; did you mean '--vm'?"),
    ("pack --otput x", "unknown option '--otput'"),
    ("pack a b", "there is no place for 'b'"),
    ("complete bassh", "'bassh' is not 'bash', 'zsh' or 'fish'; did you mean 'bash'?"),
    ("dtrace --hlep", "unknown word '--hlep'; did you mean '--help'?"),
]


@pytest.mark.parametrize(("words", "text"), MISTYPED)
def test_mistyped(words: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(words.split()) > 0
    said = capsys.readouterr().err
    assert text in said and said.count("\n") == 1


def test_every_tool_has_a_mistake() -> None:
    assert {words.split()[0] for words, _ in MISTYPED} == set(TOOLS)


@pytest.mark.parametrize(
    ("word", "hint"),
    [("kernal", "stapy kernel"), ("doctr", "stapy doctor"), ("merge", "stapy-merge"),
     ("fmr", "stapy fmt"), ("x.stp", ""), ("./kernal", ""), ("opensnoop", "")],
)  # fmt: skip
def test_a_tool_that_is_mistyped(
    folder: Path, word: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([word]) == 1
    said = capsys.readouterr().err
    assert f"Input file '{word}' is missing" in said
    assert ("did you mean" in said) == bool(hint) and f"did you mean '{hint}'?" * bool(hint) in said


def test_behind_options_it_is_a_script(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["-p1", "doctor"]) == 1
    assert "Input file 'doctor' is missing" in capsys.readouterr().err
