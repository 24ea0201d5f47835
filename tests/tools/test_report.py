"""``stapy report``: what is listed is what is in the archive, and nothing is loaded."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from stapy.kernel.roots import with_headers
from tests.tools.test_doctor import stapy

WRONG = "probe begin { println(nonesuch()) }\n"


def content(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as archive:
        members = archive.getmembers()
        assert {(one.uid, one.gid, one.uname, one.gname) for one in members} == {(0, 0, "", "")}
        files = {one.name: archive.extractfile(one) for one in members}
        return {name.partition("/")[2]: file.read() for name, file in files.items() if file}


@pytest.mark.build
def test_a_script_with_a_mistake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "wrong.stp").write_text(WRONG)
    (tmp_path / "kept.log").write_bytes(b"\xff a log")
    home = tmp_path / "home of somebody"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("STAPY_MESSAGE_FORMAT", "short")
    words = ["report", "-o", "out.tar.gz", "--add", "kept.log", "--", "-r", with_headers()[-1]]
    done = stapy(*words, "wrong.stp", folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, "out.tar.gz\n"), done.stderr
    files = content(tmp_path / "out.tar.gz")
    assert [name for name in files if f"  {name} " not in done.stderr] == []
    assert set(files) == {"about.txt", "doctor.json", "command.txt", "script.stp", "messages.txt",
                          "added/kept.log"}  # fmt: skip
    assert files["script.stp"].decode() == WRONG
    assert files["added/kept.log"] == b"\xff a log"
    assert b"nonesuch" in files["messages.txt"]
    assert files["messages.txt"].endswith(b"exit status 1\n")
    assert b"STAPY_MESSAGE_FORMAT=short" in files["about.txt"]
    assert json.loads(files["doctor.json"])["kernel"] == with_headers()[-1]
    assert not [
        name for name in files if name != "script.stp" and str(home).encode() in files[name]
    ]
    marked = [line.split()[0] for line in done.stderr.splitlines() if "YOURS:" in line]
    assert set(marked) == set(files) - {"doctor.json"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--", "-p5", "-e", "probe begin { }"], "leave -p5 out"),
        (["--", "--clean-cache"], "leave them out"),
        (["--", "-"], "put the script into a file"),
        (["nosuch.stp"], "'nosuch.stp': No such file"),
        (["--add", "nosuch.log"], "'nosuch.log': No such file"),
        (["--", "--nosuch"], "unknown option '--nosuch'"),
    ],
)
def test_what_makes_no_report(tmp_path: Path, words: list[str], said: str) -> None:
    done = stapy("report", *words, folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr and "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_listing_writes_nothing_and_files_are_kept(tmp_path: Path) -> None:
    done = stapy("report", "--list", folder=tmp_path)
    assert done.returncode == 0 and "doctor.json" in done.stderr
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "x.tar.gz").write_text("mine")
    done = stapy("report", "-o", "x.tar.gz", folder=tmp_path)
    assert (done.returncode, (tmp_path / "x.tar.gz").read_text()) == (1, "mine")
    assert "'x.tar.gz' cannot be written: File exists" in done.stderr
