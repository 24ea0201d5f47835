"""Which kernel a session is about, and where its parts lie on this machine."""

from __future__ import annotations

import os
import re
from pathlib import Path

from stapy.arch import ARCHITECTURES, architecture_of_debian, debian_name, host_name
from stapy.diagnostics import Diagnostics, Stop
from stapy.kernel.config import Config
from stapy.kernel.exports import Exports
from stapy.kernel.modules import Modules
from stapy.kernel.release import base_release, line_and_flavour, newest_of, version_tuple
from stapy.kernel.roots import OWN, build_tree, existing, inside, releases, roots
from stapy.kernel.suites import way_to_kernel
from stapy.paths import is_file
from stapy.record import Record, replace

_MODULE_PLACES = ("/lib/modules/{r}", "/usr/lib/modules/{r}")
_BUILD_PLACES = (
    "/lib/modules/{r}/build",
    "/usr/lib/modules/{r}/build",
    "/usr/src/linux-headers-{r}",
    "/usr/src/kernels/{r}",
)
_IMAGE_PLACES = (
    "/boot/vmlinuz-{r}",
    "/lib/modules/{r}/vmlinuz",
    "/usr/lib/modules/{r}/vmlinuz",
    "/boot/vmlinux-{r}",
)
_ARCHES = {
    **{one.config: one.name for one in ARCHITECTURES.values()},
    "CONFIG_X86_32": "i386",
    "CONFIG_PPC64": "powerpc",
    "CONFIG_S390": "s390",
    "CONFIG_RISCV": "riscv",
}


class Kernel(Record):
    """One kernel.

    ``arch`` has SystemTap's spelling.  ``build_dir`` is where modules are built
    (kernel headers), ``source_dir`` the tree with the headers shared by all
    flavours.  What is not installed is None; ``config``, ``exports`` and
    ``modules`` read their files on first use and are empty without them.
    ``root`` is the file tree in which all this was found; ``is_tree`` tells of a
    build tree that was named by its path, which nobody may have installed.
    """

    release: str
    version: tuple[int, ...]
    arch: str
    is_running: bool
    build_dir: Path | None
    source_dir: Path | None
    modules_dir: Path | None
    image: Path | None
    config: Config
    exports: Exports
    modules: Modules
    root: Path = OWN
    is_tree: bool = False

    @property
    def base_release(self) -> str:
        """The release up to its first ``-``: what a script sees as ``kernel_v``."""
        return base_release(self.release)

    @property
    def compiler(self) -> str:
        """Name of the compiler that built the kernel ("gcc-12", "clang-16"), "" when unknown."""
        return compiler_of(self.config.text("CONFIG_CC_VERSION_TEXT"))


def compiler_of(version: str) -> str:
    """Return the name of the compiler whose version says that, "" for none.

    GCC begins with the name that it was called by; clang's is said with its major version, as
    distributions call it: ``Debian clang version 16.0.6 (15~deb12u1)`` is ``clang-16``.
    """
    clang = re.search(r"\bclang version (\d+)\.", version)
    if clang is not None:
        return f"clang-{clang[1]}"
    words = version.split()
    return words[0] if words else ""


def find_kernel(
    option: str | None,
    diagnostics: Diagnostics,
    sysroot: str | None = None,
    architecture: str = "",
    is_of_host: bool = False,
) -> Kernel:
    """Find the kernel that ``-r`` names (a release or a build tree), or the running one.

    ``6.1`` is the newest of its line, of those that have headers if there is one, and are for
    ``architecture``, which is this machine's unless it is given; ``6.1-rt`` that of a flavour.
    What calls itself so, the running kernel or with ``is_of_host`` that of a host, is no line.
    A release is looked for in ``sysroot`` alone when that is given.
    Raises `Stop` when nothing of it is on this machine, or it is for another architecture.
    """
    found = _find(option, diagnostics, sysroot, architecture, is_of_host)
    if architecture and found.arch != architecture:
        diagnostics.error(
            "build error",
            "E0483",
            f"kernel {found.release} is for {found.arch}, not for {architecture}",
            hint=_way_to_kernel(architecture, sysroot),
        )
        raise Stop
    return found


def _way_to_kernel(architecture: str, sysroot: str | None, line: str = "6.1") -> str:
    """Say which kernels for an architecture are here, or how to get one."""
    known = [name for name in _known_releases(sysroot) if _may_be_for(name, architecture)]
    if known:
        return f"kernels for {architecture} here: {', '.join(known)}; -r names one"
    return f"stapy kernel fetch -a {architecture} {line}-cloud gets one"


def _known_releases(sysroot: str | None) -> list[str]:
    known = dict.fromkeys(name for root in roots(sysroot) for name in releases(root))
    return list(known)  # once each: a root may have headers, another the image


def _may_be_for(release: str, architecture: str) -> bool:
    """Tell whether a release may be for an architecture, as far as its name says."""
    told = architecture_of_debian(release)
    return told.name == architecture if told is not None else architecture == host_name()


def _find(
    option: str | None,
    diagnostics: Diagnostics,
    sysroot: str | None,
    architecture: str,
    is_of_host: bool,
) -> Kernel:
    if option and "/" in option:
        return _from_tree(Path(option), diagnostics)
    running = os.uname().release
    release = option or running
    if release != running and not is_of_host and line_and_flavour(release):
        named = architecture_of_debian(release)
        wanted = named.name if named else architecture or host_name()
        release = _newest(release, sysroot, wanted)
    for root in roots(sysroot):
        modules_dir = existing(root, [place.format(r=release) for place in _MODULE_PLACES])
        build_dir = existing(root, [place.format(r=release) for place in _BUILD_PLACES])
        image = existing(root, [place.format(r=release) for place in _IMAGE_PLACES])
        if modules_dir or build_dir or image:
            tree = build_tree(root, build_dir) if build_dir else None
            return _assemble(release, tree, modules_dir, image, running == release, root)
    if release != running or sysroot:
        _report_unknown(release, diagnostics, sysroot, architecture or host_name())
        raise Stop
    return _assemble(release, None, None, None, True)


def kernel_of_btf(release: str, btf: Path, config: Path | None = None) -> Kernel:
    """Describe a kernel of which nothing is known but its BTF and perhaps its configuration.

    ``btf`` is what ``/sys/kernel/btf/vmlinux`` has, or an image that holds it.
    """
    made = _assemble(release, None, None, btf, False)
    return replace(made, config=Config([config] if config is not None else []))


def unknown_kernel(release: str) -> Kernel:
    """Describe a kernel of which nothing is on this machine, as far as its name tells it."""
    return _assemble(release, None, None, None, False)


def _newest(line: str, sysroot: str | None, wanted: str) -> str:
    for root in roots(sysroot):
        names = releases(root)
        if line in names:
            return line  # somebody's own kernel is called so
        told = {name: architecture_of_debian(name) for name in names}
        names = [name for name, found in told.items() if found is None or found.name == wanted]
        places = _BUILD_PLACES[:2]
        built = [
            name
            for name in names
            if existing(root, [place.format(r=name) + "/Makefile" for place in places])
        ]
        own = debian_name(wanted)
        found = newest_of(line, built, own) or newest_of(line, names, own)
        if found:
            return found
    return line


def installed_releases() -> list[str]:
    """List the releases of which at least modules or headers are installed."""
    return releases(OWN)


def _from_tree(tree: Path, diagnostics: Diagnostics) -> Kernel:
    release = ""
    # The first is what modules will carry; Debian's headers have another version in the second.
    for name in ("include/generated/utsrelease.h", "include/config/kernel.release"):
        try:
            text = (tree / name).read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            continue
        found = re.search(r'UTS_RELEASE\s+"([^"]+)"', text)
        release = found.group(1) if found else text
        if release:
            break
    if not release:
        diagnostics.error(
            "build error",
            "E0480",
            f'Checking "{tree}/include/config/kernel.release" failed',
            notes=[f"{tree} is not the build tree of a configured kernel"],
            hint="run 'make modules_prepare' in the tree, or give -r the release of a kernel",
        )
        raise Stop
    images = [str(tree / name) for one in ARCHITECTURES.values() for name in one.images]
    installed = [place.format(r=release) for place in _IMAGE_PLACES]
    modules_dir = existing(OWN, [place.format(r=release) for place in _MODULE_PLACES])
    if _arch(release, tree, Config([tree / ".config"])) != host_name():
        installed, modules_dir = [], None  # this machine's kernel may be called the same
    # A tree's vmlinux comes last: that of a headers package has nothing but BTF.
    image = existing(OWN, [*images, *installed, str(tree / "vmlinux")])
    kernel = _assemble(release, tree, modules_dir, image, os.uname().release == release)
    return replace(kernel, is_tree=True)


def _assemble(
    release: str,
    build_dir: Path | None,
    modules_dir: Path | None,
    image: Path | None,
    is_running: bool,
    root: Path = OWN,
) -> Kernel:
    configs = [inside(root, f"/boot/config-{release}")]
    if build_dir is not None:
        configs = [build_dir / ".config", *configs, build_dir / "include/config/auto.conf"]
    if modules_dir is not None:
        configs.append(modules_dir / "config")
    if is_running:
        configs.append(Path("/proc/config.gz"))
    config = Config(configs)
    arch = _arch(release, build_dir, config)
    symvers = build_dir / "Module.symvers" if build_dir is not None else None
    return Kernel(
        release,
        version_tuple(release),
        arch,
        is_running and arch == host_name(),
        build_dir,
        _source_dir(build_dir, modules_dir),
        modules_dir,
        image,
        config,
        Exports(symvers),
        Modules(modules_dir),
        root,
    )


def _source_dir(build_dir: Path | None, modules_dir: Path | None) -> Path | None:
    """Find the tree that has ``include/linux``; Debian splits it from the build tree."""
    if build_dir is None:
        return None
    candidates = [build_dir]
    if modules_dir is not None:
        candidates.append(modules_dir / "source")
    try:
        makefile = (build_dir / "Makefile").read_text(encoding="utf-8", errors="replace")
    except OSError:
        makefile = ""
    candidates[1:1] = _included(makefile)
    candidates.append(build_dir / "source")
    for candidate in candidates:
        if is_file(candidate / "include/linux/module.h"):
            return candidate.resolve()
    return None


def _included(makefile: str) -> list[Path]:
    """Find the tree whose Makefile is included by its path: the first, if there is one."""
    for line in makefile.split("\n"):
        if line.startswith("include"):
            words = line.split()
            path = words[1] if len(words) == 2 and words[0] == "include" else ""
            if path.startswith("/") and path.endswith("/Makefile") and path != "/Makefile":
                return [Path(path.removesuffix("/Makefile"))]
    return []


def _arch(release: str, build_dir: Path | None, config: Config) -> str:
    machine = host_name()
    if build_dir is None:
        known = architecture_of_debian(release)
        return known.name if known is not None else machine
    for option, name in _ARCHES.items():
        if config.is_enabled(option):
            return name
    return machine


def _report_unknown(
    release: str, diagnostics: Diagnostics, sysroot: str | None, architecture: str
) -> None:
    where = f"in {sysroot}" if sysroot else "on this machine"
    notes = [f"neither modules, headers nor an image of kernel {release} are {where}"]
    known = _known_releases(sysroot)
    if architecture != host_name() and line_and_flavour(release):
        known = [name for name in known if _may_be_for(name, architecture)]
    if known:
        notes.append("there are: " + ", ".join(known))
    diagnostics.error(
        "build error",
        "E0481",
        "Incorrect version or missing kernel-devel package",
        notes=notes,
        hint="" if sysroot else way_to_kernel(release, architecture),
    )
