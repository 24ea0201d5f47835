"""Signed modules: keys of a machine's owner, and the kernel's own program that signs.

A key is a private key in PEM and its certificate.  Ours lie where SystemTap has them, one folder
for each: ``~/.systemtap/ssl/server/moks/FINGERPRINT/signing_key.pem`` and ``signing_key.x509``.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from stapy.build.process import run
from stapy.kernel.release import version_tuple
from stapy.kernel.roots import inside
from stapy.paths import exists, is_dir, is_file
from stapy.record import Record
from stapy.trust import write_new

if TYPE_CHECKING:
    from stapy.kernel import Kernel

KEY, CERTIFICATE = "signing_key.pem", "signing_key.x509"
# What lies beside a key and may be its certificate; the last two are of DKMS and of openssl.
_CERTIFICATES = (".x509", ".der", ".crt", ".cer", ".pub", ".pem")
KEY_TYPES = ("rsa", "ml-dsa-44", "ml-dsa-65", "ml-dsa-87")
_YEARS = 10
# The last purpose has shim take the key for modules only, and not for what boots.
_REQUEST = """\
[req]
distinguished_name = name
prompt = no
string_mask = utf8only
x509_extensions = extensions
[name]
CN = {name}
[extensions]
basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = codeSigning,1.3.6.1.4.1.2312.16.1.2
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
"""
_PIN = "KBUILD_SIGN_PIN"
_NOT_STARTED = (126, 127)  # of a program whose libraries are not here


class SignError(Exception):
    """Nothing can be signed; ``hint`` is what to do about it."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.hint = hint


class SigningKey(Record):
    """A key: its two files, the name in the certificate, and the number that kernels list it by."""

    private: Path
    certificate: Path
    name: str
    number: str

    def is_open(self) -> bool:
        """Tell whether others may read the private key."""
        return bool(self.private.stat().st_mode & 0o077)


def folder() -> Path:
    """Return where keys of this user are."""
    base = os.environ.get("SYSTEMTAP_DIR")
    home = Path(base) if base else Path(os.environ.get("HOME", "/")) / ".systemtap"
    return home.absolute() / "ssl" / "server" / "moks"


# --- finding ------------------------------------------------------------------


def given(place: Path) -> SigningKey:
    """Read the key that the user named: its file, or a folder with `KEY` and `CERTIFICATE`."""
    private = place / KEY if is_dir(place) else place
    if not is_file(private):
        raise SignError(f"there is no key '{private}'")
    for path in _beside(private):
        key = _read(private, path)
        if key:
            _check_pair(key)
            return key
    names = ", ".join(private.stem + end for end in _CERTIFICATES[:3])
    raise SignError(
        f"'{private}' has no certificate beside it",
        f"it would be in the file itself, or in {names}",
    )


def _beside(private: Path) -> Iterator[Path]:
    """Yield the files that may hold the certificate of a key."""
    yield from (path for path in map(private.with_suffix, _CERTIFICATES) if path != private)
    yield private


def own(rank: Callable[[SigningKey], tuple[int, ...]]) -> SigningKey | None:
    """Choose the key of this user that ranks highest, the newest of several; None without any."""
    found = []
    for private in folder().glob(f"*/{KEY}"):
        key = _read(private, private.with_name(CERTIFICATE))
        if key and os.access(private, os.R_OK):
            found.append(key)
    return max(found, key=lambda key: (rank(key), key.private.stat().st_mtime_ns), default=None)


def _read(private: Path, certificate: Path) -> SigningKey | None:
    """Read a certificate, None when there is none in that file."""
    if not is_file(certificate):
        return None
    asked = ["-subject", "-nameopt", "multiline", "-serial", "-ext", "subjectKeyIdentifier"]
    status, text = _openssl("x509", "-in", str(certificate), "-noout", *asked)
    if status:
        return None
    name = re.search(r"^\s+commonName\s+= (.*)$", text, re.M)
    number = re.search(r"^\s+((?:[0-9A-F]{2}:)+[0-9A-F]{2})\s*$", text, re.M)
    serial = re.search(r"^serial=([0-9A-F]+)$", text, re.M)
    found = number[1].replace(":", "") if number else serial[1] if serial else ""
    return SigningKey(private, certificate, name[1] if name else "without a name", found.lower())


def _check_pair(key: SigningKey) -> None:
    """Refuse a certificate of another key: what it signs no kernel would take."""
    phrase = f"env:{_PIN}" if _PIN in os.environ else "pass:"
    status, mine = _openssl("pkey", "-in", str(key.private), "-pubout", "-passin", phrase)
    if status:
        raise SignError(
            f"'{key.private}' is no private key in PEM that openssl can read",
            f"for one with a pass phrase, ${_PIN} is the phrase",
        )
    _, theirs = _openssl("x509", "-in", str(key.certificate), "-noout", "-pubkey")
    if _block(mine) != _block(theirs):
        raise SignError(f"the certificate '{key.certificate}' is not of the key '{key.private}'")


def _phrase() -> dict[str, str]:
    """Return what sign-file takes a pass phrase from, which tools do not see otherwise."""
    return {_PIN: os.environ[_PIN]} if _PIN in os.environ else {}


def _block(text: str) -> str:
    """Cut the encoded part out of what openssl printed, without its warnings."""
    return text.partition("-----BEGIN")[2].partition("-----END")[0]


def _openssl(*words: str) -> tuple[int, str]:
    try:
        done = run(["openssl", *words], _phrase())
    except OSError:
        raise SignError("openssl is missing", "apt-get install openssl") from None
    return done.status, done.output


# --- making -------------------------------------------------------------------


def make() -> SigningKey:
    """Make a key of this user's own, and its certificate, which any machine may enrol."""
    kind = os.environ.get("SYSTEMTAP_MOK_KEY_TYPE") or KEY_TYPES[0]
    if kind not in KEY_TYPES:
        raise SignError(f"$SYSTEMTAP_MOK_KEY_TYPE is '{kind}', not one of {', '.join(KEY_TYPES)}")
    place = folder()
    work = place / f".new-{os.getpid()}-{os.urandom(4).hex()}"
    try:
        work.mkdir(mode=0o700, parents=True)
        os.chmod(place, 0o700)  # noqa: PTH101 - mkdir leaves folders on the way to the umask
        return _make(kind, work)
    except OSError as error:
        raise SignError(f"no key can be made in '{place}': {error.strerror}") from None
    finally:
        for file in work.glob("*"):
            file.unlink(missing_ok=True)
        if is_dir(work):
            work.rmdir()


def _make(kind: str, work: Path) -> SigningKey:
    name = f"Kernel modules of user {os.getuid()} on {socket.gethostname()}"[:64]
    write_new(work / "request", _REQUEST.format(name=name).encode(), 0o600)
    private, certificate = work / KEY, work / CERTIFICATE
    write_new(private, b"", 0o600)  # openssl keeps the mode
    status, said = _openssl(
        *("req", "-new", "-x509", "-batch", "-nodes", "-days", str(365 * _YEARS)),
        *("-newkey", "rsa:2048" if kind == "rsa" else kind, "-config", str(work / "request")),
        *("-keyout", str(private), "-outform", "DER", "-out", str(certificate)),
        *(["-sha256"] if kind == "rsa" else []),
    )
    key = None if status else _read(private, certificate)
    if key is None:
        words = said.strip().splitlines() or ["it said nothing"]
        hint = "" if kind == "rsa" else "such keys need openssl 3.5 and a kernel of 2026"
        raise SignError(f"openssl made no key of kind {kind}: {words[-1]}", hint)
    _, text = _openssl("x509", "-in", str(certificate), "-noout", "-fingerprint", "-sha1")
    target = work.with_name(text.rpartition("=")[2].strip().lower())
    (work / "request").unlink()
    work.rename(target)
    key.private, key.certificate = target / KEY, target / CERTIFICATE
    return key


# --- signing ------------------------------------------------------------------


def sign(module: Path, target: Path, key: SigningKey, kernel: Kernel) -> None:
    """Write a signed copy of a module, by ``sign-file`` of the kernel or of another one."""
    digest = kernel.config.text("CONFIG_MODULE_SIG_HASH") or "sha256"
    files = [str(key.private), str(key.certificate), str(module), str(target)]
    found = False
    for program in programs(kernel):
        found = True
        try:
            done = run([str(program), digest, *files], _phrase())
        except OSError:
            continue
        if done.status in _NOT_STARTED:
            continue
        if done.status == 0 and exists(target):
            return
        words = done.output.strip().splitlines() or ["it said nothing"]
        raise SignError(f"{program}: {words[-1]}")
    if found:
        raise SignError("no sign-file that is here can be started", "apt-get install libssl3")
    raise SignError(
        f"there is no program sign-file for kernel {kernel.release}",
        "it comes with the kernel's headers (linux-kbuild-*)",
    )


def programs(kernel: Kernel) -> Iterator[Path]:
    """Yield the programs that can sign, the kernel's own first: the format is the same for all."""
    if kernel.build_dir:
        yield from _existing(kernel.build_dir / "scripts" / "sign-file")
    for root in dict.fromkeys((kernel.root, Path("/"))):
        places = inside(root, "/usr/lib").glob("linux-kbuild-*")
        for place in sorted(places, key=lambda path: version_tuple(path.name[13:]), reverse=True):
            yield from _existing(place / "scripts" / "sign-file")


def _existing(program: Path) -> Iterator[Path]:
    if is_file(program) and os.access(program, os.X_OK):
        yield program
