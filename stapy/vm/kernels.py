"""Which kernels can be booted here: an image and its modules, installed or unpacked."""

from __future__ import annotations

import re
from pathlib import Path

from stapy.kernel.roots import OWN, inside, roots
from stapy.record import Record
from stapy.vm import VmError


class Kernel(Record):
    """A bootable kernel: its release, image and folder of modules."""

    release: str
    image: Path
    modules: Path


def find(release: str, sysroot: str | None = None) -> Kernel:
    """The kernel of this release, or a `VmError` that says how to get it."""
    hint = f"apt-get install linux-image-{release}"
    for root in roots(sysroot):
        modules = inside(root, f"/lib/modules/{release}")
        for name in (f"/boot/vmlinuz-{release}", f"/lib/modules/{release}/vmlinuz"):
            image = inside(root, name)
            if not image.is_file():
                continue
            if (modules / "modules.dep").is_file():
                return Kernel(release, image, modules)
            hint = f"depmod -b {root} {release}"
    raise VmError(f"no kernel image for {release}, or no list of its modules", hint=hint)


def installed(root: Path = OWN) -> list[str]:
    """Releases of a tree with an image, modules and headers, oldest first."""
    found = []
    for image in inside(root, "/boot").glob("vmlinuz-*"):
        release = image.name.partition("-")[2]
        modules = inside(root, f"/lib/modules/{release}")
        build = inside(root, f"/lib/modules/{release}/build/Makefile")
        if build.exists() and (modules / "modules.dep").is_file():
            found.append(release)
    return sorted(found, key=order)


def lines(root: Path = OWN) -> list[str]:
    """The newest release of each kernel line (6.1, 6.12, …) in a tree, oldest line first."""
    newest: dict[str, str] = {}
    for release in installed(root):
        newest[".".join(re.findall(r"\d+", release)[:2])] = release
    return list(newest.values())


def order(release: str) -> list[tuple[int, str]]:
    """Sort key that puts 6.9 before 6.12."""
    return [
        (int(part), "") if part.isdigit() else (-1, part)
        for part in re.findall(r"\d+|[a-z]+", release)
    ]


def default_release(sysroot: str | None = None) -> str:
    """What ``--vm`` boots by itself.

    The oldest line that is installed, in its newest release: a distribution's
    own stable kernel, which other packages of the machine were made for.
    """
    for root in roots(sysroot):
        found = lines(root)
        if found:
            return found[0]
    raise VmError(
        f"no kernel in {roots(sysroot)[0] / 'boot'} has headers to build modules with",
        hint="apt-get install linux-image-cloud-amd64 linux-headers-cloud-amd64",
    )
