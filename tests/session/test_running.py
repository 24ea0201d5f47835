"""What is told before a module is loaded."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stapy.debuginfo.user import processes
from stapy.options import Options
from stapy.remote import hosts
from stapy.run import picture
from stapy.run.options import RunOptions
from stapy.session import Session, running
from stapy.session.remote import Fleet
from stapy.terminal import progress


class Manifest:
    """A module of so many places, in two probes."""

    def __init__(self, places: int, **files: dict[str, str]) -> None:
        self.places = places
        self.files = files

    def __call__(self, path: str) -> Manifest:
        return self

    def manifest(self) -> dict[str, object]:
        probes = [{"points": ["a"]}, {"points": ["b"] * (self.places - 1)}]
        return {"probes": probes, "files": self.files}


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


@pytest.mark.parametrize(
    ("command", "options", "terminal", "told"),
    [
        ("make -j2", {"format": "json"}, False, "--format=json"),
        ("sleepy", {"format": "csv"}, False, "--format=csv"),
        ("make", {"format": "json"}, True, ""),
        ("make", {}, False, ""),
        ("make", {"format": "text"}, False, ""),
        ("make", {"format": "folded", "output": "x"}, False, ""),
        ("make", {"format": "json", "is_for_plot": True}, False, ""),
        ("make >/dev/null", {"format": "json"}, False, ""),
        ("make 2>/dev/null", {"format": "json"}, False, "--format=json"),
        ("make >/dev/null 2>&1", {"format": "json"}, False, ""),
        ("make 1>&2", {"format": "json"}, False, ""),
        ("sleep 5", {"format": "json"}, False, ""),
        ("/bin/sleep 5", {"format": "json"}, False, ""),
        ("sleep 5; ls", {"format": "json"}, False, "--format=json"),
        ("sleep 1; touch /tmp/x && rm -rf /tmp/x", {"format": "json"}, False, ""),
        ("mkdir -p a\nkill -USR1 5 || true; sleep 1 &", {"format": "json"}, False, ""),
        ("rm -v x", {"format": "json"}, False, "--format=json"),
        ("mkdir --verbose x", {"format": "json"}, False, "--format=json"),
        ("cp -r a b; cat b", {"format": "json"}, False, "--format=json"),
        ("sleep 1 | cat", {"format": "json"}, False, "--format=json"),
        ("touch $(ls)", {"format": "json"}, False, "--format=json"),
        ("true; for i in 1 2; do ls; done", {"format": "json"}, False, "--format=json"),
        ("touch 'a;b'", {"format": "json"}, False, ""),
        ("sleep '1", {"format": "json"}, False, "--format=json"),
        ("make &>/dev/null", {"format": "json"}, False, ""),
        ("kill -l", {"format": "json"}, False, "--format=json"),
        ("kill -L", {"format": "json"}, False, "--format=json"),
        ("cd -", {"format": "json"}, False, "--format=json"),
        ("sleep --help", {"format": "json"}, False, "--format=json"),
        (None, {"format": "json"}, False, ""),
    ],
)
def test_output_of_the_command_between_records(
    command: str | None,
    options: dict[str, object],
    terminal: bool,
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(running, "_is_shown", lambda: terminal)
    session = Session(Options(script_text="", command=command, **options))  # type: ignore[arg-type]
    running.warn_of_mixing(session)
    said = capsys.readouterr().err
    assert ("[W0688]" in said) == bool(told) and told in said
    assert bool(said) == bool(told)


def test_places_in_programs_of_everybody(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Who would be hit is counted; not where the target alone is, nor for lives."""
    program = tmp_path / "sleeps"
    shutil.copy("/bin/sleep", program)
    monkeypatch.setattr(progress, "on_terminal", lambda: True)

    def told(identity: str, root: str = "", **options: object) -> str:
        files = {f"{root}{program}": {"identity": identity}}
        monkeypatch.setattr(running, "ModuleFile", Manifest(5000, **files))
        session = Session(Options(script_text="", **options))  # type: ignore[arg-type]
        running.tell_width(session, Path("x.ko"))
        return capsys.readouterr().err.split("ends it\n")[1]

    with subprocess.Popen([program, "60"]) as one, subprocess.Popen([program, "60"]) as two:
        try:
            while set(processes.that_map([str(program)], 60)) != {one.pid, two.pid}:
                time.sleep(0.01)
            assert told("build-id:1") == (
                "2 processes here would be hit, and those to come; -c or -x probes one alone\n"
            )
            assert told("build-id:1", command="true") == ""
            assert told("build-id:1", target=one.pid) == ""
            assert told("") == ""
            # By a path in another mount namespace they are not found: nobody can count them.
            uncounted = (
                "all processes that run these programs would be hit, and those to come; "
                "-c or -x probes one alone\n"
            )
            assert told("build-id:1", root=f"/proc/{one.pid}/root") == uncounted
            with monkeypatch.context() as patch:
                patch.setattr(running, "SOON", -1.0)
                assert told("build-id:1") == uncounted

            def hidden(paths: list[str], seconds: float) -> Iterator[int]:
                yield one.pid
                raise PermissionError

            monkeypatch.setattr(processes, "that_map", hidden)
            assert told("build-id:1").startswith("at least 1 process here would be hit, ")
        finally:
            one.kill(), two.kill()
