"""Which kernels can be booted here: an image and its modules, installed or unpacked."""

from __future__ import annotations

import re
from pathlib import Path

from stapy import arch
from stapy.kernel.config import Config
from stapy.kernel.release import line_and_flavour, newest_of, release_order
from stapy.kernel.roots import OWN, inside, roots
from stapy.kernel.suites import way_to_kernel
from stapy.paths import exists, is_dir, is_file, names_in
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

    @property
    def architecture(self) -> arch.Architecture:
        """The architecture that it is made for; raises `VmError` for an unknown one."""
        known = arch.ARCHITECTURES.values()
        found = next((one for one in known if self.config.is_enabled(one.config)), None)
        found = found or arch.architecture_of_debian(self.release) or arch.host()
        if found is None:
            raise VmError(f"no machine is known for kernel {self.release}")
        return found

    def is_foreign(self) -> bool:
        """Tell whether it is for another architecture than this machine's."""
        return self.architecture is not arch.host()

    def patience(self) -> int:
        """Return by what to multiply the seconds that other kernels would get."""
        return _SLOWER if self.watches() else 1


def find(release: str, sysroot: str | None = None, wanted: str = "") -> GuestKernel:
    """Find the kernel of this release, or raise a `VmError` that says how to get it.

    ``6.1`` is the newest of its line that is installed with headers, of those for the
    architecture ``wanted``, in SystemTap's spelling, this machine's without it; ``6.1-rt`` that of
    a flavour.
    """
    release = newest(release, sysroot, wanted)
    hint = ""
    if line_and_flavour(release) and not is_dir(inside(OWN, f"/lib/modules/{release}")):
        here = [one for root in roots(sysroot) for one in installed(root, wanted)]
        what = f"no kernel {release}" + (f" of {wanted}" if _is_other(wanted) else "")
        raise VmError(
            f"{what} has its image and headers here (there are: {', '.join(here) or 'none'})",
            hint=way_to_kernel(release, wanted),
        )
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
    hint = hint or way_to_kernel(release, wanted, "image")
    raise VmError(f"no kernel image for {release}, or no list of its modules", hint=hint)


def _is_other(wanted: str) -> bool:
    return wanted not in ("", arch.host_name())


def newest(release: str, sysroot: str | None = None, wanted: str = "") -> str:
    """Find the newest installed release of a line, ``6.1`` or ``6.1-rt``; return other names."""
    if line_and_flavour(release) is None:
        return release
    named = arch.architecture_of_debian(release)
    wanted = named.name if named else wanted
    for root in roots(sysroot):
        if is_dir(inside(root, f"/lib/modules/{release}")):
            return release  # somebody's own kernel is called so
        own = arch.debian_name(wanted or arch.host_name())
        found = newest_of(release, installed(root, wanted), own)
        if found:
            return found
    return release


def installed(root: Path = OWN, wanted: str = "") -> list[str]:
    """List the releases of a tree with an image, modules and headers, oldest first.

    Those for the architecture ``wanted``, this machine's without it; a release that does not
    end as Debian's do is taken for one of these.
    """
    found = []
    for image in names_in(inside(root, "/boot")):
        if not image.startswith("vmlinuz-"):
            continue
        release = image.partition("-")[2]
        named = arch.architecture_of_debian(release)
        if named and named.name != (wanted or arch.host_name()):
            continue
        modules = inside(root, f"/lib/modules/{release}")
        build = inside(root, f"/lib/modules/{release}/build/Makefile")
        if exists(build) and is_file(modules / "modules.dep"):
            found.append(release)
    return sorted(found, key=release_order)


def lines(root: Path = OWN, wanted: str = "") -> list[str]:
    """List the newest release of each kernel line (6.1, 6.12, …) in a tree, oldest line first."""
    newest: dict[str, str] = {}
    for release in installed(root, wanted):
        newest[".".join(re.findall(r"\d+", release)[:2])] = release
    return list(newest.values())


def default_release(sysroot: str | None = None, wanted: str = "") -> str:
    """Choose what ``--vm`` boots by itself; raise `VmError` when there is nothing to boot.

    The oldest line that is installed, in its newest release: a distribution's
    own stable kernel, which other packages of the machine were made for.
    """
    for root in roots(sysroot):
        found = lines(root, wanted)
        if found:
            return found[0]
    if _is_other(wanted):
        raise VmError(
            f"no kernel of {wanted} was fetched", hint=f"stapy kernel fetch -a {wanted} LINE"
        )
    raise VmError(
        f"no kernel in {roots(sysroot)[0] / 'boot'} has headers to build modules with",
        hint="apt-get install linux-image-cloud-amd64 linux-headers-cloud-amd64",
    )
