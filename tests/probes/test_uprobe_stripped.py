"""Functions of stripped programs by their addresses."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.debuginfo.user.sources import PROGRAM, compiled
from tests.debuginfo.user.sources import run as command
from tests.probes.uprobe import points, probe, symbol

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """Make a program without names; it, and where a function of it begins."""
    folder = tmp_path_factory.mktemp("stripped")
    whole = compiled(folder, PROGRAM, "-O1", name="whole")
    command("strip", "-s", "-o", str(folder / "bare"), str(whole))
    return folder / "bare", symbol(whole, "helper")


@pytest.mark.parametrize("tail", ["function({})", "function({}).call", "statement({})"])
def test_it_is_known_where_they_begin(tail: str, places: tuple[Path, int]) -> None:
    path, at = places
    point = f'process("{path}").{tail.format(f"{at:#x}")}'
    assert points(probe(point)) == [point]


@pytest.mark.parametrize(
    ("tail", "distance", "note"),
    [
        ("function({})", 1, "lies in no function"),
        ("statement({})", 1, "is in no function that is known"),
        # A part that the compiler put elsewhere has no return address on the stack.
        ("function({}).return", 0, "begins a function or a part of one is not known"),
        ("function({}).return", 1, "lies in no function"),
    ],
)
def test_nothing_is_guessed(tail: str, distance: int, note: str, places: tuple[Path, int]) -> None:
    path, at = places
    result = probe(f'process("{path}").{tail.format(f"{at + distance:#x}")}')
    (item,) = result.diagnostics.errors
    assert note in " ".join(item.notes), result.shown()


def test_they_have_no_names(places: tuple[Path, int]) -> None:
    path, at = places
    result = probe(f'process("{path}").function({at:#x})')
    assert result.program is not None
    assert result.program.probes[0].sites[0].function == ""
