"""The manual pages: each that a message names is installed, and none says what is not so."""

from __future__ import annotations

import configparser
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from stapy.tools.manual import PAGES

ROOT = Path(__file__).resolve().parents[1]
MAN = ROOT / "man"
CITED = re.compile(r"\[man ((?:error|warning)::\w+)\]")
PASSES = {f"error::pass{number}" for number in range(1, 6)}


def cited() -> set[str]:
    found = set(PASSES)  # the number is put in when the message is made
    for folder in ("stapy", "runtime", "tapsets", "templates"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".py", ".c", ".h", ".stp", ".stpm", ".j2"):
                found |= set(CITED.findall(path.read_text(encoding="utf-8")))
    return found


@pytest.mark.parametrize("name", sorted(cited()))
def test_pages_that_messages_name(name: str) -> None:
    text = (MAN / f"{name}.7stap").read_text()
    assert f".TH {name.upper()} 7stap" in text
    assert text.index(".SH NAME") < text.index(".SH WHAT TO DO") < text.index(".SH SEE ALSO")


def test_all_of_them_are_installed() -> None:
    config = configparser.ConfigParser()
    config.optionxform = str  # type: ignore[assignment,method-assign]
    config.read(ROOT / "setup.cfg")
    installed = set()
    pages = [row for row in config["options.data_files"].items() if row[0].startswith("share/man/")]
    for folder, pattern in pages:
        files = set(ROOT.glob(pattern.strip()))
        assert files and all(path.suffix.startswith("." + folder[-1]) for path in files)
        installed |= files
    assert installed == set(MAN.iterdir())


@pytest.mark.parametrize("name", PAGES)
def test_pages_of_the_programs_are_up_to_date(name: str) -> None:
    assert (MAN / name).read_text() == PAGES[name](), f"python -m stapy.tools.manual {name}"


def test_pages_refer_to_what_there_is() -> None:
    names = {path.name.rpartition(".")[0] for path in MAN.iterdir()}
    for path in MAN.iterdir():
        for other in re.findall(r"([\w:\\-]+) \(\d\w*\)", path.read_text()):
            assert other.replace("\\", "") in names, path


@pytest.mark.parametrize("path", sorted(MAN.iterdir()), ids=lambda path: path.name)
def test_groff_has_no_complaint(path: Path) -> None:
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    done = subprocess.run(
        ["groff", "-man", "-ww", "-Tutf8", "-z", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stderr, done.returncode) == ("", 0)
