"""What is told before a module is loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.options import Options
from stapy.session import Session, running
from stapy.terminal import progress


class Manifest:
    """A module of so many places, in two probes."""

    def __init__(self, places: int) -> None:
        self.places = places

    def __call__(self, path: str) -> Manifest:
        return self

    def manifest(self) -> dict[str, list[dict[str, list[str]]]]:
        return {"probes": [{"points": ["a"]}, {"points": ["b"] * (self.places - 1)}]}


@pytest.mark.parametrize(
    ("places", "terminal", "quiet", "told"),
    [
        (12204, True, False, "12,204 places are probed: "),
        (running.WIDE, True, False, "1,000 places are probed: "),
        (running.WIDE - 1, True, False, ""),
        (12204, False, False, ""),
        (12204, True, True, ""),
    ],
)
def test_many_places_are_told_on_a_terminal(
    places: int,
    terminal: bool,
    quiet: bool,
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(running, "ModuleFile", Manifest(places))
    monkeypatch.setattr(progress, "on_terminal", lambda: terminal)
    session = Session(Options(script_text="", suppress_warnings=quiet))
    running.tell_width(session, Path("x.ko"))
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(told) if told else said.err == ""
