"""What apt can install, by its own lists of packages.

They are read by apt's helper, which knows how they are compressed: that takes a third of a second,
where a question to ``apt-cache`` takes some, for it builds its index in memory first.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

from stapy.kernel.release import install_command
from stapy.paths import names_in

_HELPER = "/usr/lib/apt/apt-helper"
_LISTS = Path("/var/lib/apt/lists")
_SECONDS = 5


@functools.cache
def offered() -> frozenset[str] | None:
    """Read the names of all packages that apt offers; None where there are no lists to read."""
    lists = [f"{_LISTS}/{name}" for name in names_in(_LISTS) if "_Packages" in name]
    if not lists:
        return None
    import subprocess

    try:
        done = subprocess.run(
            [_HELPER, "cat-file", *lists], capture_output=True, check=True, timeout=_SECONDS
        )
    except (OSError, subprocess.SubprocessError):
        return None
    names = re.findall(rb"^Package: (\S+)$", done.stdout, re.MULTILINE)
    return frozenset(name.decode("ascii", "replace") for name in names)


def is_offered(package: str) -> bool:
    """Tell whether apt's lists have a package; false where they cannot be read."""
    return package in (offered() or ())


def lacks(package: str) -> bool:
    """Tell whether apt's lists lack a package; false where they cannot be read."""
    known = offered()
    return known is not None and package not in known


def way_to(purpose: str, release: str) -> str:
    """Say how to install a package of a kernel, as `install_command`, or that there is none.

    A release may be nobody's: then the distribution has no package that is called so.
    """
    command = install_command(purpose, release)
    package = command.rpartition(" ")[2]
    if command.startswith("apt-get ") and lacks(package):
        return f"apt has no {package}"
    return command
