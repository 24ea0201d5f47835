"""The programs of guests of another architecture, unpacked from Debian's packages into the cache.

A guest of this machine's architecture sees the machine's own files.  One of another needs a
Python that its processor understands, and what commands of scripts are made of: apt tells what
they depend on, fetches and verifies them, dpkg unpacks them.  No script of a package is run.
"""

from __future__ import annotations

import compileall
import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from py_compile import PycInvalidationMode

from stapy import arch
from stapy.kernel.packages import Package, Packages
from stapy.paths import cache_dir, exists, is_dir

_WANTED = (
    *("base-files", "base-passwd", "bash", "busybox-static", "coreutils", "dash", "findutils"),
    *("grep", "kmod", "libpython3-stdlib", "python3-minimal", "sed"),
)
_MERGED = ("bin", "lib", "sbin")  # folders whose place is below usr in what is installed today
_FOLDERS = ("dev", "proc", "root", "run", "sys", "tmp", "var/tmp")
_PYTHON = re.compile(r"python3\.(\d+)")


def root_of(debian: str) -> Path:
    """Return the folder that has or gets the programs of an architecture, in Debian's word."""
    return cache_dir() / "userland" / debian


def missing(packages: Packages) -> list[Package]:
    """List the packages to fetch; none when the programs are there."""
    return [] if is_dir(root_of(packages.architecture)) else packages.needed(_WANTED)


def fetch(packages: Packages, wanted: list[Package], tell: Callable[[str], None]) -> None:
    """Fetch and unpack them; they appear when all is there."""
    root = root_of(packages.architecture)
    fresh = root.with_name(f"{root.name}.{os.getpid()}")
    try:
        for name in _FOLDERS:
            (fresh / name).mkdir(parents=True)
        tell(f"{len(wanted)} packages with the programs of guests")
        packages.unpack(wanted, fresh)
        finish(fresh)
        fresh.rename(root)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def finish(root: Path) -> None:
    """Make what the packages' own scripts would: users, groups, and Python's library compiled.

    Packages of Debian 12 have `/bin` and `/usr/bin` apart, which an installed system has not: a
    script that names `/usr/bin/true` means what is in either.  An emulated processor would
    compile the library anew each time, for minutes.
    """
    for name in _MERGED:
        old, new = root / name, root / "usr" / name
        if is_dir(old) and not old.is_symlink():
            shutil.copytree(old, new, symlinks=True, dirs_exist_ok=True)
            shutil.rmtree(old)
        if not old.is_symlink():
            new.mkdir(parents=True, exist_ok=True)
            old.symlink_to(f"usr/{name}")
    (root / "etc").mkdir(exist_ok=True)
    (root / "etc/hostname").write_text("stapy-vm\n")
    (root / "etc/hosts").write_text("127.0.0.1 localhost stapy-vm\n")
    for name in ("passwd", "group"):
        master = root / "usr/share/base-passwd" / f"{name}.master"
        if exists(master):
            shutil.copyfile(master, root / "etc" / name)
    minor = python_minor(root)
    if minor == sys.version_info.minor:  # other versions have another bytecode
        compileall.compile_dir(
            root / f"usr/lib/python3.{minor}", maxlevels=20, quiet=2, stripdir=str(root),
            invalidation_mode=PycInvalidationMode.UNCHECKED_HASH,
        )  # fmt: skip


def python_minor(root: Path) -> int:
    """Return the second number of the newest Python 3 in a tree, -1 without one."""
    names = [path.name for path in (root / "usr/bin").glob("python3.*")]
    return max((int(found[1]) for name in names if (found := _PYTHON.fullmatch(name))),
               default=-1)  # fmt: skip


def remove_unused(packages: Packages) -> None:
    """Remove the programs of architectures of which no kernel is left."""
    left = {arch.architecture_of_debian(release) for release in packages.releases()}
    for one in arch.ARCHITECTURES.values():
        if one not in left:
            shutil.rmtree(root_of(one.debian), ignore_errors=True)
