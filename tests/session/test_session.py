"""The steps of a command: which passes run, what is shown between them, what is asked first."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.diagnostics import Stop
from stapy.options import Options
from stapy.session import Session, checks, inputs
from stapy.session.messages import PassMessages

SCRIPT = "probe begin { println(1) }"


def session_of(**fields: object) -> Session:
    options = Options(script_text=SCRIPT, use_cache=False)
    for name, value in fields.items():
        setattr(options, name, value)
    return Session(options)


@pytest.mark.parametrize(
    ("last", "passes"), [(1, []), (2, ["1: scripts"]), (3, ["1: scripts", "2: program"])]
)
def test_trace_passes(last: int, passes: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Each record is shown once: the last one where it always is, those before on stderr."""
    assert session_of(last_pass=last, trace_passes=True).main() == 0
    traced = capsys.readouterr()
    heads = [line for line in traced.err.splitlines() if line.startswith("--- pass ")]
    assert heads == [f"--- pass {one}" for one in passes]
    assert session_of(last_pass=last).main() == 0
    plain = capsys.readouterr()
    assert (traced.out, plain.err) == (plain.out, "")
    for number in range(1, last):
        assert session_of(last_pass=number).main() == 0
        assert capsys.readouterr().out in traced.err


def test_texts_in_the_order_of_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "a.stp"
    file.write_text(SCRIPT)
    options = Options(script_file=str(file), extra_scripts=["probe end {}"], listing="begin")
    assert inputs.read_texts(PassMessages(options)) == [
        (str(file), SCRIPT),
        ("<input 1>", "probe end {}"),
        ("<input>", "probe begin {}"),
    ]


def test_a_file_that_is_not_there_fails_pass_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = session_of(script_text=None, script_file=str(tmp_path / "none.stp"))
    assert missing.main() == 1
    said = capsys.readouterr().err
    assert "is missing or unreadable" in said
    assert "Pass 1: parse failed." in said


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("made.ko", "stapy-run {} runs a module"),
        ("program", '-c {} runs it, process("{}") in a script names it'),
    ],
)
def test_a_compiled_file_is_no_script(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, hint: str
) -> None:
    """What takes it is named; the bytes are not read as text."""
    file = tmp_path / name
    file.write_bytes(b"\x7fELF\2\1\1\0\xff")
    assert session_of(script_text=None, script_file=str(file)).main() == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "not a script" in said
    assert hint.format(file, file) in said
    assert "E0109" not in said


@pytest.mark.parametrize(
    ("fields", "reasons"), [({"last_pass": 4}, []), ({"vm": True}, []), ({}, ["no rights"])]
)
def test_the_host_is_asked_only_when_it_will_load(
    monkeypatch: pytest.MonkeyPatch, fields: dict[str, object], reasons: list[str]
) -> None:
    verdicts = {"privilege": "no rights", "lockdown": "", "signing": ""}
    monkeypatch.setattr("stapy.kernel.host.HostFiles.verdicts", lambda host, kernel: verdicts)
    monkeypatch.setattr("stapy.kernel.host.HostFiles.without_modules", lambda host, kernel: "")
    session = session_of(**fields)
    assert checks.obstacles(session, None) == reasons
    if not reasons:
        checks.check_host(session, None)
        return
    with pytest.raises(Stop):
        checks.check_host(session, None)
    (error,) = session.diagnostics.errors
    assert (error.code, session.at_pass) == ("E0501", 5)


def test_warnings_are_errors(capsys: pytest.CaptureFixture[str]) -> None:
    """-W ends the command at the end of the pass that warned, unless -w hides the warning."""
    for quiet in (False, True):
        messages = PassMessages(Options(warnings_are_errors=True, suppress_warnings=quiet))
        messages.diagnostics.warning("W0653", "has no effect")
        if quiet:
            messages.end_pass()
        else:
            with pytest.raises(Stop):
                messages.end_pass()
    said = capsys.readouterr().err
    assert said.count("has no effect") == 1
    assert said.endswith("-W makes warnings errors\n")


def test_why_a_warning_ends_the_command_is_not_told_in_messages_of_systemtap(
    capsys: pytest.CaptureFixture[str],
) -> None:
    messages = PassMessages(Options(warnings_are_errors=True, message_format="systemtap"))
    messages.diagnostics.warning("W0653", "has no effect")
    with pytest.raises(Stop):
        messages.end_pass()
    assert "makes warnings errors" not in capsys.readouterr().err
