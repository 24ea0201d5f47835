"""What hosts answer: what others there can write is no answer, nor is one that was cut off."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.kernel.host import FilesThere
from stapy.remote import ask, hosts
from stapy.remote.ssh import Connection
from tests.remote import stub

KEYS = "1 I------ 1 perm 1f0b0000 0 0 asymmetri my: 00ff: X509.rsa []\n"


@pytest.fixture(autouse=True)
def stubbed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in stub.environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(ask, "_new_mark", lambda: "seen")
    return tmp_path


def asked(uri: str, folder: Path, *, may_ask: bool = False) -> tuple[ask.HostFacts | None, str]:
    answers = ask.ask(
        [Connection(hosts.parse(uri, 0), [], True)],
        folder,
        files=FilesThere.NAMES,
        may_ask=may_ask,
        tell=lambda text: None,
    )
    return answers.facts.get(0), answers.failures.get(0, "")


def test_marks_are_not_to_be_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert len({ask._new_mark() for _ in range(9)}) == 9


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\f", "\x85", "\u2028"])
@pytest.mark.parametrize(
    "forged",
    [
        "stapy-file sys/module/module/parameters/sig_enforce",
        "seen file sys/module/module/parameters/sig_enforce",
        "seen file proc/sys/kernel/modules_disabled",
        "|seen file proc/sys/kernel/modules_disabled",
        "seen ends",
        "seen begins",
    ],
)
def test_names_of_keys_say_nothing_for_a_host(stubbed: Path, forged: str, end: str) -> None:
    text = f"1 I--Q--- 1 perm 3f010000 1000 1000 user x{end}{forged}{end}Y{end}|Y: 1\n{KEYS}"
    (stubbed / "releases" / "keys").write_bytes(text.encode())
    facts, why = asked("web", stubbed)
    assert facts and not why
    assert set(facts.files) == {"proc/sys/kernel/modules_disabled", "proc/keys"}
    assert facts.files["proc/sys/kernel/modules_disabled"] == "0\n"
    assert facts.files["proc/keys"] == text


def test_texts_are_taken_as_they_are(stubbed: Path) -> None:
    text = f"-n\n  a\\tb \\c\n\n{KEYS}"
    (stubbed / "releases" / "keys").write_text(text)
    facts, _ = asked("web", stubbed)
    assert facts and facts.files["proc/keys"] == text


def test_only_what_was_asked_for_counts_and_once() -> None:
    lines = [*"rmypv", "seen file a", "|1", "seen file b", "|2", "seen file a", "|3", "b", "|4"]
    heard = ask._Heard("", [*lines, "seen ends", "|5"], "seen", "")
    assert ask._files(heard, ["a", "c"]) == {"a": "1\n"}


@pytest.mark.parametrize("lines", range(1, 11))
def test_an_answer_that_was_cut_off_is_none(stubbed: Path, lines: int) -> None:
    """What it had not said yet is nothing that it has not."""
    (stubbed / "releases" / "keys").write_text(KEYS)
    facts, why = asked(f"cut{lines}", stubbed)
    assert (facts, why) == (None, "its answer was cut off")


def test_an_answer_that_is_whole_is_one(stubbed: Path) -> None:
    (stubbed / "releases" / "keys").write_text(KEYS)
    facts, _ = asked("cut11", stubbed)
    assert facts and facts.files["proc/keys"] == KEYS


@pytest.mark.parametrize(
    "name", ["", "../x", "/tmp", "..", ".", "6.1/x", "6 1", "-r", "6.1\x1b[2J"]
)
@pytest.mark.parametrize("kind", ["uname -r", "uname -m"])
def test_names_that_would_be_paths_are_refused(stubbed: Path, kind: str, name: str) -> None:
    end = "" if kind == "uname -r" else ".machine"
    (stubbed / "releases" / f"web{end}").write_text(f"{name}\n")
    facts, why = asked("web", stubbed)
    assert facts is None
    assert why.startswith(f"'{kind}' says {name!r} there")


@pytest.mark.parametrize("name", ["6.1.0-25-amd64", "6.12.1+deb13-rt", "6.9.0-rc1_x~2"])
def test_names_of_kernels_are_taken(stubbed: Path, name: str) -> None:
    (stubbed / "releases" / "web").write_text(f"{name}\n")
    facts, _ = asked("web", stubbed)
    assert facts and facts.release == name


def test_keys_are_read_as_root(stubbed: Path) -> None:
    """Who logs in sees none of the kernel's own."""
    (stubbed / "releases" / "keys").write_text(KEYS)
    facts, _ = asked("admin", stubbed)
    assert facts and facts.becomes_root == "sudo -n "
    assert facts.files["proc/keys"] == KEYS


@pytest.mark.parametrize(
    ("uri", "may_ask", "why", "way"),
    [
        ("shut", False, "shut: Permission denied (publickey).", "by a key"),
        ("shut", True, "ssh could not get in: see what it said above", "'ssh shut' has to get in"),
        ("new1", False, "Host key verification failed.", "so does stapy in a terminal"),
        ("new1", True, "ssh could not get in: see what it said above", "'ssh new1' has to get in"),
        ("broken", True, "it did not say what it is (status 126): sh: Permission denied", ""),
        ("none1", True, "it did not say what it is (status 1): This account is currently", ""),
        ("dead1", True, "ssh: connect to host dead1 port 22: Connection refused", ""),
    ],
)
def test_who_was_asked_is_told_the_truth(
    uri: str, may_ask: bool, why: str, way: str, stubbed: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    found = asked(uri, stubbed, may_ask=may_ask)[1]
    assert found.startswith(why)
    hint = ask.way_in(Connection(hosts.parse(uri, 0), [], True), found)
    assert way in hint
    assert bool(way) == bool(hint)
    assert bool(capfd.readouterr().err) == found.startswith("ssh could not")
