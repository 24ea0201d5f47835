"""The program of -c or -x beside those that are probed: what is warned of, and what is not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from stapy.options import Options
from stapy.session import Session, running, started
from tests.session.test_running import Manifest

LOOKED = Path(os.path.realpath(shutil.which("sleep") or "/bin/sleep"))
HINT = "   = hint: "


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a folder, alone in ``$PATH``, with programs of one language and scripts for them."""
    for name in ("one/python3.9", "two/python3.12", "two/tool", "jdk/bin/java", "other/bin/java"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(LOOKED, tmp_path / name)
    (tmp_path / "bin").mkdir()
    for name, text in {
        "python3": f"#!{tmp_path}/two/tool\n",
        "own.py": f"#!{tmp_path}/one/python3.9\n",
        "python": f'#!{tmp_path}/two/tool\nexec {tmp_path}/one/python3.9 "$@"\n',
        "hers.py": f"#!/usr/bin/env -S {tmp_path}/two/python3.12\n",
    }.items():
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    (tmp_path / "bin/python3.12").symlink_to(tmp_path / "two/python3.12")
    (tmp_path / "bin/usr-java").symlink_to(tmp_path / "other/bin/java")
    (tmp_path / "jdk/lib").mkdir()
    (tmp_path / "jdk/lib/libjvm.so").write_bytes(b"")
    (tmp_path / "usr").mkdir()
    (tmp_path / "usr/libpython3.9.so.1.0").write_bytes(b"")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path


def said(
    probed: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    **options: object,
) -> str:  # fmt: skip
    manifest = Manifest(1, **{path: {"identity": "x"} for path in probed})
    monkeypatch.setattr(started, "ModuleFile", manifest)
    started.warn_of_other(Session(Options(script_text="", **options)), Path("x.ko"))
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "probed", "told"),
    [
        ("python3.12 work.py", "one/python3.9", "two/python3.12"),
        ("python3.12 work.py", "usr/libpython3.9.so.1.0", "two/python3.12"),
        ("python3 work.py", "one/python3.9", "bin/python3"),  # a script of some other program
        ("hers.py", "one/python3.9", "bin/hers.py"),
        ("{}/two/tool 5", "bin/tool", "two/tool"),  # of the same name only
        ("usr-java X", "jdk/lib/libjvm.so", "other/bin/java"),
        ("java X", "jdk/lib/libjvm.so", ""),  # there is none
        # What is probed, by its path, by a link, as what runs a script.
        ("{}/one/python3.9 work.py", "one/python3.9", ""),
        ("python3.12 work.py", "two/python3.12", ""),
        ("own.py", "one/python3.9", ""),
        ("{}/jdk/bin/java X", "jdk/lib/libjvm.so", ""),
        # It may start what is probed, and a shell knows more.
        ("{}/two/tool", "one/python3.9", ""),
        ("python work.py", "one/python3.9", ""),  # which this script names
        ("X=1 python3.12 work.py", "one/python3.9", ""),
    ],
)
def test_which_programs_are_others(
    command: str,
    probed: str,
    told: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = said([f"{folder}/{probed}"], monkeypatch, capsys, command=command.format(folder))
    assert text.partition(", which")[0] == (f"WARNING: -c starts '{folder}/{told}'" if told else "")
    assert f"points are of '{folder}/{probed}'" in text or not told


def test_one_of_many_is_enough(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    both = [f"{folder}/one/python3.9", f"{folder}/two/python3.12"]
    assert said(both, monkeypatch, capsys, command="python3.12 work.py") == ""
    # Libraries that every program is loaded with do not make it the one that is meant.
    libc = [path for path in started._linked(str(LOOKED)) if "libc.so" in path]
    assert libc
    assert said(libc + both[:1], monkeypatch, capsys, command="python3.12 work.py")


@pytest.mark.parametrize(
    ("command", "probed", "hint"),
    [
        ("python3.12 a.py 'b c'", "one/python3.9", """-c '{}/one/python3.9 a.py '"'"'b c'"'"''"""),
        ("python3.12 " + "x" * 50, "one/python3.9", "-c '{}/one/python3.9 …' starts"),
        (
            "python3.12 a.py",
            "usr/libpython3.9.so.1.0",
            "start the program that these libraries are of",
        ),
    ],
)
def test_ways_out(
    command: str,
    probed: str,
    hint: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = said([f"{folder}/{probed}"], monkeypatch, capsys, command=command)
    assert HINT + hint.format(folder) in text
    assert "it has no marks" in text


def test_what_a_process_runs(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path, other = folder / "two/python3.12", f"{folder}/one/python3.9"
    with subprocess.Popen([path, "60"]) as running:
        try:
            assert said([str(path)], monkeypatch, capsys, target=running.pid) == ""
            text = said([other], monkeypatch, capsys, target=running.pid)
            assert text.startswith(f"WARNING: process {running.pid} runs '{path}', which is not")
            assert f"hint: process({running.pid}) in the script means" in text
            assert said([other], monkeypatch, capsys, target=running.pid, vm=True) == ""
            # The file was replaced: that of its path is not the one that runs.
            path.unlink()
            shutil.copy(sys.executable, path)
            text = said([str(path)], monkeypatch, capsys, target=running.pid)
            assert f"its file, {path}, was replaced or deleted" in text
        finally:
            running.kill()


def test_a_run_begins_with_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whether the module was made now or before: it stands in no cache."""
    monkeypatch.setattr(running, "_run_here", lambda module, wanted: 0)
    monkeypatch.setattr(running, "run_options", lambda session, module: None)
    monkeypatch.setattr(running, "_is_shown", lambda: False)
    path = {f"{folder}/one/python3.9": {"identity": "x"}}
    monkeypatch.setattr(started, "ModuleFile", Manifest(1, **path))
    session = Session(Options(script_text="", command="python3.12 work.py", format="json"))
    running.load(session, Path("x.ko"), None)  # type: ignore[arg-type]
    said = capsys.readouterr().err
    assert "[W0699]" in said and "[W0688]" in said


def test_who_does_not_ask_is_told_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other, command = [f"{folder}/one/python3.9"], "python3.12 work.py"
    assert said(other, monkeypatch, capsys) == ""
    assert said(other, monkeypatch, capsys, command=command, suppress_warnings=True) == ""
    assert said(other, monkeypatch, capsys, command=command, elsewhere=True) == ""
    assert said([], monkeypatch, capsys, command=command) == ""
