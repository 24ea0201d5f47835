"""What ``stapy doctor`` looks at: each finding asks the code that judges the same in a run."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from stapy.arch import architecture, host
from stapy.build import tools
from stapy.build.llvm import LlvmTools
from stapy.build.messages import way_to_program
from stapy.cache import Cache
from stapy.cache.store import DEFAULT_LIMIT_MB
from stapy.diagnostics.bug_report import PACKAGES, way_to_package
from stapy.kernel.host import HostFiles
from stapy.kernel.offers import way_to
from stapy.paths import cache_place, exists
from stapy.record import Record
from stapy.run import refusals, sudo

if TYPE_CHECKING:
    from stapy.debuginfo.facade import Debuginfo
    from stapy.diagnostics import Diagnostics
    from stapy.kernel import Kernel

OK, LIMITED, BAD = "ok", "limited", "bad"
_ELSEWHERE = "run it in a throw-away virtual machine: stapy --vm …"
_TOOLS = ("make", "ld", "as")


class Finding(Record):
    """One row: ``limited`` when some scripts go without, ``bad`` when none can do."""

    name: str
    state: str
    text: str
    remedy: str = ""


class Examination:
    """The findings about one kernel and this machine."""

    def __init__(self, kernel: Kernel, diagnostics: Diagnostics, root: Path = Path("/")) -> None:
        self.kernel = kernel
        self.diagnostics = diagnostics
        self.root = root
        self.host = HostFiles(root)
        self.machine = architecture(kernel.arch)

    def findings(self) -> list[Finding]:
        """List all rows in the order of the screen."""
        rows = [self.about_kernel()]
        if self.kernel.is_running:
            rows += _looked_at("lockdown", self.loading)
        rows += _looked_at("kprobes", self.probing)
        rows += _looked_at("headers", self.headers)
        rows += _looked_at("compiler", self.compiler)
        rows += _looked_at("programs", self.programs)
        rows += _looked_at("packages", packages)
        if rows[-1].state == OK:  # what reads debug information needs them
            rows += _looked_at("debuginfo", self.debug_information)
        else:
            rows += [self.not_asked("btf"), self.not_asked("debuginfo")]
        if self.kernel.is_running:
            rows += _looked_at("tracefs", self.tracefs)
        for name, look in (("qemu", machine), ("docker", containers), ("cache", cache)):
            rows += _looked_at(name, look)
        return rows

    # --- the kernel ------------------------------------------------------

    def about_kernel(self) -> Finding:
        """Tell which kernel this is about."""
        where = "running" if self.kernel.is_running else "not the one that runs here"
        return Finding("kernel", OK, f"{self.kernel.release} ({self.kernel.arch}), {where}")

    def loading(self) -> Iterator[Finding]:
        """Yield whether the running kernel takes our modules, and why not."""
        reasons = self.host.verdicts(self.kernel)
        if str(self.root) == "/" and sudo.is_needed():
            reasons["privilege"] = sudo.obstacle()
        root = str(self.root)

        def signatures() -> str:
            is_built_in = self.kernel.config.get("CONFIG_MODULE_SIG_FORCE") == "y"
            return refusals.past_signatures(root, is_built_in)

        rows = (
            ("privilege", "modules may be loaded", lambda: refusals.missing_capability()),
            ("modules", "the kernel has loadable modules", lambda: _ELSEWHERE),
            ("lockdown", "the kernel is not locked down", lambda: refusals.past_lockdown(root)),
            ("signing", "unsigned modules are taken", signatures),
        )
        for name, fine, remedy in rows:
            yield _judged(name, reasons[name], fine, remedy)

    def probing(self) -> Iterator[Finding]:
        """Yield what the kernel can probe."""
        reason = self.host.verdicts(self.kernel)["kprobes"]
        yield _judged("kprobes", reason, "functions can be probed", lambda: _ELSEWHERE)
        reason = self.host.without_uprobes(self.kernel)
        row = _judged("uprobes", reason, "programs can be probed", lambda: _ELSEWHERE)
        if reason:
            row.state = LIMITED
        yield row

    def tracefs(self) -> Finding:
        """Look for tracefs: a tracepoint's system is read there or in the headers."""
        from stapy.debuginfo.tracepoints.systems import tracefs

        found = tracefs()
        if found:
            return Finding("tracefs", OK, f"{found[0].parent.parent}")
        return Finding(
            "tracefs",
            LIMITED,
            "it is not mounted, or not for this user: systems of tracepoints come from the headers",
            "mount -t tracefs tracefs /sys/kernel/tracing",
        )

    # --- building --------------------------------------------------------

    def headers(self) -> Finding:
        """Look for the build tree of the kernel."""
        reason = self.host.verdicts(self.kernel)["headers"]
        # Asked for when it is wanted: apt's lists take half a minute in an emulated guest.
        return _judged("headers", reason.partition(" (")[0], str(self.kernel.build_dir),
                       lambda: way_to("headers", self.kernel.release)
                       or "install the headers of this kernel")  # fmt: skip

    def compiler(self) -> Finding:
        """Compare the compiler that the kernel was built with to the one that is here."""
        wanted = self.kernel.config.text("CONFIG_CC_VERSION_TEXT")
        program = self.kernel.compiler
        if self.kernel.config.is_enabled("CONFIG_CC_IS_CLANG"):
            program = LlvmTools(self.kernel.config, program).clang
        if not program:
            return Finding(
                "compiler", LIMITED, "the kernel's configuration does not name its compiler"
            )
        if self.machine is not None and self.machine is not host():
            program = os.environ.get("CROSS_COMPILE", self.machine.cross) + program
        path = tools.HERE.find(program)
        if path is None:
            text = f"no {program}, with which modules for the kernel are made"
            return Finding("compiler", BAD, text, way_to_program(program, self.kernel.release))
        try:
            said = tools.HERE.run([path, "--version"]).output.partition("\n")[0].strip()
        except OSError as error:
            return Finding("compiler", BAD, f"{path} cannot be run: {error.strerror}")
        if _versions(said) == _versions(wanted):
            return Finding("compiler", OK, f"{said}, with which the kernel was built")
        text = f"{said}; the kernel was built with {wanted}"
        if _versions(said)[:1] == _versions(wanted)[:1]:
            return Finding("compiler", OK, text)
        return Finding(
            "compiler", LIMITED, text, "stapy --build-in=auto … makes modules with the kernel's own"
        )

    def programs(self) -> Finding:
        """Look for the other programs of pass 4."""
        missing = [name for name in _TOOLS if tools.HERE.find(name) is None]
        if not missing:
            return Finding("programs", OK, ", ".join(_TOOLS))
        ways = dict.fromkeys(way_to_program(name, self.kernel.release) for name in missing)
        return Finding("programs", BAD, f"no {', '.join(missing)}", "; ".join(ways))

    # --- debug information -------------------------------------------------

    def debug_information(self) -> Iterator[Finding]:
        """Yield what is known of functions, types, lines and locals."""
        from stapy.debuginfo.facade import Debuginfo

        known = Debuginfo(self.kernel, Cache(cache_place().folder), self.diagnostics)
        loaded = known.loaded
        if loaded.btf is not None:
            yield Finding("btf", OK, f"types and parameters from {loaded.origin}")
        else:
            what = loaded.problems[-1] if loaded.problems else f"none for {self.kernel.release}"
            text = f"no types of parameters and variables: {what}"
            yield Finding("btf", LIMITED, text, known.missing_hint("btf"))
        yield self.debuginfo(known)

    def debuginfo(self, known: Debuginfo) -> Finding:
        """Look for the debug package, which lines, locals and inlined functions need."""
        path, problems = known.debug_file()
        if path is not None:
            return Finding("debuginfo", OK, str(path))
        servers = os.environ.get("DEBUGINFOD_URLS", "").strip()
        if servers and not problems:
            return Finding("debuginfo", OK, f"not installed; asked for when needed: {servers}")
        text = problems[0] if problems else "not installed: no lines, locals and inlined functions"
        return Finding("debuginfo", LIMITED, text, known.missing_hint("locals"))

    def not_asked(self, name: str) -> Finding:
        """Make the finding of what cannot be told without Python's packages."""
        return Finding(name, LIMITED, "cannot be looked at without those packages")


def _looked_at(name: str, look: Callable[[], Finding | Iterator[Finding]]) -> list[Finding]:
    """List findings; a file system that fails makes one of them, and hides no others.

    That of a virtual machine does when its server has no descriptors left.
    """
    rows: list[Finding] = []
    try:
        found = look()
        if isinstance(found, Finding):
            return [found]
        rows.extend(found)
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        text = f"it cannot be looked at: {error.strerror or error}{where}"
        return [*rows, Finding(name, LIMITED, text)]
    return rows


def _judged(name: str, reason: str, fine: str, remedy: Callable[[], str]) -> Finding:
    return Finding(name, BAD, reason, remedy()) if reason else Finding(name, OK, fine)


def _versions(text: str) -> list[str]:
    """Find a compiler's major version, then the rest of what it says."""
    found = re.search(r"(\d+)\.\d[\w.+~-]*", text.rpartition(")")[2] or text)
    return [found[1], text.partition(" ")[2]] if found else [text]


# --- this machine ---------------------------------------------------------------


def packages() -> Finding:
    """Look for Python's packages without which nothing works; docker's has a row of its own."""
    from importlib.metadata import PackageNotFoundError, version
    from importlib.util import find_spec

    needed = [name for name in PACKAGES if name != "docker"]
    missing = [name for name in needed if find_spec(name) is None]
    if missing:
        ways = dict.fromkeys(way_to_package(name) for name in missing)
        return Finding("packages", BAD, f"no {', '.join(missing)}", "; ".join(ways))
    found = []
    for name in dict.fromkeys(PACKAGES[name][0] for name in needed):
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(name)
    return Finding("packages", OK, ", ".join(found))


def machine() -> Finding:
    """Tell whether ``--vm`` works."""
    from stapy.vm import kernels, qemu, tree
    from stapy.vm.errors import VmError

    try:
        qemu.check()
        tree.busybox()
        kernel = kernels.find(kernels.default_release())
    except VmError as error:
        return Finding("qemu", LIMITED, f"no --vm: {error}", error.hint)
    return Finding("qemu", OK, f"{qemu.qemu_program()}; --vm boots {kernel.release}")


def containers() -> Finding:
    """Tell whether ``--build-in`` works."""
    from stapy.build.daemon import ContainerError, Docker

    try:
        docker = Docker()
    except ContainerError as error:
        return Finding("docker", LIMITED, f"no --build-in: {error}", error.hint)
    return Finding("docker", OK, f"{docker.name} answers at {docker.place}")


def cache() -> Finding:
    """Tell what was made before, and who may change it."""
    place = cache_place()
    folder = place.folder
    limit = Cache(folder).setting("cache_mb_limit", DEFAULT_LIMIT_MB)
    size = Cache(folder).size() / (1 << 20)
    # What is made counts at once, what is too much goes later.
    much = f", brought below {limit} MB when something is made" if size > limit else ""
    text = f"{folder}, {size:.0f} of {limit} MB{much}{_beside(folder)}, of {_owner(folder)}"
    if place.complaint:
        return Finding("cache", LIMITED, f"{text}; {place.complaint}",
                       f"chown -R {os.geteuid()} {folder}, or set $XDG_CACHE_HOME")  # fmt: skip
    if not os.access(_existing(folder), os.W_OK):
        return Finding("cache", LIMITED, f"{text}; it cannot be written: everything is made anew",
                       "set $XDG_CACHE_HOME to a folder that can be")  # fmt: skip
    return Finding("cache", OK, text)


_SECONDS = (
    2  # for all of these: kernels have a hundred thousand files, which take minutes in a guest
)
# Folders of the cache that the limit leaves alone: what was asked for stays until it is removed.
_BESIDE = {
    "kernels": "of fetched kernels ('stapy kernel remove' takes them)",
    "userland": "of programs for guests",
    "lists": "of lists of packages",
}


def _beside(folder: Path) -> str:
    """Name what lies in the cache without a limit, in megabytes; "" for nothing worth a word."""
    end = time.monotonic() + _SECONDS
    told = ""
    for name, what in _BESIDE.items():
        total, is_whole = 0, True
        for size in _sizes(folder / name):
            total += size
            if time.monotonic() > end:
                is_whole = False
                break
        if total >> 20:
            told += f", and {'' if is_whole else 'more than '}{total >> 20} MB {what}"
    return told


def _sizes(folder: Path) -> Iterator[int]:
    """Yield the sizes of the files in a folder in bytes, skipping those that vanish meanwhile."""
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                yield (Path(place) / name).lstat().st_size
            except OSError:
                continue


def _existing(folder: Path) -> Path:
    """Return the folder, or the nearest one above it that is there."""
    while not exists(folder) and folder != folder.parent:
        folder = folder.parent
    return folder


def _owner(folder: Path) -> str:
    import pwd

    uid = _existing(folder).stat().st_uid
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"
