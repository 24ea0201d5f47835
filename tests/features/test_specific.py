"""Quotations of rows in prose: what they must be, and what shows nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.features import cases, check, rows, specific, subjects

NAMES = """# Limits are told here, but not by `limit` itself.
probe begin, netdev.transmit { printf("%s\\n", rlimit_from_str("NOFILE"))
log("of a thread"); exit() }
"""
TABLE = 'TABLE = [("-DMAXACTION=5", "stopped by its \\"limit of actions\\"\\n")]\n'


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Make a root with a case of its own words, and many that have others in common."""
    (tmp_path / "names.stp").write_text(NAMES)
    (tmp_path / "test_x.py").write_text(TABLE)
    for number in range(specific.FEW):
        (tmp_path / f"other{number}.stp").write_text(f"probe begin {{ exit() }} # {number}\n")
    return tmp_path


def problems(root: Path, feature: str, shown: str, status: str = "yes") -> list[str]:
    row = rows.Row(1, "XX-01", feature, status, rows.references(shown))
    return check.check(row, root)


@pytest.mark.parametrize(
    ("feature", "shown"),
    [
        ("An rlimit by its name", 'names.stp `rlimit_from_str("NOFILE")`'),
        ("Log", 'names.stp `log("of a thread")`'),
        ("Handlers end when they have done enough actions", "test_x.py::TABLE `limit of actions`"),
        ("Actions", 'test_x.py::TABLE `stopped by its "limit of actions"`'),
        ("What has done enough is stopped", "test_x.py::TABLE `MAXACTION=5` `stopped by`"),
    ],
)
def test_good_rows(tree: Path, feature: str, shown: str) -> None:
    assert problems(tree, feature, shown) == []


UNRELATED = "no quotation, and no name of a case, has a word of the row"


@pytest.mark.parametrize(
    ("feature", "shown", "why"),
    [
        ("Names of limits", "names.stp `limit`", "names.stp does not contain `limit`"),
        ("Names of limits", "names.stp `rlimit_from`", "names.stp does not contain `rlimit_from`"),
        ("`limit N`", "names.stp `limit`", "names.stp does not contain `limit`"),
        ("`limit N`", "names.stp `rlimit_from_str(`", "no quotation has anything of `limit N`"),
        ("Names, by a sign", "names.stp `;`", "names.stp `;`: is too short to show anything"),
        ("Names, by letters", "names.stp `%s`", "names.stp `%s`: is too short to show anything"),
        ("Names that exit", "names.stp `exit()`", "names.stp `exit()`: is found in 4 of 5 cases"),
        ("Names", "names.stp `NOFILE` `exit()`", "names.stp `exit()`: is found in 4 of 5 cases"),
        ("Packets", "names.stp `netdev.`", "names.stp `netdev.`: is only how names begin"),
        ("Teleports packets", "names.stp `rlimit_from_str(`", UNRELATED),
        # Words that half of all rows have, and the status, relate nothing.
        (
            "A probe of the kernel",
            'names.stp `netdev.transmit { printf("%s\\n", rlimit_from_str(`',
            UNRELATED,
        ),
    ],
)
def test_what_shows_nothing(tree: Path, feature: str, shown: str, why: str) -> None:
    assert problems(tree, feature, shown) == [why]


@pytest.mark.parametrize(
    "quote", ["e", "a", "exit()", "probe begin {", 'printf("fib %d\\n", fib(10))']
)
def test_the_moon_is_out_of_reach(quote: str) -> None:
    """Whatever a case of this very tree has, it does not show what nothing does."""
    shown = f"tests/vm/cases/language_tour.stp `{quote}`"
    assert problems(cases.ROOT, "Teleports packets to the moon", shown)


def test_names_of_a_tapset_are_about_it(tree: Path) -> None:
    row = "`rlimit.stp`: what may be taken", 'names.stp `rlimit_from_str("NOFILE")`'
    assert problems(tree, *row) == [UNRELATED]
    (tree / "tapsets").mkdir()
    (tree / "tapsets/rlimit.stp").write_text("function rlimit_from_str:long(name:string) { }\n")
    assert problems(tree, *row) == []


@pytest.mark.parametrize(
    ("text", "where", "found"),
    [
        ("limit", "rlimit", False),
        ("limit", "limits", False),
        ("limit", "a limit 5", True),
        ("MAXACTION", "-DMAXACTION=5", True),
        ("MAXACTION", "DMAXACTION", False),
        ("(x)", "f(x)y", True),
        ("-e", "x-e", True),
        ("-e", "-ef", False),
    ],
)
def test_whole_words(text: str, where: str, found: bool) -> None:
    assert bool(subjects.whole(text).search(where)) == found
