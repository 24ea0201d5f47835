"""Which kernels can be booted here: an image and its modules, installed or unpacked."""

from __future__ import annotations

import re
from pathlib import Path

from stapy.paths import cache_dir
from stapy.record import Record
from stapy.vm import VmError


class Kernel(Record):
    """A bootable kernel: its release, image and folder of modules."""

    release: str
    image: Path
    modules: Path


def roots(release: str) -> list[Path]:
    """Where a kernel package may be installed or unpacked (``dpkg -x`` into the cache)."""
    return [Path("/"), cache_dir() / "kernels" / release]


def find(release: str) -> Kernel:
    """The kernel of this release, or a `VmError` that says how to get it."""
    for root in roots(release):
        modules = root / "lib" / "modules" / release
        for image in (root / "boot" / f"vmlinuz-{release}", modules / "vmlinuz"):
            if image.is_file() and (modules / "modules.dep").is_file():
                return Kernel(release, image, modules)
    raise VmError(
        f"no kernel image for {release}",
        hint=f"apt-get install linux-image-{release}",
    )


def has_headers(release: str) -> bool:
    """True when modules for this release can be built here."""
    return any(
        (root / "lib" / "modules" / release / "build" / "Makefile").exists()
        for root in roots(release)
    )


def installed() -> list[str]:
    """Releases with an image, modules and headers, oldest first."""
    found = []
    for image in Path("/boot").glob("vmlinuz-*"):
        release = image.name.partition("-")[2]
        if has_headers(release) and Path(f"/lib/modules/{release}/modules.dep").is_file():
            found.append(release)
    return sorted(found, key=order)


def lines() -> list[str]:
    """The newest installed release of each kernel line (6.1, 6.12, …), oldest line first."""
    newest: dict[str, str] = {}
    for release in installed():
        newest[".".join(re.findall(r"\d+", release)[:2])] = release
    return list(newest.values())


def order(release: str) -> list[tuple[int, str]]:
    """Sort key that puts 6.9 before 6.12."""
    return [
        (int(part), "") if part.isdigit() else (-1, part)
        for part in re.findall(r"\d+|[a-z]+", release)
    ]


def default_release() -> str:
    """What ``--vm`` boots by itself.

    The oldest line that is installed, in its newest release: a distribution's
    own stable kernel, which other packages of the machine were made for.
    """
    found = lines()
    if not found:
        raise VmError(
            "no kernel in /boot has headers to build modules with",
            hint="apt-get install linux-image-cloud-amd64 linux-headers-cloud-amd64",
        )
    return found[0]
