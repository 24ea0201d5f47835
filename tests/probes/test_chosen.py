"""Functions that are chosen when a program is loaded (IFUNC): which places their name means."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.debuginfo.user.file import UserFile
from stapy.debuginfo.user.symbols import INDIRECT, UserFunction, nothing
from stapy.probes.families.uprobe.chosen import opened
from tests.debuginfo.user.sources import PROGRAM, compiled
from tests.probes.test_begin_end import rows
from tests.probes.uprobe import probe, symbol

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("chosen"), PROGRAM, "-O1")


def test_a_function_that_is_chosen_means_what_runs(program: Path) -> None:
    """A pattern matches names, and so the code that chooses."""
    for tail in ("", ".return", ".call"):
        point = f'process("{program}").function("chosen"){tail}'
        result = probe(point)
        assert result.codes == ["W0690"]
        (warning,) = result.diagnostics.items
        assert warning.where.startswith("probed: 1 that may be chosen")
        assert warning.notes[1:] == ["probed: fast"]
        (row,) = rows(f"probe {point} {{ println(1) }}", "uprobe")
        assert row["offset"] == symbol(program, "fast")
    point = f'process("{program}").function("chos*")'
    assert probe(point).codes == []
    (row,) = rows(f"probe {point} {{ println(1) }}", "uprobe")
    assert row["offset"] == symbol(program, "choose")


def test_choosers_of_one_name_are_followed_as_far_as_they_are_few(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = UserFile.open(program)
    choosers = [UserFunction("f", address, 0, 8, INDIRECT) for address in range(0, 8000, 8)]
    chosen = UserFunction("g", 9000, 0, 8, 0)
    monkeypatch.setattr("stapy.probes.families.uprobe.chosen.choices", lambda *_: [chosen])
    assert opened(choosers, nothing(file), file) == [chosen, *choosers[64:]]


@pytest.mark.parametrize("name", ["memset", "gettimeofday"])
def test_what_is_not_probed_of_those_that_may_be_chosen_is_said(name: str) -> None:
    result = probe(f'process("libc.so.6").function("{name}")')
    labels = [item.where for item in result.diagnostics.items]
    if name == "memset":
        assert result.codes == ["W0691", "W0690"]
        assert labels[0].endswith(" left out")
        assert " of " in labels[1]
        probed, left_out, why = result.diagnostics.items[1].notes[1:]
        assert left_out.startswith("left out: ") and probed.startswith("probed: ")
        assert not set(left_out[10:].split(", ")) & set(probed[8:].split(", "))
        assert len(left_out[10:].split(", ")) == int(labels[0].split()[0])
        assert "does not hit the probe" in why
    else:
        assert result.codes == ["W0690"]
        assert labels == ["this is hit when it is chosen, not when it is called"]
