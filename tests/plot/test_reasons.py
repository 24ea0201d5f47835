"""Why nothing is drawn: the reason that the recording, the file or the command line gives."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from stapy.diagnostics import Stop
from stapy.options import Options
from stapy.plot import recording
from stapy.plot.choice import PlotWish, choose
from stapy.plot.errors import PlotError
from stapy.session import Session, plotting
from tests.plot.test_charts import BEGIN, of_global, of_print, read
from tests.plot.test_files import plot
from tests.program import run_stapy

ERROR = {"type": "error", "time": 109.0, "message": "MAXACTION exceeded near identifier 'x'"}
END = {"type": "end", "time": 110.0, "errors": 1}


def folded(folder: Path, name: str, *lines: str) -> recording.Recording:
    path = folder / name
    path.write_text("".join(line + "\n" for line in lines))
    return recording.read(str(path))


# What was recorded -> words of the refusal.
NOTHING: dict[str, tuple[list[dict[str, Any]], str]] = {
    "failed": ([ERROR, END], r"the session failed, .* at its end \(MAXACTION exceeded near"),
    "cut": ([of_print(1, n=1)], "the recording stops before the end of the session"),
    "ended": ([END], "there is no global that the script writes to, and no print"),
    "texts": ([of_global("t", "x"), END], "no global has numbers or statistics, and no print"),
    "counts": ([of_global("a", 0, "x", stack="f;g"), END], "stacks, but none has a count above 0"),
}


@pytest.mark.parametrize("name", NOTHING)
def test_nothing_to_draw_has_its_reason(name: str, tmp_path: Path) -> None:
    lines, words = NOTHING[name]
    with pytest.raises(PlotError, match=f"nothing to draw: .*{words}"):
        choose(read(tmp_path, *lines), PlotWish())


# A file's name and text -> words of the refusal: none is taken for folded stacks by mistake.
DAMAGED = {
    "empty": ("x.json", "", "is empty: nothing was recorded"),
    "blank": ("x.jsonl", "\n\n", "is empty: nothing was recorded"),
    "head_lost": ("x.jsonl", 'time": 3\n', "line 1: expected an object that --format=json wrote"),
    "rest_of_a_line": ("x.json", '"n": 3', "line 1: expected an object that --format=json wrote"),
    "named_so": ("x.json", "a;b 3\n", "line 1: expected an object that --format=json wrote"),
    "indented": ("x.txt", " {1}\n", "line 1: expected an object that --format=json wrote"),
    "both_forms": ("x.txt", 'a;b 3\n{"time": 3\n', "line 2: expected an object of --format=json"),
    "first_line_cut": ("x.jsonl", '{"type": "beg', "nothing to draw: .*stops before the end"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_files_have_their_own_message(name: str, tmp_path: Path) -> None:
    file, text, words = DAMAGED[name]
    (tmp_path / file).write_text(text)
    with pytest.raises(PlotError, match=words):
        choose(recording.read(str(tmp_path / file)), PlotWish())


def test_an_error_does_not_keep_prints_from_being_drawn(tmp_path: Path) -> None:
    found = choose(read(tmp_path, *(of_print(at, n=at) for at in range(3)), ERROR, END), PlotWish())
    assert [chart.title for chart in found] == ["n (x.stp:1:1)"]


# The stacks of both recordings -> words of the refusal.
COMPARED = {
    "no_stacks": ([of_global("a", 3, "x")], [of_global("a", 3, "x")], "the recording has none"),
    "none_before": (
        [of_global("a", 3, "x", stack="f;g")],
        [of_global("a", 3, "x")],
        "that of --before has none",
    ),
    "other_names": (
        [of_global(name, 3, "x", stack="f;g") for name in "ab"],
        [of_global(name, 3, "x", stack="f;g") for name in "cd"],
        "stacks are in a, b, in that of --before in c, d",
    ),
    "no_counts_before": (
        [of_global("a", 3, "x", stack="f;g")],
        [of_global("a", -3, "x", stack="f;g")],
        "no stack of the recording before has a count above 0",
    ),
}


@pytest.mark.parametrize("name", COMPARED)
def test_what_cannot_be_compared_is_told(name: str, tmp_path: Path) -> None:
    now, then, words = COMPARED[name]
    with pytest.raises(PlotError, match=words):
        choose(read(tmp_path, *now), PlotWish(), read(tmp_path, *then))


@pytest.mark.parametrize("wish", [PlotWish(chart="bars"), PlotWish(field="n")])
def test_only_stacks_are_compared(wish: PlotWish, tmp_path: Path) -> None:
    found = read(tmp_path, of_global("a", 3, "x", stack="f;g"), of_print(1, n=1))
    with pytest.raises(PlotError, match="goes without --field and other charts"):
        choose(found, wish, found)


def test_folded_counts_below_1_are_left_out(tmp_path: Path) -> None:
    (chart,) = choose(folded(tmp_path, "a", "m;a 3", "m;b 0", "m;c -2"), PlotWish())
    assert chart.rows[0]["count"] == 3
    assert "stacks left out, with counts below 1: 2" in chart.notes
    with pytest.raises(PlotError, match="there are stacks, but none has a count above 0"):
        choose(folded(tmp_path, "b", "m;b 0", "m;c -2"), PlotWish())


@pytest.mark.parametrize("count", ["0.5", "1e9", "nan", "-inf", "9" * 30])
def test_folded_counts_that_are_none(count: str, tmp_path: Path) -> None:
    with pytest.raises(PlotError, match=f"line 2: expected a whole number.*, not '{count}'"):
        folded(tmp_path, "a", "m;a 1", f"m;b {count}")


def test_standard_input_is_drawn(tmp_path: Path) -> None:
    lines = "".join(json.dumps(line) + "\n" for line in (BEGIN, of_global("a", 1, "x")))
    done = run_stapy("plot", "-", "-o", tmp_path / "a.svg", given=lines)
    assert (done.returncode, done.stderr) == (0, ""), done
    assert "bars: a" in (tmp_path / "a.svg").read_text()


# What is said, for words of the command line.
REFUSED = {
    "no_output": ("-", "-o FILE must name the picture"),
    "no_name": ("", "-o FILE must name the picture"),
    "root": ("/", "-o FILE must name the picture"),
    "both": ("- --before - -o a.svg", "standard input is one recording, not both"),
    "two_pictures": ("a -o a.svg -o b.svg", "-o was given twice"),
    "two_fields": ("a --field x --field y", "--field was given twice"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_command_lines(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    line, words = REFUSED[name]
    assert plot(*(line.split() or [""])) == 2
    assert f"ERROR: stapy plot: {words}" in capsys.readouterr().err


def test_an_empty_standard_input_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(recording, "_opened", lambda path: io.StringIO(""))
    assert plot("-", "-o", "a.svg") == 2
    assert "'standard input' is empty: nothing was recorded" in capsys.readouterr().err


def ended(folder: Path, picture: str, *lines: dict[str, Any]) -> Session:
    """Make a session that has ended, and recorded these lines."""
    (folder / "work").mkdir()
    session = Session(Options(plot=picture, tmpdir=str(folder / "work")))
    place = plotting.place_of_record(session)
    place.write_text("".join(json.dumps(line) + "\n" for line in (BEGIN, *lines)))
    return session


def test_what_was_recorded_is_kept_when_the_picture_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    session = ended(tmp_path, "/proc/x.svg", of_global("a", 1, "x"), END)
    with pytest.raises(Stop):
        plotting.draw(session, 0)
    (told,) = session.diagnostics.items
    assert told.message.startswith("--plot: cannot write '/proc/x.svg': ")
    place = re.fullmatch("what was recorded is kept: stapy plot (.*) -o FILE.svg", told.hint)
    assert place and plot(place[1], "-o", str(tmp_path / "later.svg")) == 0
    assert "bars: a" in (tmp_path / "later.svg").read_text()


def test_a_record_that_cannot_be_kept_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    session = ended(tmp_path, "/proc/x.svg", of_global("a", 1, "x"), END)
    with pytest.raises(Stop):
        plotting.draw(session, 0)
    assert "could not be kept either" in session.diagnostics.items[0].hint


def test_a_session_that_failed_has_nothing_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    session = ended(tmp_path, str(tmp_path / "a.svg"), ERROR, END)
    with pytest.raises(Stop):
        plotting.draw(session, 1)
    (told,) = session.diagnostics.items
    assert "the session failed" in told.message and not told.hint
    assert sorted(path.name for path in tmp_path.iterdir()) == ["work"]
