"""The page of the wall: a column for each kernel that was tried, a line for what is in the way."""

from __future__ import annotations

import json
import subprocess
import threading
from pathlib import Path

import pytest

from tests.wall import __main__ as wall
from tests.wall.page import read, write
from tests.wall.rows import OK, UNITS, Row, _refusal, families, texts

NAMES = [name for name, _ in families()]


def test_each_family_has_a_script_that_prints() -> None:
    assert len(NAMES) == len(set(NAMES)) >= 20
    assert all(case.expect for _, case in families())
    assert all("probe " in text for text in texts().values())


def test_what_is_written() -> None:
    good = Row("6.12-x", "gcc-12", "this machine", "2026-01-02", "abc1234")
    good.cells = {name: [OK, ""] for name in [UNITS, *NAMES]}
    bad = Row("6.9-x", "gcc-11", "image", "2026-01-01", "abc1234")
    bad.architecture = "arm64"
    bad.cells = {**good.cells, "timer": ["E0405", "a | b"], "perf": ["E0405", "a | b"]}
    page = write([good, bad, Row("7.0-x", "gcc-99", date="2026-01-03", why="no compiler")])
    lines = page.splitlines()
    number = len(good.cells)
    assert (
        "| 2 | 6.12-x | x86_64 | gcc-12 | this machine | 2026-01-02 | abc1234 "
        f"| {number} of {number} |" in lines
    )
    assert (
        f"| 1 | 6.9-x | arm64 | gcc-11 | image | 2026-01-01 | abc1234 | {number - 2} of {number} |"
        in lines
    )
    assert "| | 7.0-x | x86_64 | gcc-99 | not tried: no compiler | 2026-01-03 | | |" in lines
    assert "| timer | E0405 | ok |" in lines
    assert "- 1, 6.9-x: timer, perf: E0405: a ' b" in lines
    assert "- 7.0-x: not tried: no compiler" in lines and "Nothing." not in lines
    assert write(read(page)) == page


def test_what_a_refusal_says() -> None:
    note, error = {"severity": "note"}, {"severity": "error", "code": "E1", "message": "a\nb"}
    said = f"{json.dumps(note)}\n{json.dumps(error)}"
    assert _refusal(said) == ["E1", "a"]
    assert _refusal("first\nlast") == ["error", "last"]
    assert _refusal("") == ["error", "nothing was said"]


@pytest.mark.parametrize(
    ("line", "release"),
    [("6.1", "6.1.0-9-amd64"), ("6.1-rt", "6.1.0-12-rt-amd64"), ("6.12-rt", "fetched")],
)
def test_lines_that_are_here(monkeypatch: pytest.MonkeyPatch, line: str, release: str) -> None:
    """What is installed is taken where it is what would be fetched."""
    have = ["6.1.0-9-amd64", "6.1.0-12-cloud-amd64", "6.1.0-12-rt-amd64", "6.12.9-amd64"]
    done = subprocess.CompletedProcess([], 0, "fetched\n", "")
    monkeypatch.setattr(wall.kernels, "installed", lambda: have)
    monkeypatch.setattr(wall, "host_name", lambda: "x86_64")
    monkeypatch.setattr(wall.subprocess, "run", lambda *words, **rest: done)
    assert wall.fetch(f":{line}") == (release, "")


def row(release: str, date: str = "2026-01-02", why: str = "", state: str = OK) -> Row:
    made = Row(release, "gcc-12", "" if why else "this machine", date, "" if why else "abc1234")
    made.why = why
    made.cells = {} if why else {name: [state, "" if state == OK else "a"] for name in NAMES}
    return made


def test_the_page_is_read_as_it_was_written() -> None:
    text = wall.PAGE.read_text()
    rows = read(text)
    assert len(rows) >= 10 and all(row.cells or row.why for row in rows)
    again = {one.release: one for one in read(write(rows))}
    for one in rows:
        assert {name: getattr(again[one.release], name) for name in Row.fields} == {
            name: getattr(one, name) for name in Row.fields
        }
    assert read("") == read("# The wall\n") == []


FULL = [row("6.1.0-x"), row("6.12-x", state="E1")]
TRIED = ("6.1.0-x", "6.12-x")


@pytest.mark.parametrize(
    ("page", "cache", "now", "dates", "untried"),
    [
        # A fresh machine, with nothing in the cache: the page's own rows stay.
        (FULL, [], row("7-x", "2026-02-01"), "02 02 7-x", ""),
        (FULL, [], row("7-cloud of sid", why="no network"), "02 02", "7-cloud of sid"),
        (FULL, [], row("6.1.0-x", "2026-02-01", why="no docker"), "02 02", ""),
        ([], FULL, row("6.1.0-x", "2026-02-01", why="no docker"), "02 02", ""),
        # What was tried takes the place of what was tried before.
        (FULL, [], row("6.1.0-x", "2026-02-09"), "09 02", ""),
        ([row("6.1.0-x", why="no docker")], [], row("6.1.0-x"), "02", ""),
        # The newer of page and cache is known; one that was not tried is less than any other.
        (FULL, [row("6.1.0-x", "2026-01-01")], row("7-x"), "02 02 7-x", ""),
        (FULL, [row("6.1.0-x", "2026-01-05")], row("7-x"), "05 02 7-x", ""),
        (FULL, [row("6.1.0-x", "2026-03-01", why="no")], row("7-x"), "02 02 7-x", ""),
        ([row("7-x", why="no compiler")], [], row("6.1.0-x"), "02", "7-x"),
    ],
)
def test_no_run_loses_what_is_known(
    tmp_path: Path, page: list[Row], cache: list[Row], now: Row, dates: str, untried: str
) -> None:
    file, folder = tmp_path / "wall.md", tmp_path / "cache"
    folder.mkdir()
    if page:
        file.write_text(write(page))
    for one in cache:
        text = json.dumps({name: getattr(one, name) for name in Row.fields})
        (folder / f"{one.release}.json").write_text(text)
    wall.record(now, folder, file)
    rows = read(file.read_text())
    tried = [one for one in rows if not one.why]
    assert [
        one.date[-2:] if one.release in TRIED else one.release for one in tried
    ] == dates.split()
    assert all(one.cells for one in tried)
    assert [one.release for one in rows if one.why] == ([untried] if untried else [])
    assert (f"- {untried}: not tried: " in file.read_text()) == bool(untried)
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".new"] == []


@pytest.mark.parametrize("name", ["release", "architecture", "compiler", "place", "date", "stapy"])
@pytest.mark.parametrize("why", ["", "no | compiler"])
def test_what_would_end_a_cell_loses_no_row(name: str, why: str) -> None:
    one = row("7-x", why=why)
    setattr(one, name, "a | b\nc")
    (again,) = read(write([one]))
    if not (why and name in ("place", "stapy")):  # which such a row has not
        assert getattr(again, name) == "a ' b c"
    assert (again.cells, again.why) == (one.cells, why.replace("|", "'"))


def test_two_runs_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the other one records between our reading and writing is not lost."""
    page, known = tmp_path / "wall.md", wall.known
    other = threading.Thread(target=wall.record, args=(row("6.12-x"), tmp_path, page))

    def slow(folder: Path, file: Path) -> dict[str, Row]:
        rows = known(folder, file)
        if other.ident is None:
            other.start()
            other.join(1)  # it has to wait for us
        return rows

    monkeypatch.setattr(wall, "known", slow)
    wall.record(row("6.1.0-x"), tmp_path, page)
    other.join()
    assert [one.release for one in read(page.read_text())] == ["6.1.0-x", "6.12-x"]


def test_a_run_that_tries_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No kernel can be had at first; when one can, the row that said so goes."""
    page, full = tmp_path / "wall.md", write(FULL)
    page.write_text(full)
    monkeypatch.setattr(wall, "PAGE", page)
    monkeypatch.setattr(wall, "cache_dir", lambda: tmp_path / "cache")
    monkeypatch.setattr(wall, "LINES", ("sid:7-cloud",))
    name = "7-cloud of sid"
    monkeypatch.setattr(wall, "fetch", lambda wanted: (name, "no network"))
    assert wall.main([]) == 0
    assert [one.release for one in read(page.read_text())] == [*TRIED, name]
    monkeypatch.setattr(wall, "fetch", lambda wanted: ("7.2-x", ""))
    monkeypatch.setattr(wall, "try_kernel", row)
    assert wall.main([]) == 0
    assert [one.release for one in read(page.read_text())] == [*TRIED, "7.2-x"]
