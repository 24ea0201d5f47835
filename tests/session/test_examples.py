"""The gallery: what heads say is complete and true, and ``--example`` finds, lists and shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stapy.cli import main
from stapy.diagnostics import Diagnostics, SourceMap
from stapy.session import examples
from tests.vm import packages
from tests.vm.harness import releases
from tests.vm.test_examples import CASES

ROOT = Path(__file__).resolve().parents[2]
GALLERY = examples.gallery()
NAMES = [one.name for one in GALLERY]


@pytest.mark.parametrize("one", GALLERY, ids=NAMES)
def test_heads_are_complete(one: examples.Example) -> None:
    assert tuple(one.told) == examples.FIELDS
    assert all(one.told.values()), one.told
    assert one.subject == one.path.parent.name
    assert "\n" not in one.told["purpose"]
    assert one.told["needs"].startswith("root")
    assert one.told["usage"].startswith(f"stapy --example {one.name}")
    command, *printed = one.told["sample"].split("\n")
    assert f"--example {one.name}" in command
    assert printed


# The tools that bpftrace has in its folder tools/.
OF_BPFTRACE = """bashreadline biolatency biolatency-kp biosnoop biostacks bitesize capable cpuwalk
dcsnoop execsnoop gethostlatency killsnoop loads mdflush mountsnoop naptime oomkill opensnoop
pidpersec runqlat runqlen setuids ssllatency sslsnoop statsnoop swapin syncsnoop syscount tcpaccept
tcpconnect tcpdrop tcplife tcpretrans tcpsynbl threadsnoop undump vfscount vfsstat writeback
xfsdist"""


def test_tools_of_bpftrace() -> None:
    """What docs/from-bpftrace.md says of each is so: the same name, another one, or none."""
    page = (ROOT / "docs" / "from-bpftrace.md").read_text()
    found = re.search(r"under the same names: (.*?)\. The others:\n\n(.*?)\n\n", page, re.DOTALL)
    assert found
    same = re.findall(r"`(\S+?)`", found[1])
    assert [name for name in same if name not in NAMES] == []
    others: list[str] = []
    for row in found[2].splitlines()[2:]:
        _, theirs, ours, _ = row.split("|")
        others += re.findall(r"`(\S+?)`", theirs)
        counterparts = re.findall(r"`(\S+?)`", ours)
        assert counterparts or ours.strip() == "none", row
        assert set(counterparts) <= set(NAMES), row
    assert sorted(same + others) == sorted(OF_BPFTRACE.split())
    assert not set(others) & set(NAMES), "these have the same name"


def test_lines_of_samples_that_are_cut_say_so() -> None:
    """A line of a sample that would not fit is cut with a sign."""
    for one in GALLERY:
        for line in one.told["sample"].split("\n")[1:]:
            opened = line.count("(") - line.count(")")
            assert line.rstrip().endswith("…") or opened <= 0, (one.name, line)


def test_names_are_unique_and_no_subjects() -> None:
    assert len(GALLERY) >= 80
    assert len(set(NAMES)) == len(NAMES)
    assert not set(NAMES) & {one.subject for one in GALLERY}


def test_all_are_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fmt", "--check", *(str(one.path) for one in GALLERY)]) == 0, capsys.readouterr()


@pytest.mark.build
@pytest.mark.parametrize("release", releases())
def test_all_are_accepted(
    release: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Passes 1 to 3 have nothing to say, with the arguments that the tests in guests give."""
    by_arguments: dict[tuple[str, ...], list[str]] = {}
    cases, roots = packages.at_hand(list(CASES.values()))
    for name, value in packages.environment(*roots).items():
        monkeypatch.setenv(name, value)
    for case in cases:
        by_arguments.setdefault(tuple(case.args), []).append(str(case.path))
    for words, paths in by_arguments.items():
        assert main(["check", "-W", "-r", release, *paths, "--", *words]) == 0, capsys.readouterr()


def test_the_page_lists_them() -> None:
    """Each row of docs/examples.md is a tool, with its purpose, and each tool has one."""
    text = (ROOT / "docs" / "examples.md").read_text()
    rows = re.findall(r"^\| `([^`]+)` \| (.+) \|$", text, re.MULTILINE)
    assert rows == [(one.name, one.told["purpose"]) for one in GALLERY]


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--example"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == NAMES
    assert any(re.match(r"opensnoop +files +files that processes open", line) for line in lines)
    assert main(["--example", "files"]) == 0
    about = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert about == [one.name for one in GALLERY if one.subject == "files"]


def test_show(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--example", "opensnoop", "--show"]) == 0
    assert capsys.readouterr().out == (ROOT / "examples/files/opensnoop.stp").read_text()
    assert main(["--show", "opensnoop"]) == 1
    assert "--show prints the script of --example NAME" in capsys.readouterr().err


def test_run_gets_what_follows(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--example", "fileslower", "-p1", "321"]) == 0
    assert "limit_us = 321" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("wanted", "hint"),
    [("opensnop", "did you mean 'opensnoop'?"), ("iotap.stp", "did you mean 'iotop.stp'?"),
     ("php", "did you mean 'phpcalls' or 'phprequests'?"), ("entirely-else", "")],
)  # fmt: skip
def test_nearest_name(
    wanted: str, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "io").mkdir()
    (tmp_path / "io" / "iotop.stp").write_text("probe begin {}")
    monkeypatch.setattr(examples, "_foreign_folders", lambda: [tmp_path])
    diagnostics = Diagnostics(SourceMap())
    assert examples.find(wanted, GALLERY, diagnostics) is None
    assert diagnostics.errors[0].message == f"there is no example '{wanted}'"
    assert diagnostics.errors[0].hint == hint
    foreign = examples.find("iotop.stp", GALLERY, diagnostics)
    assert foreign == tmp_path / "io" / "iotop.stp"
