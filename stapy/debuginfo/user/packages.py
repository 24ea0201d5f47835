"""Which package brings what a program's file lacks, as a command to paste."""

from __future__ import annotations

import re
from pathlib import Path

from stapy.debuginfo import view
from stapy.kernel.offers import is_offered
from stapy.kernel.release import distribution

_SECONDS = 10


def debug_command(path: Path) -> str:
    """Find the command that installs a file's debug information, "" when none is known.

    It asks the package manager, which takes a while: for messages only.
    """
    system = distribution()
    if system in ("debian", "ubuntu"):
        package = _debian_package(path)
        if not package:
            return ""
        return f"apt-get install {_debian_debug(package)}"
    if system in ("fedora", "suse"):
        package = _answer(["rpm", "-qf", "--qf", "%{NAME}", str(path)])
        if not package or " " in package:
            return ""
        return f"{'dnf' if system == 'fedora' else 'zypper'} install {package}-debuginfo"
    return ""


# Programs and libraries that the tapset library names, by the beginning of the name.
_BROUGHT_BY = {
    "libjvm": "default-jre-headless",
    "libphp": "libphp-embed",
    "libruby": "ruby",
    "php": "php-cli",
    "postgres": "postgresql",
    "ruby": "ruby",
    "stap": "systemtap",
    "stapio": "systemtap-runtime",
    "staprun": "systemtap-runtime",
}
_ELSEWHERE = (
    "of Debian's archive of debug symbols, which apt is not told of here: "
    "https://wiki.debian.org/HowToGetABacktrace"
)


def install_hint(name: str) -> str:
    """Say what to install for a program or library, a name or pattern; "" when none is known."""
    if distribution() not in ("debian", "ubuntu") or not view.is_ours():
        return ""
    found = re.match(r"[a-z]+", name.rpartition("/")[2])
    package = _BROUGHT_BY.get(found[0], "") if found else ""
    return f"apt-get install {package}" if package else ""


def package_of_name(name: str) -> str:
    """Find a package of the distribution that is called as a program or library is, "" for none.

    As Debian's policy has it, ``libvirt.so.0`` is of ``libvirt0``, ``libbz2.so.1.0`` of
    ``libbz2-1.0``.
    It asks the package manager, which takes a while: for messages only.
    """
    if distribution() not in ("debian", "ubuntu") or not view.is_ours():
        return ""
    bare = name.rpartition("/")[2].lower()
    found = re.fullmatch(r"(lib.+?)\.so\.(\d[\d.]*)", bare)
    if found:
        dash = "-" if found[1][-1].isdigit() else ""
        bare = f"{found[1]}{dash}{found[2]}"
    is_name = re.fullmatch(r"[a-z0-9][a-z0-9+.-]+", bare)
    return bare if is_name and is_offered(bare) else ""


def _debian_package(path: Path) -> str:
    """Find the package that a file is of, "" when it is of none.

    Its list may have the name from before ``/usr`` was merged.
    """
    names = [view.shown(path)]
    own = [f"--admindir={view.real('/var/lib/dpkg')}"] if view.covers(path) else []
    if names[0].startswith("/usr/"):
        names.append(names[0].removeprefix("/usr"))
    for name in names:
        package, found, _ = _answer(["dpkg-query", *own, "-S", name]).partition(": ")
        if found:
            return package.partition(",")[0].partition(":")[0]
    return ""


def _debian_debug(package: str) -> str:
    """Name the package with the debug files: a few have one in the main archive.

    The others are in an archive that apt is not told of when Debian is installed.
    """
    source = _answer(["dpkg-query", "-W", "-f", "${source:Package}", package])
    for name in dict.fromkeys((package, package.rstrip("0123456789"), source)):
        if name and is_offered(f"{name}-dbg"):
            return f"{name}-dbg"
    name = f"{package}-dbgsym"
    return name if is_offered(name) else f"{name}, {_ELSEWHERE}"


def _answer(command: list[str]) -> str:
    """Run a command and return what it prints, "" when it is absent or fails."""
    import subprocess

    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_SECONDS, errors="replace"
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
