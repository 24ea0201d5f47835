"""The checker of docs/features.md: what it finds, and that it finds nothing in the document."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.session.settle import WITHOUT_EFFECT
from tests.features import cases, check, rows, subjects

SCRIPT = """# A timer.
# args: -DMAXACTION=5
# timer.sec(1) is only told
probe timer.s(7).randomize(2) { println("x") /* timer.hz(3) */ }
"""
TESTS = '''
import helper

WORDS = ["--tmpdir=x"]
TABLE = [("-k", 1)]


def made(): return WORDS


def test_it(tmp_path):
    """Says --never."""
    assert made()
'''


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Make a root with a script, a file of tests and a list of cases."""
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases/timer.stp").write_text(SCRIPT)
    (tmp_path / "test_x.py").write_text(TESTS)
    (tmp_path / "list.txt").write_text("### probe begin { }\nempty\n### probe end { }\nlast\n")
    return tmp_path


def problems(tree: Path, feature: str, shown: str, status: str = "yes") -> list[str]:
    (tree / "features.md").write_text(
        f"| ID | Feature | stapy | shown by |\n|---|---|---|---|\n"
        f"| XX-01 | {feature} | {status} | {shown} |\n"
    )
    return [what for _, what in check.problems(tree / "features.md", tree)]


@pytest.mark.parametrize(
    ("feature", "shown"),
    [
        ("`timer.s(N).randomize(M)`", "cases/timer.stp"),
        ("`-D NAME=VALUE`", "cases/timer.stp"),
        ("`MAXACTION`", "cases/timer.stp"),
        ("a timer, told in prose", "cases/timer.stp `timer.s(7)`"),
        ("`--tmpdir=NAME`", "test_x.py::test_it"),
        ("`-k`", "test_x.py::TABLE"),
        ("`-k`, `--tmpdir=NAME`", "test_x.py::TABLE, test_x.py::test_it"),
        ("`end`", "list.txt `probe end`"),
    ],
)
def test_shown(tree: Path, feature: str, shown: str) -> None:
    assert problems(tree, feature, shown) == []


@pytest.mark.parametrize(
    ("feature", "shown", "why"),
    [
        ("`timer.s(N)`", "", "no case is named"),
        ("`timer.s(N)`", "cases", "cases: is a folder, not a case"),
        ("`timer.s(N)`", "cases/none.stp", "cases/none.stp: there is no such file"),
        ("`timer.sec(N)`", "cases/timer.stp", "no case says `timer.sec(N)`"),
        ("`timer.hz(N)`", "cases/timer.stp", "no case says `timer.hz(N)`"),
        ("`timer.s(N)`", "cases/timer.stp", "no case says `timer.s(N)`\0"),
        ("in prose", "cases/timer.stp", "is told in prose: quote from the case what shows it"),
        ("in prose", "cases/timer.stp `no`", "cases/timer.stp does not contain `no`"),
        ("`timer.s(N)`", "cases/timer.stp `println`",
         "no quotation has anything of `timer.s(N)`"),
        ("`-k`", "test_x.py", "test_x.py: is a file of many cases: FILE::NAME names one"),
        ("`-k`", "test_x.py::test_no", "test_x.py::test_no: defines no test_no"),
        ("`-k`", "test_x.py::made", "test_x.py::made: made is a function that is no test"),
        ("`-k`", "test_x.py::test_it", "no case says `-k`"),
        ("`--never`", "test_x.py::test_it", "no case says `--never`"),
        ("`end`", "list.txt", "list.txt: is a list of cases; quote from the one that is meant"),
        ("`end`", "list.txt `probe error`", "list.txt: has no case with 'probe error'"),
    ],
)  # fmt: skip
def test_not_shown(tree: Path, feature: str, shown: str, why: str) -> None:
    found = problems(tree, feature, shown)
    if why.endswith("\0"):  # a point that only begins like this one is another one
        feature = feature.replace("timer.s(N)", "timer.s(N).nothing")
        assert problems(tree, feature, shown) == ["no case says `timer.s(N).nothing`"]
    else:
        assert found == [why]


@pytest.mark.parametrize("status", ["no: later", "n/a", "n/a: another way", "see TF-012"])
def test_what_is_not_promised_needs_no_case(tree: Path, status: str) -> None:
    assert problems(tree, "`-k`", "", status) == []


def test_a_row_keeps_its_bars() -> None:
    assert rows.code_words(r"`a \| b` and `` `c` ``") == ["a | b", "`c`"]
    found = rows.references(r"a.stp `x, \| y`, b.py::T")
    assert [(str(one), one.quotes) for one in found] == [("a.stp", ["x, | y"]), ("b.py::T", [])]


@pytest.mark.parametrize(
    ("word", "count"),
    [("* / %", 3), ("-S size[,N]", 1), ("-h --help", 2), ("%d %i", 2), ("--x=a/b", 3), ("a b", 1)],
)
def test_each_part_of_a_word_is_looked_for(word: str, count: int) -> None:
    assert len(subjects.expressions(word)) == count


def test_the_document() -> None:
    document = cases.ROOT / "docs" / "features.md"
    assert [f"{row.id}: {what}" for row, what in check.problems(document)] == []


def test_limits_without_effect_say_why() -> None:
    """In the words of the warning that who sets one gets."""
    found = rows.read(cases.ROOT / "docs" / "features.md")
    told = {
        code: (row.id, row.status)
        for row in found
        for one in row.codes
        for code in one.split()
        if code in WITHOUT_EFFECT
    }
    assert len(told) > 30, told
    wrong = [
        f"{row}: {name}: {WITHOUT_EFFECT[name]}"
        for name, (row, status) in told.items()
        if status.startswith(("no", "n/a")) and WITHOUT_EFFECT[name] not in status
    ]
    assert wrong == []
