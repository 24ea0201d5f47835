"""What is told before a module is loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.options import Options
from stapy.remote import hosts
from stapy.run import picture
from stapy.run.options import RunOptions
from stapy.session import Session, running
from stapy.session.remote import Fleet
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


@pytest.mark.parametrize(
    ("form", "given", "width"),
    [("rich", None, None), ("rich", 70, 70), ("systemtap", None, 0), ("systemtap", 70, 70)],
)
def test_who_reads_messages_of_systemtap_compares_its_pictures(
    form: str, given: int | None, width: int | None
) -> None:
    session = Session(Options(script_text="", message_format=form, width=given))
    assert running.run_options(session, Path("x.ko")).width == width


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, ["stapy_columns=100", "stapy_colors=1"]),
        ({"output": "file"}, []),
        ({"remote_prefix": True}, []),
    ],
)
def test_hosts_draw_for_the_terminal_of_the_command(
    options: dict[str, object], told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(picture, "decide", lambda options: (100, True))
    fleet = Fleet(Session(Options(script_text="", remotes=["web"], **options)))
    which = ["most=7", "stapy_remote=0", "stapy_remote_uri=web"]
    run = RunOptions(parameters=["most=7"])
    assert fleet._told(hosts.parse("web", 0), run) == [*which, *told]
