"""``stapy kernel``: kernels to build for and to boot, fetched without being installed."""

from __future__ import annotations

import argparse
import re
import sys
from contextlib import nullcontext

from stapy import arch
from stapy.diagnostics.render import one_line
from stapy.kernel import userland
from stapy.kernel.packages import Package, PackageError, Packages, UnknownKernelError
from stapy.paths import cache_dir, exists
from stapy.terminal import progress, writing
from stapy.tools.arguments import UNUSABLE, ToolArgumentParser, complain

_END = """\
KERNEL is a release (6.1.0-56-rt-amd64), or a line for the newest of it: 6.12, and with a flavour
6.12-cloud, 6.1-rt. fetch prints the releases; -r RELEASE, --vm=RELEASE and 'stapy check' know them
then. With the first kernel of another architecture come the programs that --vm runs in its guests.
The exit status is 0, 2 when something could not be had."""
_MEGABYTE = 10**6
_SUITE = re.compile(r"[a-z0-9][a-z0-9.+/-]*")
_PLACES = (
    ("image", "boot/vmlinuz-{}", "lib/modules/{}/vmlinuz"),
    ("headers", "usr/src/linux-headers-{}"),
    ("debug", "usr/lib/debug/boot/vmlinux-{}"),
)


def parser() -> ToolArgumentParser:
    """Build the parser of the options."""
    about = "Fetch image, modules and headers of kernels; list what was fetched, remove it."
    it = ToolArgumentParser("kernel", about, _END)
    it.add_argument("what", choices=tuple(_COMMANDS), nargs="?")
    it.add_argument("kernels", metavar="KERNEL", nargs="*")
    known = ", ".join(arch.ARCHITECTURES)
    it.add_argument("-a", "--arch", metavar="ARCH",
                    help=f"fetch: for machines of this architecture: {known}")  # fmt: skip
    it.add_argument("-s", "--from", dest="suites", metavar="SUITE,…",
                    help="fetch: from other suites of Debian, such as trixie,sid")  # fmt: skip
    it.add_argument("--old-lists", action="store_true",
                    help="fetch: with --from, by lists that are out of date as well")  # fmt: skip
    it.add_argument("--debug", action="store_true", help="fetch: the debug package, too (large)")
    it.add_argument("-n", "--dry-run", action="store_true",
                    help="fetch: say what would be fetched")  # fmt: skip
    return it


def main(words: list[str]) -> int:
    """Obey a command line and return the exit status."""
    options = parser()
    given = options.take(words, is_mixed=True)
    if given.what is None:
        options.error("fetch KERNEL …, list, or remove KERNEL …?")
    if bool(given.kernels) == (given.what == "list"):
        options.error(f"{given.what} {'takes no' if given.kernels else 'wants a'} KERNEL")
    asked = (given.debug, given.dry_run, given.suites is not None, given.arch is not None)
    if given.what != "fetch" and any(asked):
        options.error("--arch, --from, --debug and --dry-run are about fetch")
    if given.old_lists and given.suites is None:
        options.error("--old-lists is about the lists of --from")
    suites = given.suites.split(",") if given.suites is not None else ()
    for suite in suites:
        if not _SUITE.fullmatch(suite):
            options.error(f"'{suite}' is no suite such as trixie or bullseye-security")
    wanted = arch.architecture(given.arch) if given.arch is not None else arch.host()
    if given.arch is not None and wanted is None:
        known = ", ".join(arch.ARCHITECTURES)
        options.error(f"'{given.arch}' is no architecture that stapy knows: {known}")
    packages = Packages(
        cache_dir(), tuple(suites), given.old_lists, wanted.debian if wanted else ""
    )
    try:
        return _COMMANDS[given.what](packages, given)
    except PackageError as error:
        _complain(error)
    except OSError as error:
        complain(f"stapy kernel: {error.filename}: {error.strerror}")
    finally:
        progress.clear()
    return UNUSABLE


def _complain(error: PackageError) -> None:
    complain(one_line(f"stapy kernel: {error}") + (f" ({error.hint})" if error.hint else ""))


def _find(packages: Packages, names: list[str]) -> tuple[list[str], bool]:
    """Find the releases of names; what is wrong with any is told, and whether all were found."""
    found, wrong = [], []
    for name in names:
        try:
            found.append(packages.find(name))
        except UnknownKernelError as error:
            wrong.append(error)
    if wrong:
        progress.clear()
    for one in wrong:
        _complain(one)
    return found, not wrong


def _fetch(packages: Packages, given: argparse.Namespace) -> int:
    # Lists of other suites are in the cache: another process would put its own in their place.
    is_reader = given.dry_run and not packages.has_own_lists
    with nullcontext() if is_reader else packages.locked(progress.tell):
        progress.tell("reading package lists")
        found, is_whole = _find(packages, given.kernels)
        for text in packages.warnings:
            progress.clear()
            print(f"WARNING: {one_line(text)}", file=sys.stderr)
        if not is_whole and not given.dry_run:
            return UNUSABLE  # nothing is fetched, as for a command line that is wrong
        for release in dict.fromkeys(found):
            missing = packages.missing(release, given.debug)
            if missing:
                progress.clear()
                print(f"{release}: {_sizes(missing)}", file=sys.stderr)
            if given.dry_run:
                continue
            packages.fetch(missing, lambda name: progress.tell(f"fetching {name}"))
            if missing or not packages.is_finished(release):
                packages.finish(release)
        if packages.is_foreign:
            _fetch_userland(packages, given.dry_run)
    progress.clear()
    if not is_whole:
        return UNUSABLE
    writing.write(" ".join(found) + "\n")
    return 0


def _fetch_userland(packages: Packages, is_dry: bool) -> None:
    """Fetch what guests of another architecture run, once."""
    missing = userland.missing(packages)
    if not missing:
        return
    progress.clear()
    print(f"programs of {packages.architecture}: {_sizes(missing)}", file=sys.stderr)
    if not is_dry:
        userland.fetch(packages, missing, lambda name: progress.tell(f"fetching {name}"))


def _sizes(missing: list[Package]) -> str:
    size = sum(package.size for package in missing)
    count = f"{len(missing)} package{'s' * (len(missing) > 1)}"
    return f"{count}, {max(size // _MEGABYTE, 1)} MB"


def _list(packages: Packages, given: argparse.Namespace) -> int:
    rows = []
    for release in packages.releases():
        has = [
            name
            for name, *places in _PLACES
            if any(exists(packages.root / place.format(release)) for place in places)
        ]
        rows.append(f"{release}  {', '.join(has)}\n")
    writing.write("".join(rows))
    return 0


def _remove(packages: Packages, given: argparse.Namespace) -> int:
    with packages.locked(progress.tell):
        have = packages.releases()
        unknown = [f"'{release}'" for release in given.kernels if release not in have]
        if unknown:
            were = "was" if len(unknown) == 1 else "were"
            raise PackageError(
                f"{', '.join(unknown)} {were} not fetched, only: {', '.join(have) or 'none'}"
            )
        for release in given.kernels:
            packages.remove(release)
        userland.remove_unused(packages)
    return 0


_COMMANDS = {"fetch": _fetch, "list": _list, "remove": _remove}
