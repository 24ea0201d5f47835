"""Keeps the machine's own settings out of all tests, of this process and of those it starts.

A test sees what it asks for: a debug package by the fixtures ``debug_root`` and ``package``, a
variable by ``monkeypatch``.  What the host has besides (debug files in ``/usr/lib/debug``, servers
of debug files, options in ``~/.systemtap/rc``, variables of SystemTap's or of ours) must not
change what a test finds.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

# Variables that stay: where programs, temporary files and servers of packages are, what the
# tests themselves understand (CONTRIBUTING.md), and with which programs guests run.
_KEPT = frozenset(
    {
        "ALL_PROXY",
        "CI",
        "FTP_PROXY",
        "HTTPS_PROXY",
        "HTTP_PROXY",
        "LOGNAME",
        "NO_PROXY",
        "PATH",
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONHASHSEED",
        "SHELL",
        "STAPY_FUZZ_SECONDS",
        "STAPY_LONG",
        "STAPY_QEMU",
        "STAPY_SYSTEMTAP_SHARE",
        "STAPY_VIRTIOFSD",
        "STAPY_VM_ACCEL",
        "TMPDIR",
        "USER",
    }
)
_KEPT_FAMILIES = ("DOCKER_", "PYTEST_", "SSL_CERT_", "STAPY_TEST_", "SUDO_")
NOWHERE = "/nowhere"  # no folder has this name


def home_of(environment: Mapping[str, str]) -> Path:
    """Find the home of who runs the tests: ``$HOME`` if it is theirs, else the system's word.

    ``sudo -E`` keeps the home of another user, in whose caches root has no business.
    """
    named = Path(environment.get("HOME") or NOWHERE)
    try:
        if named.stat().st_uid == os.geteuid():
            return named
    except OSError:
        pass
    return Path(pwd.getpwuid(os.geteuid()).pw_dir)


def cache_of(environment: Mapping[str, str]) -> Path:
    """Return the folder that the tests keep between runs: packages, and stapy's own cache."""
    return home_of(environment) / ".cache" / "stapy-tests"


def before_shims(path: str) -> str:
    """Put the folder of this very Python before pyenv's in a ``$PATH``.

    What pyenv has there are scripts that look for a Python with a dozen processes: in a guest each
    start of ``python3`` took seconds.
    """
    own = str(Path(getattr(sys, "_base_executable", sys.executable)).resolve().parent)
    folders = path.split(":")
    shims = [at for at, folder in enumerate(folders) if folder.endswith("/shims")]
    return ":".join([*folders[: shims[0]], own, *folders[shims[0] :]]) if shims else path


def isolated(environment: Mapping[str, str], cache: Path) -> dict[str, str]:
    """Make the environment of tests out of the host's."""
    kept = {
        name: value
        for name, value in environment.items()
        if name.upper() in _KEPT or name.startswith(_KEPT_FAMILIES)
    }
    return {
        **kept,
        **({"PATH": before_shims(kept["PATH"])} if "PATH" in kept else {}),
        "HOME": str(cache / "home"),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        # In place of /usr/lib/debug, as SystemTap has it.
        "SYSTEMTAP_DEBUGINFO_PATH": NOWHERE,
        # Every program of pass 2 is looked at: stapy/ir/verify.py.
        "STAPY_VERIFY": "1",
    }


class Scratch:
    """The temporary folder of one run of the tests, of all its workers.

    Nothing of stapy is to be left there: a report of a mistake fails the run, whichever test
    caused it.  Folders of pytest stay where they would be, for those of a failure are looked at.
    """

    NAME = "STAPY_TEST_SCRATCH"  # a worker is told by it that the folder is another process's

    def __init__(self, environment: dict[str, str]) -> None:
        self.is_own = self.NAME not in environment
        if self.is_own:
            root = tempfile.gettempdir()
            environment[self.NAME] = tempfile.mkdtemp(prefix="stapy-tests-", dir=root)
            environment.setdefault("PYTEST_DEBUG_TEMPROOT", root)
        self.folder = Path(environment[self.NAME])
        if self.is_own:
            self.folder.chmod(0o755)  # apt and guests come in as other users
        environment["TMPDIR"] = str(self.folder)
        tempfile.tempdir = None  # what was found before

    def reports(self) -> list[str]:
        """Return the reports of mistakes that were left."""
        return [path.read_text(errors="replace") for path in self.folder.glob("stapy-bug-*")]

    def remove(self) -> None:
        """Remove the folder, if it is ours."""
        if self.is_own:
            shutil.rmtree(self.folder, ignore_errors=True)


def isolate(cache: Path) -> Scratch:
    """Make this process, and so all that it starts, see the environment of tests."""
    environment = isolated(os.environ, cache)
    scratch = Scratch(environment)
    own = cache / "home" / ".cache" / "stapy"
    own.mkdir(parents=True, exist_ok=True)
    if environment.get("STAPY_TEST_KERNELS") or environment.get("STAPY_TEST_ARM64"):
        for name in ("kernels", "userland"):
            _share(own / name)
    os.environ.clear()
    os.environ.update(environment)
    # Below nohup it is ignored, which programs keep so: tests of it would wait for ever.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    return scratch


def _share(link: Path) -> None:
    """Link what ``stapy kernel`` unpacked into the user's cache: tests name those kernels."""
    base = os.environ.get("XDG_CACHE_HOME")
    unpacked = (Path(base) if base else home_of(os.environ) / ".cache") / "stapy" / link.name
    if unpacked.is_dir() and not link.exists():
        link.unlink(missing_ok=True)
        with contextlib.suppress(FileExistsError):  # another worker was faster
            link.symlink_to(unpacked)
