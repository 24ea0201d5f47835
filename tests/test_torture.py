"""The figures of reliability: their tests are there, and the page keeps what was measured."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from stapy.vm import kernels
from tests import torture

REPORT = """<testsuites><testsuite>
<testcase name="one"><system-out>--- Captured Out ---

200 rounds, 31 s
something else</system-out></testcase>
<testcase name="two"><failure/><system-out>3 rounds, 2 s</system-out></testcase>
<testcase name="three"><skipped message="no disk"/></testcase>
<testcase name="four"><skipped message="no disk"/></testcase>
<testcase name="five"><skipped message="6.1 only"/></testcase>
</testsuite></testsuites>"""
PAGE = f"""Before.

{torture.BEGINS}
{torture.HEAD[0]}
{torture.HEAD[1]}
| flood | 6.1 | 2020-01-01 | old | 1 passed | 5 lost |
| load | 6.12 | 2020-01-01 | old | 1 passed | 200 rounds |
{torture.ENDS}

After.
"""


@pytest.mark.parametrize("figure", torture.FIGURES, ids=lambda one: one.name)
def test_the_tests_of_a_figure_are_there(figure: torture.Figure) -> None:
    for place in figure.tests:
        path, _, name = place.partition("::")
        assert (torture.ROOT / path).exists(), place
        assert not name or f"def {name}(" in (torture.ROOT / path).read_text(), place


def test_how_tests_ended_and_what_they_printed(tmp_path: Path) -> None:
    (tmp_path / "report").write_text(REPORT)
    found = torture.read(tmp_path / "report", r"^\d+ rounds.*")
    assert (found.passed, found.failed) == (1, ["two"])
    assert found.printed == ["200 rounds, 31 s", "3 rounds, 2 s"]
    assert found.ended() == "FAILED: two"
    found.failed.clear()
    assert found.ended() == "1 passed; skipped: 2 (no disk), 1 (6.1 only)"
    assert torture.Found(passed=3).ended() == "3 passed"


# The second test ends the run in the way of who interrupts it; the third is not begun.
INTERRUPTED = """
def test_one(): print("3 rounds")
def test_two(): raise KeyboardInterrupt
def test_three(): pass
"""


def test_an_interrupted_run_has_not_passed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "test_some.py").write_text(INTERRUPTED)
    monkeypatch.setattr(torture, "ROOT", tmp_path)
    found = torture.measure(torture.Figure("some", ("test_some.py",)), "6.1")
    assert found.printed == ["3 rounds"]
    assert found.ended() == "FAILED: pytest ended with 2"


def test_what_is_measured_is_the_commit_that_the_run_began_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = iter(("before", "after"))
    page = tmp_path / "page"
    page.write_text(PAGE)
    monkeypatch.setattr(torture, "PAGE", page)
    monkeypatch.setattr(torture, "commit", lambda: next(told))
    monkeypatch.setattr(torture, "jobs", lambda names: [(torture.FIGURES[0], "6.1")])
    monkeypatch.setattr(torture, "measure", lambda *job: next(told) and torture.Found(passed=1))
    assert torture.main([]) == 0
    assert "| before | 1 passed |" in page.read_text()


def test_a_row_takes_the_place_of_the_older_one() -> None:
    found = torture.Found(passed=1, printed=["a|b", "c"])
    figure = next(one for one in torture.FIGURES if one.name == "flood")
    lines = [torture.row(figure, kernel, found, "abc1") for kernel in ("6.1", "6.12")]
    page = torture.written(PAGE, lines)
    assert page.startswith("Before.\n") and page.endswith("\nAfter.\n")
    table = page.partition(torture.BEGINS)[2].partition(torture.ENDS)[0].strip().splitlines()
    assert table[:2] == list(torture.HEAD)
    assert [torture.key(line) for line in table[2:]] == [
        ("load", "6.12"),
        ("flood", "6.1"),
        ("flood", "6.12"),
    ]
    assert "| abc1 |" in table[3] and r"a\|b; c |" in table[3]
    assert torture.written(page, []) == page


def test_the_commit_is_changed_by_more_than_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torture, "ROOT", tmp_path)
    monkeypatch.setattr(torture, "PAGE", tmp_path / "docs" / "safety.md")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert torture.commit() == "?"
    (tmp_path / "docs").mkdir()
    for name in ("docs/safety.md", "code"):
        (tmp_path / name).write_text("before")
    who = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    for words in ("init", "-q"), ("add", "."), (*who, "commit", "-q", "-m", "first"):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    (tmp_path / "docs/safety.md").write_text("after")
    first = torture.commit()
    assert first.isalnum()
    (tmp_path / "code").write_text("after")
    assert torture.commit() == f"{first}+"


def test_kernels_that_watch_are_asked_for_more(monkeypatch: pytest.MonkeyPatch) -> None:
    class Kernel:
        def __init__(self, release: str) -> None:
            self.release = release

        def watches(self) -> bool:
            return self.release == "watching"

    monkeypatch.setattr(torture, "releases", lambda: ["plain", "watching"])
    monkeypatch.setattr(kernels, "find", Kernel)
    asked = [(figure.name, kernel) for figure, kernel in torture.jobs(["suite", "load", "fuzz"])]
    assert asked == [
        ("fuzz", "any"),
        ("load", "plain"),
        ("load", "watching"),
        ("suite", "watching"),
    ]


def test_a_figure_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        torture.main(["floods"])
    assert ended.value.code == 2
    assert "no such figure: floods; there are load, kill" in capsys.readouterr().err
    torture.written(torture.PAGE.read_text(), [])  # the page has a place for the table
