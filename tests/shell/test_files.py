"""What the shell reads and writes: scripts that are dropped, names in messages, what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.shell.test_commands import ONE, RecordingShell, shell, tree

__all__ = ["shell", "tree"]  # fixtures

OTHER = "probe end { println(2) }\n"


@pytest.mark.parametrize("line", ["load a.stp", "delete all"])
def test_an_unsaved_script_that_is_dropped_is_kept_in_a_file(
    shell: RecordingShell,
    line: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """On a terminal, once, and where it is told; without one the lines are somebody's file."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    Path("a.stp").write_text(ONE)
    shell.script = OTHER
    shell.feed(line)
    assert capsys.readouterr().err == "" and not (tmp_path / "state").exists()
    shell.on_terminal = True
    shell.script, shell.saved = OTHER, ""
    shell.feed(line)
    (path,) = (tmp_path / "state" / "stapy").iterdir()
    assert path.name.startswith("unsaved-") and path.read_text() == OTHER
    assert capsys.readouterr().err == f"what was not saved is in '{path}'\n"
    assert shell.script == (ONE if line.startswith("load") else "")
    shell.feed(line)  # what is in a file already, or is nothing, is not written
    assert len(list(path.parent.iterdir())) == 1


@pytest.mark.parametrize("line", ["load a.stp", "delete all"])
def test_a_script_that_cannot_be_kept_is_not_dropped(
    shell: RecordingShell,
    line: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/nosuch")
    monkeypatch.setattr("stapy.shell.state.scratch_root", lambda: "/proc/nosuch")
    Path("a.stp").write_text(ONE)
    shell.on_terminal, shell.script = True, OTHER
    shell.feed(line)
    assert "'/proc/nosuch/unsaved-" in capsys.readouterr().err
    assert (shell.script, shell.failed) == (OTHER, True)


def test_a_file_with_mistakes_is_named(
    shell: RecordingShell, capsys: pytest.CaptureFixture[str]
) -> None:
    """And arguments are given as they are here."""
    Path("bad.stp").write_text("probe begin { println($1) }\n")
    shell.script = ONE
    shell.feed("load bad.stp")
    told = capsys.readouterr().err
    assert "--> bad.stp:1:23" in told and "<input>" not in told, told
    assert "'add args WORD...' gives arguments, or test" in told, told
    shell.feed_all("add args 7\nload bad.stp")
    assert shell.script == "probe begin { println($1) }\n"


def test_what_is_written_is_told(shell: RecordingShell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.script = ONE + OTHER
    shell.feed("save a.stp")
    assert capsys.readouterr().err == "'a.stp': 2 lines written\n"
    shell.script = ONE
    shell.feed("save")
    assert capsys.readouterr().err == "'a.stp': 1 line written\n"


@pytest.mark.parametrize("words", ["folder", "-f folder"])
def test_a_folder_is_not_written_over(
    shell: RecordingShell, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("folder").mkdir()
    shell.script = ONE
    shell.feed(f"save {words}")
    told = capsys.readouterr().err
    assert "'folder' is a folder: give the name of a file in it" in told and "-f" not in told
    assert (shell.file, shell.saved) == ("", "")
