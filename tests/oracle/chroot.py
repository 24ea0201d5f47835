"""SystemTap 5.6 from Debian's newest suite, in a folder of the cache, for the kernels of this host.

The folder is made once by mmdebstrap.  What SystemTap needs of the host (headers, kernels,
modules, debug files) is bound in for the time of a command, in a mount namespace of its own, so
that nothing stays mounted.  SystemTap's own cache lies in the folder: the first module of a kernel
takes half a minute of CPU, the next ones two seconds.
"""

from __future__ import annotations

import fcntl
import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from stapy.paths import cache_dir
from tests import debugpackage

SUITE = "sid"
COMPILER = "gcc-12"  # what Debian 12's kernels were made with
PACKAGES = ("systemtap", "systemtap-runtime", COMPILER, "make", "libc6-dev")
BOUND = ("/usr/src", "/boot", "/usr/lib/modules", "/usr/lib/debug")
PLACE = "/work"  # where the scripts of a command lie inside
SECONDS = 900.0  # the first module of a kernel, or with other -B words, tries forty features


class NoOracle(Exception):
    """SystemTap cannot be had here; the text says why."""


def root() -> Path:
    """Return the chroot's folder, made when it is not there.  Raises NoOracle."""
    base = cache_dir() / "oracle"
    base.mkdir(parents=True, exist_ok=True)
    with (base / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made = base / "root"
        if not (made / "usr/bin/stap").exists():
            _make(base, made)
    return made


def mirror() -> str:
    """Find the address of the archive that this host's apt takes Debian's packages from."""
    command = ["apt-get", "indextargets", "--format", "$(SITE)"]
    done = subprocess.run(
        [*command, "Created-By: Packages", "Origin: Debian", "Label: Debian"],
        capture_output=True,
        text=True,
        check=False,
    )
    sites = done.stdout.split()
    if not sites:
        raise NoOracle("apt knows no archive of Debian on this host")
    return sites[0]


def _make(base: Path, made: Path) -> None:
    """Install the suite into a fresh folder, then give it its name."""
    if os.geteuid() != 0:
        raise NoOracle("only root can make the chroot")
    if not shutil.which("mmdebstrap"):
        raise NoOracle("no mmdebstrap to make the chroot with (apt-get install mmdebstrap)")
    fresh = Path(tempfile.mkdtemp(dir=base, prefix="fresh-"))
    try:
        done = subprocess.run(
            [
                "mmdebstrap",
                "--variant=apt",
                '--aptopt=Acquire::Check-Valid-Until "false"',
                f"--include={','.join(PACKAGES)}",
                SUITE,
                str(fresh),
                f"deb {mirror()} {SUITE} main",
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise NoOracle(f"mmdebstrap: {done.stderr.strip()[-500:]}")
        fresh.chmod(0o755)
        (fresh / "usr/bin/gcc").unlink(missing_ok=True)
        (fresh / "usr/bin/gcc").symlink_to(COMPILER)
        (fresh / PLACE.strip("/")).mkdir()
        shutil.rmtree(made, ignore_errors=True)
        fresh.rename(made)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _mounts(inside: Path, folder: Path, release: str, debug: bool) -> list[tuple[Path, Path]]:
    """List what of the host is bound where."""
    pairs = [(Path(name), inside / name.strip("/")) for name in BOUND]
    pairs += [(path, inside / str(path)[1:]) for path in Path("/usr/lib").glob("linux-kbuild-*")]
    pairs += [(Path("/dev"), inside / "dev"), (folder, inside / PLACE.strip("/"))]
    files = debugpackage.at_hand(release) if debug else None
    if files:
        pairs.append((files, inside / "usr/lib/debug"))
        # Debian's own in /boot only says where the real one is.
        name = f"System.map-{release}"
        if (files / "boot" / name).exists():
            pairs.append((files / "boot" / name, inside / "boot" / name))
    return [(source, target) for source, target in pairs if source.exists()]


def run(
    words: list[str], folder: Path, release: str, debug: bool = False
) -> subprocess.CompletedProcess[bytes]:
    """Run a command of the chroot; ``folder`` is its working directory, seen as `PLACE`.

    ``debug`` shows it the kernel's debug package where that is extracted, with which each
    script that asks for a symbol takes minutes instead of seconds.
    """
    inside = root()
    lines = ["set -e"]
    for source, target in _mounts(inside, folder, release, debug):
        if not target.exists():
            target.mkdir(parents=True)
        lines.append(f"mount --bind {shlex.quote(str(source))} {shlex.quote(str(target))}")
    lines.append(f"mount -t proc proc {shlex.quote(str(inside / 'proc'))}")
    environment = ["HOME=/root", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"]
    command = ["/usr/bin/env", "-i", "-C", PLACE, *environment, *words]
    lines.append(f"exec chroot {shlex.quote(str(inside))} {shlex.join(command)}")
    return subprocess.run(
        ["unshare", "-m", "--propagation", "private", "sh", "-c", "\n".join(lines)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=SECONDS,
    )
