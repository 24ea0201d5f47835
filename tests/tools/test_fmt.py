"""``stapy fmt``: what it does with files, and its exit status."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from stapy import cli

UGLY = b"probe x{\na=1 # caf\xc3\xa9 \xff\n}\n"
NEAT = b"probe x {\n    a = 1 # caf\xc3\xa9 \xff\n}\n"


@pytest.fixture
def ugly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "ugly.stp"
    path.write_bytes(UGLY)
    path.chmod(0o750)
    return path


def test_files_are_formatted_in_place(ugly: Path, capsys: pytest.CaptureFixture[str]) -> None:
    link = ugly.with_name("link.stp")
    link.symlink_to(ugly)
    assert cli.main(["fmt", "link.stp"]) == 0
    assert ugly.read_bytes() == NEAT
    assert link.is_symlink() and ugly.stat().st_mode & 0o777 == 0o750
    assert sorted(path.name for path in ugly.parent.iterdir()) == ["link.stp", "ugly.stp"]
    before = ugly.stat().st_ino
    assert cli.main(["fmt", "--check", "ugly.stp"]) == cli.main(["fmt", "ugly.stp"]) == 0
    assert ugly.stat().st_ino == before
    assert capsys.readouterr().out == ""


def test_check_names_files_and_writes_nothing(
    ugly: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ugly.with_name("neat.stp").write_bytes(NEAT)
    assert cli.main(["fmt", "--check", "neat.stp", "ugly.stp"]) == 1
    assert capsys.readouterr().out == "ugly.stp\n"
    assert ugly.read_bytes() == UGLY


def test_diff(ugly: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert cli.main(["fmt", "--diff", "ugly.stp"]) == 0
    said = capfdbinary.readouterr().out
    assert said.startswith(b"--- ugly.stp\n+++ ugly.stp\n")
    assert b"-a=1 # caf" in said and b"+    a = 1 # caf" in said
    assert cli.main(["fmt", "--diff", "--check", "ugly.stp"]) == 1
    assert ugly.read_bytes() == UGLY


def test_standard_input(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(UGLY)))
    assert cli.main(["fmt", "-", "--indent=tab"]) == 0
    assert capfdbinary.readouterr().out == NEAT.replace(b"    ", b"\t")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nosuch.stp", "ugly.stp"], "'nosuch.stp': No such file"),
        (["probe begin {}", "ugly.stp"], "that is the text of a script, and its file is wanted"),
        (["broken.stp", "ugly.stp"], "Could not find matching closing quote"),
        (["--indent", "0", "ugly.stp"], "--indent wants 1 to 16"),
    ],
)
def test_what_cannot_be_done(
    ugly: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The other files are formatted all the same, but not by a command line that is wrong."""
    broken = ugly.with_name("broken.stp")
    broken.write_text('probe x{ "a }')
    assert cli.main(["fmt", *words]) == 2
    told = capsys.readouterr()
    assert said in told.err and told.out == ""
    assert broken.read_text() == 'probe x{ "a }'
    assert ugly.read_bytes() == (UGLY if "--indent" in words else NEAT)


def test_a_mistake_of_ours_leaves_the_file_alone(
    ugly: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from stapy.parse.format import layout

    monkeypatch.setattr(layout, "gap", lambda *words: ".")
    assert cli.main(["fmt", "ugly.stp"]) == 2
    assert "ugly.stp is left as it is" in capsys.readouterr().err
    assert ugly.read_bytes() == UGLY


def test_lines_of_another_system_stay_so(tmp_path: Path) -> None:
    """All of them end in CR and LF, those of embedded C as well."""
    file = tmp_path / "dos.stp"
    lines = [
        "probe begin {",
        "  println( f() )",
        "}",
        "function f:long() %{",
        " STAP_RETVALUE = 1;",
        "%}",
    ]
    text = "".join(f"{line}\r\n" for line in lines)
    file.write_bytes(text.encode())
    assert cli.main(["fmt", str(file)]) == 0
    assert file.read_bytes() == text.replace("  println( f() )", "    println(f())").encode()
    assert cli.main(["fmt", "--check", str(file)]) == 0


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_line_ends_and_a_byte_order_mark_stay(ugly: Path, mark: bytes, end: bytes) -> None:
    ugly.write_bytes(mark + UGLY.replace(b"\n", end))
    assert cli.main(["fmt", "ugly.stp"]) == 0
    assert ugly.read_bytes() == mark + NEAT.replace(b"\n", end)
    assert cli.main(["fmt", "--check", "ugly.stp"]) == 0


def test_utf_16_is_refused(ugly: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = "probe x{}\n".encode("utf-16")
    ugly.write_bytes(data)
    assert cli.main(["fmt", "ugly.stp"]) == 2
    assert ugly.read_bytes() == data
    said = capsys.readouterr().err
    assert "is in UTF-16LE; scripts are in UTF-8" in said and said.count("error") == 1
