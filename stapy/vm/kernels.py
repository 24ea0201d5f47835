"""Which kernels can be booted here: an image and its modules, installed or unpacked."""

from __future__ import annotations

import re
from pathlib import Path

from stapy.kernel.config import Config
from stapy.kernel.release import is_line, newest_of, release_order
from stapy.kernel.roots import OWN, inside, roots
from stapy.paths import exists, is_dir, is_file
from stapy.record import Record
from stapy.vm.errors import VmError

# What a kernel does besides its work when it watches itself, each memory access or each lock.
_WATCHES = ("CONFIG_KASAN", "CONFIG_KCSAN", "CONFIG_PROVE_LOCKING")
_SLOWER = 6  # by so much such a kernel is slower than those of distributions, at most


class GuestKernel(Record):
    """A bootable kernel: its release, image, folder of modules and configuration."""

    release: str
    image: Path
    modules: Path
    config: Config

    def watches(self) -> bool:
        """Tell whether it looks for faults all the time: such a kernel is chosen only by name."""
        return any(self.config.is_enabled(name) for name in _WATCHES)

    def patience(self) -> int:
        """Return by what to multiply the seconds that other kernels would get."""
        return _SLOWER if self.watches() else 1


def find(release: str, sysroot: str | None = None) -> GuestKernel:
    """Find the kernel of this release, or raise a `VmError` that says how to get it.

    ``6.1`` is the newest of its line that is installed with headers.
    """
    release = newest(release, sysroot)
    hint = f"apt-get install linux-image-{release}"
    if is_line(release) and not is_dir(inside(OWN, f"/lib/modules/{release}")):
        have = ", ".join(one for root in roots(sysroot) for one in installed(root)) or "none"
        raise VmError(f"no kernel {release} has its image and headers here (there are: {have})")
    for root in roots(sysroot):
        modules = inside(root, f"/lib/modules/{release}")
        for name in (f"/boot/vmlinuz-{release}", f"/lib/modules/{release}/vmlinuz"):
            image = inside(root, name)
            if not is_file(image):
                continue
            if is_file(modules / "modules.dep"):
                configs = [f"/boot/config-{release}", f"/lib/modules/{release}/config"]
                config = Config([inside(root, place) for place in configs])
                return GuestKernel(release, image, modules, config)
            hint = f"depmod -b {root} {release}"
    raise VmError(f"no kernel image for {release}, or no list of its modules", hint=hint)


def newest(release: str, sysroot: str | None = None) -> str:
    """Find the newest installed release of a line such as ``6.1``; return other names as given."""
    if not is_line(release):
        return release
    for root in roots(sysroot):
        if is_dir(inside(root, f"/lib/modules/{release}")):
            return release  # somebody's own kernel is called so
        found = newest_of(release, installed(root))
        if found:
            return found
    return release


def installed(root: Path = OWN) -> list[str]:
    """List the releases of a tree with an image, modules and headers, oldest first."""
    found = []
    for image in inside(root, "/boot").glob("vmlinuz-*"):
        release = image.name.partition("-")[2]
        modules = inside(root, f"/lib/modules/{release}")
        build = inside(root, f"/lib/modules/{release}/build/Makefile")
        if exists(build) and is_file(modules / "modules.dep"):
            found.append(release)
    return sorted(found, key=release_order)


def lines(root: Path = OWN) -> list[str]:
    """List the newest release of each kernel line (6.1, 6.12, …) in a tree, oldest line first."""
    newest: dict[str, str] = {}
    for release in installed(root):
        newest[".".join(re.findall(r"\d+", release)[:2])] = release
    return list(newest.values())


def default_release(sysroot: str | None = None) -> str:
    """Choose what ``--vm`` boots by itself; raise `VmError` when there is nothing to boot.

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
