"""Programs of a package that is extracted, not installed: how they are found and what they need."""

from __future__ import annotations

import copy
import functools
import os
import shlex
from pathlib import Path

from tests import debugpackage
from tests.vm.harness import Case

# What programs look for in /etc, wherever they lie.
SETTINGS = """for name in {root}/etc/*; do
    [ ! -e "$name" ] || [ -e "/etc/${{name##*/}}" ] || ln -s "$name" /etc/
done
"""
# Data for a server that does not run as root, whose home nobody else may enter; once in a guest.
SERVER = """[ -d /tmp/told/data ] || {{
    mkdir -p /run/package /tmp/told && mount --bind {root} /run/package && chown 65534 /tmp/told &&
    LD_LIBRARY_PATH=/run/package{libraries} setpriv --reuid=65534 sh -c \
        'exec /run/package/usr/lib/postgresql/*/bin/initdb \
        -D /tmp/told/data -N -A trust --locale=C -E UTF8'
}}
"""


def environment(*roots: Path) -> dict[str, str]:
    """Variables by which the programs of packages and their libraries are found."""
    found: dict[str, list[str]] = {"PATH": [], "LD_LIBRARY_PATH": [], "RUBYLIB": []}
    for root in roots:
        java = sorted(root.glob("usr/lib/jvm/*/lib/server/libjvm.so"))
        programs = [
            root / "usr/bin",
            *root.glob("usr/lib*/systemtap"),
            *root.glob("usr/lib/postgresql/*/bin"),
            *(path.parents[2] / "bin" for path in java),
        ]
        ruby = [*root.glob("usr/lib/ruby/[0-9]*"), *root.glob("usr/lib/*/ruby/[0-9]*")]
        found["PATH"] += map(str, programs)
        found["LD_LIBRARY_PATH"] += [debugpackage.library_path(root)]
        found["LD_LIBRARY_PATH"] += (str(path.parent) for path in java)
        found["RUBYLIB"] += map(str, ruby)
    found["PATH"].append(os.environ["PATH"])
    return {name: ":".join(places) for name, places in found.items() if places}


def command_in(root: Path, command: str) -> str:
    """Write a command so that it finds the programs of a package before all others."""
    shown = (f"{name}={shlex.quote(value)}" for name, value in environment(root).items())
    return f"env {' '.join(shown)} {command}"


def ground(root: Path) -> str:
    """Write the shell commands that prepare a guest for the programs of a package."""
    text = SETTINGS
    if list(root.glob("usr/lib/postgresql/*/bin/initdb")):
        text += SERVER
    libraries = debugpackage.library_path(root).removeprefix(str(root))
    return text.format(root=root, libraries=libraries)


@functools.cache
def _lacking(package: str) -> str:
    try:
        debugpackage.program_root(package)
    except debugpackage.NoPackage as error:
        return f"{package}: {error}"
    return ""


def lacks(case: Case) -> str:
    """Tell why the package of a case cannot be had, "" when it can or when there is none."""
    return _lacking(case.package) if case.package else ""


def at_hand(cases: list[Case]) -> tuple[list[Case], dict[Path, None]]:
    """Return the cases made to find their commands, and where their packages lie.

    Cases whose package is lacking are left out: who asks tells of them, by `lacks`.
    """
    kept: list[Case] = []
    roots: dict[Path, None] = {}
    for case in cases:
        if lacks(case):
            continue
        one = copy.copy(case)
        if case.package:
            root = debugpackage.program_root(case.package)
            roots[root] = None
            one.command = command_in(root, case.command or "")
        kept.append(one)
    return kept, roots
