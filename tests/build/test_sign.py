"""``--sign-module``: keys that are found, made, refused; modules that are signed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from stapy.build import sign
from stapy.build.sign import SignError
from stapy.kernel.config import Config
from stapy.kernel.exports import Exports
from stapy.kernel.modules import Modules
from stapy.kernel.target import Kernel
from stapy.run.elf import SIGNED

pytestmark = pytest.mark.skipif(not shutil.which("openssl"), reason="needs openssl")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SYSTEMTAP_DIR", str(tmp_path / "home"))
    monkeypatch.delenv("KBUILD_SIGN_PIN", raising=False)
    monkeypatch.delenv("SYSTEMTAP_MOK_KEY_TYPE", raising=False)
    return tmp_path / "home"


def test_a_key_is_made_once_and_is_ours_alone(home: Path) -> None:
    assert sign.own(lambda key: (1,)) is None
    old = os.umask(0)
    try:
        made = sign.make()
    finally:
        os.umask(old)
    moks = home / "ssl/server/moks"
    assert [path.name for path in moks.iterdir()] == [made.private.parent.name]
    assert made.private.parent.name.count(":") == 19
    modes = [path.stat().st_mode & 0o777 for path in (moks, made.private.parent, made.private)]
    assert modes == [0o700, 0o700, 0o600]
    assert not made.is_open()
    found = sign.own(lambda key: (0,))
    assert found and (found.private, found.number) == (made.private, made.number)
    text = subprocess.run(
        ["openssl", "x509", "-noout", "-text", "-in", str(made.certificate)],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert "CA:FALSE" in text and "Code Signing" in text
    assert made.number.upper() in text.replace(":", "")
    made.private.chmod(0o640)
    assert made.is_open()


def test_the_key_that_the_kernel_knows_comes_first() -> None:
    keys = [sign.make() for _ in range(3)]
    for number, key in enumerate(keys):
        os.utime(key.private, (number, number))
    known = keys[1].number
    found = sign.own(lambda key: (key.number == known,))
    assert found and found.number == known
    newest = sign.own(lambda key: (0,))
    assert newest and newest.number == keys[2].number


@pytest.mark.parametrize(
    ("kind", "told"), [("dsa", "not one of rsa, ml-dsa-44"), ("ml-dsa-65", "")]
)
def test_kinds_of_keys(kind: str, told: str, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setenv("SYSTEMTAP_MOK_KEY_TYPE", kind)
    try:
        made = sign.make()
    except SignError as error:
        assert (told or "openssl made no key of kind ml-dsa-65") in str(error)
        assert told or "openssl 3.5" in error.hint
        assert not list((home / "ssl/server/moks").glob("*")) or told
    else:
        assert kind == "ml-dsa-65" and made.number
    assert not list((home / "ssl/server").glob("moks/.new*"))


def test_keys_that_are_given(tmp_path: Path) -> None:
    made = sign.make()
    other = sign.make()
    folder = made.private.parent
    assert sign.given(folder).number == made.number
    assert sign.given(made.private).certificate == made.certificate
    # As DKMS has them: mok.key and mok.pub.
    key, certificate = tmp_path / "mok.key", tmp_path / "mok.pub"
    key.write_bytes(made.private.read_bytes())
    with pytest.raises(SignError, match="no certificate beside it") as found:
        sign.given(key)
    assert "mok.x509" in found.value.hint
    certificate.write_bytes(made.certificate.read_bytes())
    assert sign.given(key).certificate == certificate
    certificate.write_bytes(other.certificate.read_bytes())
    with pytest.raises(SignError, match="is not of the key"):
        sign.given(key)
    with pytest.raises(SignError, match="there is no key"):
        sign.given(tmp_path / "nothing")
    both = tmp_path / "both.pem"
    pem = subprocess.run(
        ["openssl", "x509", "-in", str(made.certificate)], capture_output=True, check=True
    ).stdout
    both.write_bytes(made.private.read_bytes() + pem)
    assert sign.given(both).certificate == both
    both.write_bytes(pem)
    with pytest.raises(SignError, match="no private key"):
        sign.given(both)


def test_a_key_with_a_pass_phrase(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = sign.make()
    key = tmp_path / "locked.key"
    words = ["openssl", "pkey", "-in", str(made.private), "-aes256", "-passout", "pass:secret"]
    subprocess.run([*words, "-out", str(key)], check=True)
    shutil.copy(made.certificate, tmp_path / "locked.der")
    with pytest.raises(SignError) as found:
        sign.given(key)
    assert "KBUILD_SIGN_PIN" in found.value.hint
    monkeypatch.setenv("KBUILD_SIGN_PIN", "secret")
    assert sign.given(key).number == made.number


def kernel(tree: Path, config: str) -> Kernel:
    (tree / "config").write_text(config)
    return Kernel(
        "6.1-x", (6, 1), "x86_64", False, tree, None, None, None,
        Config([tree / "config"]), Exports(None), Modules(None), tree,
    )  # fmt: skip


def program(place: Path, text: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("#!/bin/sh\n" + text)
    place.chmod(0o755)


def test_the_program_that_signs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel's own is asked first; one that cannot be started is passed over."""
    monkeypatch.setattr(sign, "inside", lambda root, name: tmp_path / f"usr{root == tmp_path}")
    key, module, target = sign.make(), tmp_path / "x.ko", tmp_path / "signed.ko"
    module.write_bytes(b"module")
    tree = kernel(tmp_path, 'CONFIG_MODULE_SIG_HASH="sha512"\n')
    with pytest.raises(SignError, match="there is no program sign-file"):
        sign.sign(module, target, key, tree)
    own = tmp_path / "scripts/sign-file"
    program(own, "exit 127")
    with pytest.raises(SignError, match="can be started"):
        sign.sign(module, target, key, tree)
    for name, word in (("linux-kbuild-6.9", "older"), ("linux-kbuild-6.12", "newer")):
        text = f'(cat "$4"; echo {word} "$1") >"$5"'
        program(tmp_path / "usrTrue" / name / "scripts/sign-file", text)
    sign.sign(module, target, key, tree)
    assert target.read_text() == "modulenewer sha512\n"
    program(own, "echo no such digest; exit 1")
    with pytest.raises(SignError, match=r"sign-file: no such digest"):
        sign.sign(module, target, key, tree)


@pytest.mark.build
def test_a_real_signature(tmp_path: Path) -> None:
    found = [*Path("/usr/lib").glob("linux-kbuild-*/scripts/sign-file")]
    if not found:
        pytest.skip("no kernel headers with sign-file")
    key, module, target = sign.make(), tmp_path / "x.ko", tmp_path / "signed.ko"
    module.write_bytes(b"module")
    sign.sign(module, target, key, kernel(tmp_path, ""))
    data = target.read_bytes()
    assert data.startswith(b"module") and data.endswith(SIGNED)
    assert module.read_bytes() == b"module"
