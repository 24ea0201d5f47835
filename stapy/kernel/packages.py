"""Kernels of Debian's packages, unpacked into a tree of the cache and never installed.

apt chooses, fetches and verifies, dpkg unpacks: python-apt would be the library for it, but is no
package that a virtual environment can have. What belongs to a kernel: image, modules and headers,
which newer releases split into more packages and share between flavours.
"""

from __future__ import annotations

import fcntl
import itertools
import os
import re
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from stapy import arch
from stapy.kernel import lists
from stapy.kernel.release import newest_of, release_order
from stapy.kernel.suites import TRIED, is_own, suites_of
from stapy.paths import exists, is_dir
from stapy.record import Record
from stapy.temporary import TemporaryFolder

_DAY = 24 * 3600
_STATE = """\
Dir::State "{apt}/state";
Dir::State::status "{apt}/state/status";
Dir::Cache "{apt}";
APT::Architecture "{architecture}";
APT::Architectures {{ {architectures} }};
APT::Get::List-Cleanup "false";
"""
_LISTS = """\
Dir::Etc::sourcelist "{apt}/sources.new";
Dir::Etc::sourceparts "/nonexistent";
Acquire::Check-Valid-Until "false";
Acquire::Check-Date "false";
"""
_KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
_PART = re.compile(r"^ *Depends: (linux-(?:headers|kbuild|binary|modules|base)-\d[^\s:]*)", re.M)


class PackageError(Exception):
    """Kernels cannot be fetched, or this one: why, in words for the user."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UnknownKernelError(PackageError):
    """The lists of packages have no kernel that is called so; of other names nothing is said."""


class Package(Record):
    """A package to fetch, and its size in bytes, 0 when the lists do not tell."""

    name: str
    size: int


def architecture() -> str:
    """Name this machine as Debian does."""
    return arch.debian_name(arch.host_name())


class Packages:
    """Debian's kernels, and those of them that lie in ``cache/kernels``.

    ``suites`` are those to take packages from (``trixie``, ``bullseye-security``), whose lists are
    kept in the cache for a day; without them the lists of this machine's apt are used, and apt
    says whether they are new enough.  Lists that are not good any more are taken with
    ``takes_old``.  ``warnings`` are what there is to say of the lists.

    ``wanted`` is an architecture as Debian calls it, this machine's without it.  apt knows
    packages of another one only by lists in the cache, fetched from where this machine's apt
    gets its own; the programs that build modules are this machine's all the same.
    """

    def __init__(
        self,
        cache: Path,
        suites: tuple[str, ...] = (),
        takes_old: bool = False,
        wanted: str = "",
    ) -> None:
        self.warnings: list[str] = []
        self.architecture = wanted or architecture()
        self.is_foreign = self.architecture != architecture()
        self._takes_old = takes_old
        self.cache = cache
        self.root = cache / "kernels"
        self.suites = suites
        self._fetched = cache / "kernels.fetched"
        self._environment: dict[str, str] | None = None

    @property
    def has_own_lists(self) -> bool:
        """Tell whether lists of packages are fetched into the cache."""
        return bool(self.suites) or self.is_foreign

    # --- what there is -----------------------------------------------------

    def releases(self) -> list[str]:
        """List the kernels that were fetched, or begun to be, oldest first."""
        found = {path.name for path in (self.root / "lib/modules").glob("*") if is_dir(path)}
        # Headers come first: those of a fetch that was interrupted can be removed as well.
        for path in (self.root / "usr/src").glob("linux-headers-*"):
            release = path.name.removeprefix("linux-headers-")
            if release.endswith(f"-{self.architecture}") or arch.architecture_of_debian(release):
                found.add(release)
        return sorted(found, key=release_order)

    def find(self, wanted: str) -> str:
        """Choose the release for a name: itself, or the newest of a line and flavour.

        ``6.12`` is the newest of the plain flavour, ``6.12-cloud`` and ``7-rt`` of another one.
        Raise `PackageError` when the lists have none.
        """
        told = re.match(r"\d+(?:\.\d+)*(?=[-+]|$)", wanted)
        if not told or not re.fullmatch(r"[a-z0-9.+~-]*[a-z0-9]", wanted):
            raise UnknownKernelError(
                f"'{wanted}' is neither a release such as 6.1.0-56-amd64 nor a line such as 6.12"
            )
        line = told[0]
        known = self._known(line)
        if wanted in known or wanted in self.releases():
            return wanted
        # A release has a mark of its suite behind its numbers, or one more number.
        is_release = wanted.removeprefix(line)[:1] == "+"
        own = self.architecture
        kind = f"{line}-{own}" if wanted == line else wanted
        if not is_release and (release := newest_of(kind, list(known), own)):
            return release
        if line.count(".") > 1:
            known = self._known(".".join(line.split(".")[:2]))
        where = ", ".join(self.suites) or "this machine's package lists"
        have = ", ".join(sorted(known, key=release_order)[-6:])
        of = f" of {own}" if self.is_foreign else ""
        raise UnknownKernelError(
            f"{where}: no kernel {wanted}{of}" + (f"; of that line: {have}" if have else ""),
            self._way_out(wanted, bool(have)),
        )

    def _way_out(self, wanted: str, has_line: bool) -> str:
        """Say where a kernel may be that the lists do not have."""
        named = arch.architecture_of_debian(wanted)
        if named and named.debian != self.architecture:
            return f"-a {named.name} has kernels of that architecture"
        suites = suites_of(wanted)
        if not suites and not has_line:
            return f"no suite of Debian is known to have it; {TRIED}"
        if self.suites:
            is_asked = set(suites.split(",")) <= set(self.suites)
        else:
            is_asked = is_own(suites) or (has_line and "+deb" not in wanted)
        if suites and not is_asked:
            return f"try -s {suites}"
        return "--from names other suites" if self.has_own_lists else "apt-get update"

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
        return self._with_sizes(left)

    def needed(self, names: tuple[str, ...]) -> list[Package]:
        """List packages and what they depend on, as for a machine that has none yet.

        Only lists of another architecture have no packages installed beside them.
        """
        words = ("apt-get", "-qq", "-s", "--no-install-recommends", "install", *names)
        return self._with_sizes(re.findall(r"^Inst (\S+)", self._apt(*words), re.M))

    def _with_sizes(self, names: list[str]) -> list[Package]:
        sizes = self._sizes([self._full(name) for name in names]) if names else {}
        return [Package(name, sizes.get(name, 0)) for name in names]

    def _full(self, name: str) -> str:
        """Tell apt that the programs that build modules are to run here."""
        is_program = self.is_foreign and name.startswith("linux-kbuild-")
        return f"{name}:{architecture()}" if is_program else name

    def _known(self, line: str) -> set[str]:
        """List the releases of a line that have headers and an image.

        A signed image comes some days after its headers, and old ones go at different times.
        """
        pattern = rf"^linux-(headers|image)-{re.escape(line)}[.+-].*-{self.architecture}$"
        said = self._apt("apt-cache", "search", "--names-only", pattern)
        named = Counter(row.split(" ", 1)[0].split("-", 2)[2] for row in said.splitlines())
        return {release for release, packages in named.items() if packages == 2}

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
            self.unpack([package], self.root)
            (self._fetched / package.name).touch()

    def unpack(self, packages: list[Package], root: Path) -> None:
        """Fetch packages, which apt verifies, and unpack them into a tree."""
        names = [self._full(package.name) for package in packages]
        with TemporaryFolder("kernel") as folder:
            folder.chmod(0o755)  # apt fetches as a user of its own
            self._apt("apt-get", "-qq", "download", *names, folder=folder)
            for file in folder.glob("*.deb"):
                self._apt("dpkg", "-x", str(file), str(root))

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
            if self.has_own_lists:
                self._own_lists(self._environment)
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
            why = _reason(done.stderr) or f"exit status {done.returncode}"
            raise PackageError(f"{words[0]}: {why}")
        return done.stdout

    def _own_lists(self, environment: dict[str, str]) -> None:
        """Have apt see the wanted lists only, in a state of its own."""
        apt = self.cache / (f"apt-{self.architecture}" if self.is_foreign else "apt")
        for name in ("state/lists/partial", "archives/partial"):
            (apt / name).mkdir(parents=True, exist_ok=True)
        (apt / "state/status").touch()
        conf = _STATE + (_LISTS if self.suites else "")
        known = dict.fromkeys((self.architecture, architecture()))
        both = " ".join(f'"{one}";' for one in known)
        (apt / "conf").write_text(
            conf.format(apt=apt, architecture=self.architecture, architectures=both)
        )
        environment["APT_CONFIG"] = str(apt / "conf")
        # Other programs of Debian's take the mirror with its folder, docker/base as well.
        mirror = os.environ.get("MIRROR") or "http://deb.debian.org"
        mirror = mirror.rstrip("/").removesuffix("/debian")
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
        try:
            self._apt("apt-get", "-qq", "--error-on=any", "update")
        except PackageError as error:
            if os.environ.get("MIRROR") and self.suites:
                error.hint = error.hint or "MIRROR names the server"
            raise
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


def _reason(said: str) -> str:
    """Choose what apt says of what went wrong: what it could not fetch, else its last line.

    The last one may be a summary of those before, which name the server and its answer.
    """
    lines = said.strip().splitlines()
    lines = [row for row in lines if row.startswith("E: ")] or lines
    failed = list(dict.fromkeys(row for row in lines if row.startswith("E: Failed to fetch ")))
    if not failed:
        return lines[-1] if lines else ""
    more = len(failed) - 1
    text = re.sub(" {2,}", ": ", failed[0].rstrip())
    return text + (f" (and {more} more)" if more else "")
