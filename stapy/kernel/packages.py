"""Kernels of Debian's packages, unpacked into a tree of the cache and never installed.

apt chooses, fetches and verifies, dpkg unpacks: python-apt would be the library for it, but is no
package that a virtual environment can have. What belongs to a kernel: image, modules and headers,
which newer releases split into more packages and share between flavours.
"""

from __future__ import annotations

import fcntl
import itertools
import os
import platform
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from stapy.kernel import lists
from stapy.kernel.release import is_line, newest_of, release_order
from stapy.paths import exists, is_dir
from stapy.record import Record
from stapy.temporary import TemporaryFolder

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_DAY = 24 * 3600
_LISTS = """\
Dir::Etc::sourcelist "{apt}/sources.new";
Dir::Etc::sourceparts "/nonexistent";
Dir::State "{apt}/state";
Dir::State::status "{apt}/state/status";
Dir::Cache "{apt}";
APT::Architecture "{architecture}";
Acquire::Check-Valid-Until "false";
Acquire::Check-Date "false";
APT::Get::List-Cleanup "false";
"""
_KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
_PART = re.compile(r"^ *Depends: (linux-(?:headers|kbuild|binary|modules|base)-\d\S*)", re.M)


class PackageError(Exception):
    """Kernels cannot be fetched, or this one: why, in words for the user."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class Package(Record):
    """A package to fetch, and its size in bytes, 0 when the lists do not tell."""

    name: str
    size: int


def architecture() -> str:
    """Name this machine as Debian does."""
    machine = platform.machine()
    return _ARCHITECTURES.get(machine, machine)


class Packages:
    """Debian's kernels, and those of them that lie in ``cache/kernels``.

    ``suites`` are those to take packages from (``trixie``, ``bullseye-security``), whose lists are
    kept in the cache for a day; without them the lists of this machine's apt are used, and apt
    says whether they are new enough.  Lists that are not good any more are taken with
    ``takes_old``.  ``warnings`` are what there is to say of the lists.
    """

    def __init__(self, cache: Path, suites: tuple[str, ...] = (), takes_old: bool = False) -> None:
        self.warnings: list[str] = []
        self._takes_old = takes_old
        self.cache = cache
        self.root = cache / "kernels"
        self.suites = suites
        self._fetched = cache / "kernels.fetched"
        self._environment: dict[str, str] | None = None

    # --- what there is -----------------------------------------------------

    def releases(self) -> list[str]:
        """List the kernels that were fetched, or begun to be, oldest first."""
        found = {path.name for path in (self.root / "lib/modules").glob("*") if is_dir(path)}
        # Headers come first: those of a fetch that was interrupted can be removed as well.
        for path in (self.root / "usr/src").glob(f"linux-headers-*-{architecture()}"):
            found.add(path.name.removeprefix("linux-headers-"))
        return sorted(found, key=release_order)

    def find(self, wanted: str) -> str:
        """Choose the release for a name: itself, or the newest of a line and flavour.

        ``6.12`` is the newest of the plain flavour, ``6.12-cloud`` and ``7-rt`` of another one.
        Raise `PackageError` when the lists have none.
        """
        line, _, flavour = wanted.partition("-")
        if not is_line(line) or not re.fullmatch(r"[a-z0-9.+~-]*", wanted):
            raise PackageError(
                f"'{wanted}' is neither a release such as 6.1.0-56-amd64 nor a line such as 6.12"
            )
        known = self._known(line)
        if wanted in known or wanted in self.releases():
            return wanted
        plain = rf"[0-9.]+(?:-\d+|\+[a-z0-9.~]+)-{architecture()}"
        tail = f"-{flavour.removesuffix('-' + architecture())}-{architecture()}"
        if flavour in ("", architecture()):
            found = [name for name in known if re.fullmatch(plain, name)]
        else:
            found = [name for name in known if name.endswith(tail)]
        if release := newest_of(line, found):
            return release
        where = ", ".join(self.suites) or "this machine's package lists"
        have = ", ".join(sorted(known)[-6:])
        raise PackageError(
            f"{where}: no kernel {wanted}" + (f"; of that line: {have}" if have else ""),
            "apt-get update" if not self.suites else "--from names other suites",
        )

    def missing(self, release: str, debug: bool) -> list[Package]:
        """List the packages of a release that were not fetched yet."""
        own = [f"linux-image-{release}", f"linux-headers-{release}"]
        named = [*own, f"linux-image-{release}-dbg"] if debug else own
        # Lists name few old releases: of what is complete nothing is asked.
        if self.is_finished(release) and all(exists(self._fetched / name) for name in named):
            return []
        # From 7.2 on the image's package is empty and asks for binary, modules and base.
        names = {*named, *_PART.findall(self._apt("apt-cache", "depends", *own))}
        left = sorted(name for name in names if not exists(self._fetched / name))
        sizes = self._sizes(left) if left else {}
        return [Package(name, sizes.get(name, 0)) for name in left]

    def _known(self, line: str) -> set[str]:
        pattern = f"^linux-headers-{re.escape(line)}[.+-]"
        said = self._apt("apt-cache", "search", "--names-only", pattern)
        names = (row.split(" ", 1)[0].removeprefix("linux-headers-") for row in said.splitlines())
        return {name for name in names if name.endswith(f"-{architecture()}")}

    def _sizes(self, names: list[str]) -> dict[str, int]:
        said = self._apt("apt-cache", "--no-all-versions", "show", *names)
        rows = re.findall(r"^(Package|Size): (\S+)$", said, re.M)
        return {
            name: int(size)
            for (key, name), (_, size) in itertools.pairwise(rows)
            if key == "Package"
        }

    # --- fetching ----------------------------------------------------------

    @contextmanager
    def locked(self, tell: Callable[[str], None]) -> Iterator[None]:
        """Wait until no other process changes the tree, or the lists of other suites."""
        self.root.mkdir(parents=True, exist_ok=True)
        self._fetched.mkdir(exist_ok=True)
        with (self._fetched / ".lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                tell("waiting for another stapy kernel")
                fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def fetch(self, packages: list[Package], tell: Callable[[str], None]) -> None:
        """Fetch and unpack packages; one that was interrupted is unpacked again."""
        for package in packages:
            tell(package.name)
            with TemporaryFolder("kernel") as folder:
                folder.chmod(0o755)  # apt fetches as a user of its own
                self._apt("apt-get", "-qq", "download", package.name, folder=folder)
                for file in folder.glob("*.deb"):
                    self._apt("dpkg", "-x", str(file), str(self.root))
            (self._fetched / package.name).touch()

    def is_finished(self, release: str) -> bool:
        """Tell whether `finish` was done, after all packages had come."""
        return exists(self.root / f"lib/modules/{release}/modules.dep")

    def finish(self, release: str) -> None:
        """Make what only installing would: one folder of modules, and the list of them."""
        old, new = (self.root / place / release for place in ("lib/modules", "usr/lib/modules"))
        # Newer packages name /usr/lib, and expect that /lib is a link to it.
        if is_dir(new) and not old.is_symlink():
            for part in old.glob("*"):
                if not exists(new / part.name):
                    part.rename(new / part.name)
            shutil.rmtree(old, ignore_errors=True)
            old.parent.mkdir(parents=True, exist_ok=True)
            old.symlink_to(f"../../usr/lib/modules/{release}")
        depmod = shutil.which("depmod") or "/sbin/depmod"
        self._apt(depmod, "-b", str(self.root), release)

    def remove(self, release: str) -> None:
        """Remove a fetched release, and what it shared with none that is left."""
        trees = ["lib/modules", "usr/lib/modules", "usr/lib/debug/lib/modules"]
        own = [self.root / tree / release for tree in trees]
        own += (self.root / "boot").glob(f"*-{release}")
        own += (self.root / "usr/lib/debug/boot").glob(f"*-{release}")
        own.append(self.root / f"usr/src/linux-headers-{release}")
        for path in own:
            _drop(path)
        left = self.releases()
        for mark in self._fetched.glob("linux-*"):
            name = mark.name.removesuffix("-dbg")
            if name.endswith(f"-{release}"):
                self._forget(mark)
                continue
            shared = re.fullmatch(r"linux-(?:headers|kbuild)-(.*?)(-common.*)?", name)
            if shared and not any(
                one.startswith((shared[1] + "-", shared[1] + ".")) for one in left
            ):
                self._forget(mark)

    def _forget(self, mark: Path) -> None:
        """Remove what lies under a package's own name, and the mark that it was fetched."""
        for place in ("src", "lib", "share/doc", "share/bug", "share/lintian/overrides"):
            _drop(self.root / "usr" / place / mark.name)
        mark.unlink()

    # --- apt ---------------------------------------------------------------

    def _apt(self, *words: str, folder: Path | None = None) -> str:
        if self._environment is None:
            self._environment = {**os.environ, "LC_ALL": "C"}
            if self.suites:
                self._other_suites(self._environment)
        try:
            done = subprocess.run(
                words, cwd=folder, env=self._environment, stdin=subprocess.DEVNULL,
                capture_output=True, text=True, errors="replace", check=False,
            )  # fmt: skip
        except FileNotFoundError:
            raise PackageError(
                f"there is no {words[0]} here: kernels are fetched from Debian's packages",
                "with the packages of other distributions unpacked in a folder, --sysroot names it",
            ) from None
        if done.returncode:
            said = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
            raise PackageError(f"{words[0]}: {said[-1]}")
        return done.stdout

    def _other_suites(self, environment: dict[str, str]) -> None:
        """Have apt see the lists of other suites only, in a state of its own."""
        apt = self.cache / "apt"
        for name in ("state/lists/partial", "archives/partial"):
            (apt / name).mkdir(parents=True, exist_ok=True)
        (apt / "state/status").touch()
        (apt / "conf").write_text(_LISTS.format(apt=apt, architecture=architecture()))
        environment["APT_CONFIG"] = str(apt / "conf")
        mirror = os.environ.get("MIRROR", "http://deb.debian.org")
        rows = [
            f"deb [signed-by={_KEYS}] {mirror}/debian{'-security' * suite.endswith('-security')}"
            f" {suite} main\n"
            for suite in self.suites
        ]
        wanted, have = apt / "sources.new", apt / "sources"
        wanted.write_text("".join(rows))
        if (
            exists(have)
            and have.read_text() == wanted.read_text()
            and time.time() - have.stat().st_mtime < _DAY
        ):
            return self._look_at_dates(apt)
        # Without the option a list that could not be had is a warning only.  One that is older
        # than the one that is here does not take its place: no list is ever removed.
        self._apt("apt-get", "-qq", "--error-on=any", "update")
        self._look_at_dates(apt)
        shutil.copyfile(wanted, have)

    def _look_at_dates(self, apt: Path) -> None:
        """Refuse lists that are not good any more, and tell of those that may not be."""
        for suite in self.suites:
            age = lists.age_of(suite, apt / "state/lists", lists.utc_now())
            if age.why and not self._takes_old:
                (apt / "sources").unlink(missing_ok=True)  # the next time, they are asked for again
                raise PackageError(
                    f"{age.why}: an old one may have been sent again, or the clock is wrong",
                    "--old-lists takes it all the same",
                )
            if age.why or age.warning:
                self.warnings.append(age.why or age.warning)


def _drop(path: Path) -> None:
    if path.is_symlink() or not is_dir(path):
        path.unlink(missing_ok=True)
    else:
        shutil.rmtree(path)
