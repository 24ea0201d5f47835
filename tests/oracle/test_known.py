"""What is known to differ is told apart from what is not; the list leads to docs/differences.md."""

from __future__ import annotations

import argparse
import re

import pytest

from tests.oracle import __main__ as oracle
from tests.oracle import compare, known
from tests.oracle.programs import Program
from tests.vm import harness
from tests.vm.harness import Built, ScriptResult

CASE = "tests/vm/cases/timers.stp"
SORTED = known.Known(CASE, "sorting", patterns=["-[0-9]+ first", "+[0-9]+ last"])


def tally(*rows: known.Known) -> compare.Tally:
    return compare.Tally(list(rows))


def test_every_row_leads_to_a_case_and_to_the_document() -> None:
    subjects = known.subjects(known.DOCUMENT.read_text())
    rows = known.read(known.FILE.read_text())
    assert [one.row for one in rows if one.row not in subjects] == []
    cases = {str(case.path.relative_to(harness.ROOT)) for case in harness.all_cases()}
    assert {one.case for one in rows} <= cases | {known.PROGRAMS}
    blocks = [(one.case, one.row, one.line) for one in rows]
    assert len(set(blocks)) == len(blocks)


def test_the_document_says_which_options_random_programs_get() -> None:
    document = known.DOCUMENT.read_text()
    assert [word for word in (*compare.WORDS, compare.QUICK) if f"`{word}`" not in document] == []


def test_subjects_are_the_first_cells() -> None:
    document = "# x\n| subject | a |\n|---|---|\n| `a\\|b` | 1 |\n\n| what | b |\n| two  | 2 |\n"
    assert known.subjects(document) == {"subject", "`a\\|b`", "what", "two"}


def test_a_block_is_read() -> None:
    block = f"### {CASE}\n# row: a | b\n# line: 6.1\n# sometimes: load\n-x\n+y+\n"
    text = f"Preface.\n\n{block}\n### p\n# row: c\n+\n"
    first, second = known.read(text)
    assert (first.case, first.row, first.line, first.sometimes) == (CASE, "a | b", "6.1", "load")
    assert first.patterns == ["-x", "+y+"]
    assert (second.case, second.row, second.line, second.patterns) == ("p", "c", "", ["+"])
    assert first.concerns("6.1.0-9-amd64") and not first.concerns("6.12.1-amd64")
    assert second.concerns("6.12.1-amd64")


@pytest.mark.parametrize(
    ("block", "complaint"),
    [
        ("### a\n-x\n", "has a row and lines"),
        ("### a\n# row: r\n", "has a row and lines"),
        ("### a\n# row: r\n# kernel: 6.1\n-x\n", "neither a directive nor a line: # kernel: 6.1"),
        ("### a\n# row: r\nx\n", "neither a directive nor a line: x"),
        ("### a\n# row: r\n+(\n", "missing \\)"),
    ],
)
def test_a_block_that_excuses_nothing_or_everything_is_refused(block: str, complaint: str) -> None:
    with pytest.raises((ValueError, re.error), match=complaint):
        known.read(block)


def test_what_is_alike_is_counted() -> None:
    result = tally()
    result.judge(CASE, ["1\n2\n", "1\n2\n"])
    assert str(result) == "1 alike, 0 refused, 0 known, 0 unexplained"
    assert result.gone == []


def test_a_known_difference_is_counted_with_its_row() -> None:
    result = tally(SORTED)
    result.judge(CASE, ["1 first\nsame\n", "same\n22 last\n"])
    assert str(result) == "0 alike, 0 refused, 1 known, 0 unexplained"
    assert result.explained == [f"{CASE}: sorting"]
    assert result.gone == []


@pytest.mark.parametrize(
    ("theirs", "ours", "left"),
    [
        ("1 first\n", "2 last\nmore\n", ["+more"]),  # another line beside the known ones
        ("1 first\n", "2 last!\n", ["+2 last!"]),  # more in the line than is known
        ("2 last\n", "1 first\n", ["-2 last", "+1 first"]),  # on the wrong side
    ],
)
def test_another_difference_of_a_known_case_is_told(theirs: str, ours: str, left: str) -> None:
    result = tally(SORTED)
    result.judge(CASE, [theirs, ours])
    assert result.differences[0].unexplained == left
    assert str(result) == "0 alike, 0 refused, 0 known, 1 unexplained"


def test_rows_of_other_cases_excuse_nothing() -> None:
    result = tally(SORTED)
    result.judge("tests/vm/cases/other.stp", ["1 first\n", ""])
    assert result.differences[0].unexplained == ["-1 first"]


def test_what_no_longer_differs_is_told() -> None:
    result = tally(SORTED)
    result.judge(CASE, ["1 first\n", "x\n1 first\n"])
    assert result.gone == [f"{CASE}: -[0-9]+ first", f"{CASE}: +[0-9]+ last"]
    result = tally(SORTED)
    result.judge(CASE, ["1 first\n", ""])
    assert (result.known, result.gone) == (1, [f"{CASE}: +[0-9]+ last"])
    result = tally(known.Known(CASE, "load", sometimes="counts", patterns=["-x"]))
    result.judge(CASE, ["1\n", "1\n"])
    assert (result.same, result.gone) == (1, [])


def test_rows_for_programs_concern_programs_alone() -> None:
    rows = known.Known(known.PROGRAMS, "shifts", patterns=["-x", "-y"])
    result = tally(rows)
    result.judge("program 7", ["x\n", ""], "probe begin { }")
    assert (result.known, result.gone) == (1, [])
    result.judge("program 8", ["x\n", "z\n"], "probe begin { }")
    assert result.differences[0].unexplained == ["+z"]
    assert result.differences[0].script == "probe begin { }"
    result.judge(known.PROGRAMS + ".stp", ["x\n", ""])
    assert len(result.differences) == 2


def test_a_refusal_of_ours_alone_differs() -> None:
    stderr = "\x1b[1merror[E1]: no\x1b[0m\n  --> x.stp\n"
    refused = compare.refusal(Built(None, 1, "", stderr, known.FILE.parent))
    assert refused == "refused: error[E1]: no\n"
    assert compare.refusal(Built(None, 1, "", "", known.FILE.parent)) == "refused: no message\n"
    result = tally(known.Known(CASE, "literals", patterns=["+refused: error.*"]))
    result.judge(CASE, ["", refused])
    assert result.known == 1


def test_a_program_of_which_neither_side_shows_anything_differs() -> None:
    result = tally()
    batches = compare.Batches(None, known.FILE.parent, result)  # type: ignore[arg-type]
    said = [ScriptResult(0, "=== 1\nx\n=== end\n", ""), ScriptResult(0, "=== 1\nx\n=== end\n", "")]
    batches.compare([Program(1), Program(2)], said)
    assert str(result) == "1 alike, 0 refused, 0 known, 1 unexplained"
    assert result.differences[0].unexplained == ["-nothing of systemtap", "+nothing of stapy"]


def test_a_run_that_has_no_end_is_told_without_the_log_of_its_being_stopped() -> None:
    assert compare.compared(ScriptResult(0, "x\n", "")) == "x\nstatus: 0\n"
    ended = ScriptResult(-1, "x\n", "", "[ 1] NMI\n", "timeout")
    assert compare.compared(ended) == "x\nstatus: -1\n[timeout]\n"
    ended = ScriptResult(-1, "x\n", "", "[ 1] BUG\n", "panic")
    assert compare.compared(ended) == "x\nstatus: -1\n[panic]\n[ 1] BUG\n"


def test_all_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    result = tally(SORTED)
    teller = oracle.Teller(result)
    result.judge(CASE, ["1 first\nx\n", "2 last\n"])
    result.only_ours.append("y: error")
    teller.tell("one")
    first = capsys.readouterr().out
    assert f"===== {CASE}\n" in first
    assert "not explained of it:\n-x\n" in first
    assert "refused by SystemTap alone: y: error\n" in first
    assert first.endswith("--- one: 0 alike, 0 refused, 0 known, 1 unexplained\n")
    result.judge(CASE, ["1 first\n", ""])
    teller.tell("two")
    assert capsys.readouterr().out == (
        f"known: {CASE}: sorting\n"
        f"no longer differs: {CASE}: +[0-9]+ last\n"
        "--- two: 0 alike, 0 refused, 1 known, 1 unexplained\n"
    )


@pytest.mark.parametrize("word", ["5", "5:", ":5", "5:5", "7:5", "a:b", "-1:4"])
def test_seeds_are_a_range(word: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        oracle.seeds(word)
    assert oracle.seeds("5:7") == (5, 7)


class _Guest:
    """Stands for a machine: no case is run here."""

    def __init__(self, release: str) -> None:
        self.release = release

    def __enter__(self) -> _Guest:
        return self

    def __exit__(self, *_: object) -> None:
        pass


@pytest.mark.parametrize(("ours", "status"), [("1 last\n", 0), ("other\n", 1)])
def test_the_status_is_that_of_the_unexplained(
    ours: str, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def judged(
        _machine: object, case: harness.Case, _folder: object, found: compare.Tally, _debug: bool
    ) -> None:
        found.judge(str(case.path.relative_to(harness.ROOT)), ["1 first\n", ours])

    monkeypatch.setattr(oracle, "Machine", _Guest)
    monkeypatch.setattr(oracle, "release_of", lambda line: f"{line}.0-1-amd64")
    monkeypatch.setattr(known, "listed", lambda release: [SORTED])
    monkeypatch.setattr(compare, "run_case", judged)
    monkeypatch.setattr("sys.argv", ["oracle", "--cases", str(harness.ROOT / CASE)])
    with pytest.raises(SystemExit) as ended:
        oracle.main()
    assert ended.value.code == status
    assert capsys.readouterr().out.count("--- ") == 1 + status


def test_a_script_that_is_no_case_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracle, "release_of", lambda line: f"{line}.0-1-amd64")
    monkeypatch.setattr("sys.argv", ["oracle", "--cases", "/no/such.stp"])
    with pytest.raises(SystemExit, match=r"no case of the tests: /no/such\.stp"):
        oracle.main()
