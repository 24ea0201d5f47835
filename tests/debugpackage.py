"""Packages of the distribution that tests look into, extracted and never installed.

Tests must see a machine without debuginfo; those that want it ask for the fixture
``debug_root`` and hand the folder to stapy in ``SYSTEMTAP_DEBUGINFO_PATH``.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.isolation import cache_of

CACHE = cache_of(os.environ)


class NoPackage(Exception):
    """The package cannot be had here; the text says why."""


def debug_root(release: str) -> Path:
    """Find or fetch the folder that takes the place of ``/usr/lib/debug`` for a kernel.

    ``STAPY_TEST_DEBUG`` names a folder where packages were extracted by hand; otherwise
    the package is fetched once (some 300 MB) and kept extracted (1.7 GB).
    Raises NoPackage.
    """
    return at_hand(release) or _cached(release, f"linux-image-{release}-dbg") / "usr/lib/debug"


def at_hand(release: str) -> Path | None:
    """Find a kernel's ``usr/lib/debug`` where the package is extracted already, else None."""
    for root in (Path(os.environ.get("STAPY_TEST_DEBUG", "/nowhere")), CACHE / release):
        if (root / "usr/lib/debug/boot" / f"vmlinux-{release}").exists():
            return root / "usr/lib/debug"
    return None


def systemtap_share() -> Path:
    """Find or fetch ``/usr/share/systemtap`` of SystemTap's packages: tapsets and examples.

    In the folder that ``STAPY_SYSTEMTAP_SHARE`` names, or fetched once (some 2 MB)
    and kept extracted; an installed one may have any version.  Raises NoPackage.
    """
    own = CACHE / "systemtap" / "usr/share/systemtap"
    named = os.environ.get("STAPY_SYSTEMTAP_SHARE", "/nowhere")
    for share in (Path(named), own):
        if (share / "tapset").is_dir() and (share / "examples").is_dir():
            return share
    _cached("systemtap", "systemtap-common", "systemtap-doc")
    if not (own / "tapset").is_dir() or not (own / "examples").is_dir():
        raise NoPackage("SystemTap's packages have no tapsets or no examples")
    return own


def program_root(package: str) -> Path:
    """Find or fetch the folder where a package lies with what it needs and is not here.

    Its programs are at their usual paths below it, their libraries in `library_path`;
    fetched once, in the version that the package lists have.  Raises NoPackage.
    """
    folder = CACHE / "programs" / package
    if folder.exists():
        return folder
    if not shutil.which("apt-get"):
        raise NoPackage("only Debian's tools can fetch a package")
    return _cached(f"programs/{package}", *sorted({package, *_lacking(package)}))


def container_root() -> Path:
    """Make a file tree for a container: a shell and the tools that make mounts.

    Raises NoPackage.
    """
    libraries = "libc6 libacl1 libattr1 libselinux1 libpcre2-8-0 libgmp10 libmount1 libblkid1"
    packages = f"dash coreutils mount util-linux {libraries}"
    return _cached("container", *packages.split())


def library_path(root: Path) -> str:
    """Return where the dynamic linker finds the libraries of a `program_root`."""
    return str(root / "usr/lib" / f"{os.uname().machine}-linux-gnu")


def _lacking(package: str) -> set[str]:
    """List what a package needs and this machine has not, or in an older version."""
    kinds = ("recommends", "suggests", "conflicts", "breaks", "replaces", "enhances")
    absent = [f"--no-{kind}" for kind in kinds]
    needs = _output(["apt-cache", "depends", "--recurse", *absent, package])
    needed = {line.strip() for line in needs.splitlines() if not line.startswith(" ")}
    planned = _output(["apt-get", "-s", "--no-install-recommends", "install", package])
    return needed & {line.split()[1] for line in planned.splitlines() if line.startswith("Inst ")}


def _output(command: list[str], folder: Path | None = None) -> str:
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=False, timeout=900
        )
    except subprocess.TimeoutExpired:
        raise NoPackage(f"{' '.join(command)}: no answer for a quarter of an hour") from None
    if done.returncode != 0:
        raise NoPackage(f"{' '.join(command)}: {(done.stderr or done.stdout).strip()[-300:]}")
    return done.stdout


def _cached(name: str, *packages: str) -> Path:
    """Extract packages, all of them or none, to a folder of the cache; return it."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:  # the suite has several workers
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (CACHE / name).exists():
            return CACHE / name
        fresh = Path(tempfile.mkdtemp(dir=CACHE, prefix="fetch-"))
        try:
            for package in packages:
                _fetch(package, fresh)
            (CACHE / name).parent.mkdir(exist_ok=True)
            fresh.rename(CACHE / name)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    return CACHE / name


def _fetch(package: str, folder: Path) -> None:
    """Download a package and extract it into a folder."""
    if not shutil.which("apt-get") or not shutil.which("dpkg"):
        raise NoPackage("only Debian's tools can fetch a package")
    folder.chmod(0o755)
    _output(["apt-get", "-q", "download", package], folder)
    found = list(folder.glob("*.deb"))
    if not found:
        raise NoPackage(f"apt-get fetched no {package}")
    _output(["dpkg", "-x", found[0].name, "."], folder)
    found[0].unlink()
