"""``--sign-module`` in a command: what asks for it, where the signed module goes, what is told."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from stapy.cli import main
from stapy.kernel.host import FilesThere
from stapy.options import Options
from stapy.session import Session, signing
from stapy.vm import kernels
from tests.session.test_session import session_of

HELLO = 'probe begin { println("hello") exit() }'
_RELEASES = kernels.lines()


@pytest.mark.parametrize(
    ("option", "variables", "is_wanted"),
    [
        (None, [], False),
        ("", [], True),
        (None, ["SYSTEMTAP_SIGN"], True),
        (None, ["SYSTEMTAP_SIGN", "SYSTEMTAP_NOSIGN"], False),
        (None, ["SYSTEMTAP_NOSIGN"], False),
        ("", ["SYSTEMTAP_NOSIGN"], True),
    ],
)
def test_what_asks_for_a_signature(
    option: str | None, variables: list[str], is_wanted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SYSTEMTAP_SIGN", "SYSTEMTAP_NOSIGN"):
        monkeypatch.delenv(name, raising=False)
    for name in variables:
        monkeypatch.setenv(name, "")
    monkeypatch.setattr(signing, "find", lambda session, loaders: "a key")
    session = Session(Options(sign=option))
    session.find_signer()
    assert (session.signer == "a key") == is_wanted


@pytest.mark.parametrize(
    ("verdicts", "signer", "told"),
    [
        ({"lockdown": "locked"}, None, "--sign-module signs it"),
        ({"lockdown": "locked", "signing": "forced"}, None, "mokutil enrols"),
        ({"lockdown": "locked", "privilege": "no root"}, None, "run it in a throw-away"),
        ({"privilege": "no root"}, None, "run it in a throw-away"),
        ({"signing": "forced"}, "mine", "does not know your key 'mine': mokutil --import /cert"),
    ],
)
def test_the_way_out(
    verdicts: dict[str, str], signer: str | None, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = {"lockdown": "", "signing": "", "privilege": "", **verdicts}
    monkeypatch.setattr("stapy.kernel.host.HostFiles.verdicts", lambda host, kernel: full)
    session = session_of()
    if signer:
        session.signer = signing.SigningKey(Path("/key"), Path("/cert"), signer, "00")
    said = signing.way_out(session, None, [text for text in full.values() if text])
    assert told in said
    assert "stapy --vm" in said


def _host(keys: str, *, is_strict: bool) -> FilesThere:
    rows = [
        f"1 I------ 1 perm 1f0b0000 0 0 asymmetri a: {key}: X509.rsa []" for key in keys.split()
    ]
    level = "none [integrity]" if is_strict else "[none] integrity"
    return FilesThere(
        {"proc/keys": "\n".join(rows), "sys/kernel/security/lockdown": level, "proc/modules": ""}
    )


@pytest.mark.parametrize(
    ("strict", "others", "chosen"),
    [
        (["built aaaa"], ["built"], "aaaa"),
        (["built aaaa"], ["built bbbb"], "aaaa"),
        (["built aaaa", "aaaa", "cccc"], ["bbbb"], "aaaa"),  # none suits all: what most know
        (["aaaa bbbb"], [], "bbbb"),  # the newest of several
        (["aaaa bbbb"], ["aaaa"], "aaaa"),
        (["built"], ["aaaa"], "aaaa"),
        (["built"], ["built"], "cccc"),
        ([], ["bbbb"], "bbbb"),
        ([""], ["built"], "cccc"),  # it does not let us look
    ],
)
def test_the_key_that_those_know_that_want_one(
    strict: list[str],
    others: list[str],
    chosen: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Hosts that take any module have no say while there are some that do not."""
    for at, number in enumerate(("aaaa", "bbbb", "cccc")):
        private = tmp_path / number / "signing_key.pem"
        private.parent.mkdir()
        private.touch(0o600)
        os.utime(private, (at, at))
    monkeypatch.setattr("stapy.build.sign.folder", lambda: tmp_path)
    monkeypatch.setattr(
        "stapy.build.sign._read",
        lambda private, file: signing.SigningKey(private, file, "k", private.parent.name),
    )
    machines = [_host(keys, is_strict=True) for keys in strict]
    machines += [_host(keys, is_strict=False) for keys in others]
    assert signing.find(session_of(), machines).number == chosen
    assert signing.find(session_of(), machines[::-1]).number == chosen


@pytest.mark.build
@pytest.mark.skipif(not _RELEASES or not shutil.which("openssl"), reason="needs headers, openssl")
def test_modules_of_pass_4(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The first command makes the key; the module's place is one that outlives the command."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    words = ["-p4", "-r", _RELEASES[0], "-e", HELLO]
    told = []
    for more in (["--sign-module"], [], ["--sign-module"], ["--sign-module", "--disable-cache"]):
        assert main([*more, *words]) == 0
        said = capfd.readouterr()
        module = Path(said.out.strip())
        told.append((module.is_file() and module.read_bytes()[-28:], said.err))
        assert ("made a key" in said.err) == (len(told) == 1)
    assert "mokutil --import" in told[0][1]
    is_signed = [data == b"~Module signature appended~\n" for data, _ in told]
    assert is_signed == [True, False, True, True]
    assert [path.suffix for path in tmp_path.glob("stap_*")] == [".ko"]  # without the cache
    assert main(["--sign-module=nothing.pem", *words]) == 1
    said = capfd.readouterr()
    assert "E0409" in said.err and "there is no key" in said.err and not said.out
    next((tmp_path / "home/.systemtap/ssl/server/moks").glob("*/signing_key.pem")).chmod(0o644)
    assert main(["--sign-module", *words]) == 0
    assert "W0663" in capfd.readouterr().err
