"""Every test is in one unit, each worker stays with its kernel as long as that has any."""

from __future__ import annotations

import pytest

from tests.schedule import LONG, choose, kernel, unit

OLD, NEW = "6.1.0-56-cloud-amd64", "6.12.117+deb12-cloud-amd64"


@pytest.mark.parametrize(
    ("nodeid", "expected"),
    [
        (f"tests/vm/test_cases.py::t[{OLD}-tapsets/tty]", f"{OLD} tests/vm/test_cases.py/tapsets"),
        (f"tests/vm/test_lines.py::t[{NEW}]", f"{NEW} tests/vm/test_lines.py"),
        (f"tests/runtime/test_all.py::t[{NEW}-data]", f"{NEW} tests/runtime/test_all.py"),
        (f"tests/build/test_driver.py::t[{NEW}]", " tests/build/test_driver.py"),
        ("tests/parse/test_trees.py::t[6.1.0-56-amd64 x/y]", " tests/parse/test_trees.py"),
    ],
)  # fmt: skip
def test_unit(nodeid: str, expected: str) -> None:
    assert unit(nodeid, [NEW, OLD, "12-cloud-amd64"]) == expected


def test_workers_stay_with_a_kernel() -> None:
    waiting = {f"{name} tests/{at}.py": 1 for name in (OLD, NEW, "") for at in range(20)}
    homes: list[str | None] = [None, None, None]
    moves = 0
    while waiting:
        for worker in range(3):
            if waiting:
                home = homes[worker]
                others = {
                    other for at, other in enumerate(homes) if at != worker and other is not None
                }
                name = choose(waiting, home, others)
                moves += home not in (None, kernel(name))
                homes[worker] = kernel(name)
                del waiting[name]
    assert moves == 0
    assert sorted(home or "" for home in homes) == ["", OLD, NEW]


def test_who_has_nothing_left_helps_where_most_is_left() -> None:
    waiting = {f"{OLD} tests/vm/a.py": 2, f"{NEW} tests/vm/a.py": 3}
    assert kernel(choose(waiting, "", {OLD, NEW})) == NEW


def test_what_takes_long_comes_first() -> None:
    waiting = {f"{OLD} tests/vm/{name}.py": 1 for name in ("test_lines", "safety/test_load")}
    assert choose(waiting, OLD, set()).endswith("test_load.py")


def test_names_of_what_takes_long_are_files() -> None:
    from tests.vm.harness import ROOT

    files = [str(path) for path in (ROOT / "tests").rglob("*.py")]
    for name in LONG:
        assert any(name.partition(".py/")[0] in path for path in files), name
