"""Which of Debian's suites have a kernel, as its name tells, and the command that fetches it.

``docker/suites.toml`` has what is known of each suite.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

from stapy import arch
from stapy.kernel.offers import offered, way_to
from stapy.kernel.release import (
    distribution,
    is_line,
    line_and_flavour,
    newest_of,
    version_tuple,
)
from stapy.paths import data_dir
from stapy.record import Record

TRIED = "docs/wall.md has the kernels that were tried"
_MARK = re.compile(r"[+.-]deb(\d{1,4})(?!\d)")  # as far as numbers of releases will go


class KernelSuite(Record):
    """A suite of Debian: the line of its own kernels, () for none, and the number in marks."""

    name: str
    line: tuple[int, ...]
    debian: int
    fetch: str  # itself and those beside it, for `stapy kernel fetch -s`


@functools.cache
def kernel_suites() -> tuple[KernelSuite, ...]:
    """List the suites, the oldest first."""
    import tomllib

    text = (data_dir("docker") / "suites.toml").read_text("utf-8")
    return tuple(
        KernelSuite(name, version_tuple(row.get("line", "")), row["debian"], row["fetch"])
        for name, row in tomllib.loads(text).items()
    )


def suites_of(name: str) -> str:
    """Name the suites of a release or a line, for ``-s``; "" when none is known to have it.

    A release of a newer line than any suite's own may be a backport as well.
    """
    known = kernel_suites()
    *_, stable, newest = known
    mark = _MARK.search(name)
    if mark is not None:
        number = min(int(mark[1]), newest.debian)
        return next((one.fetch for one in known if one.debian == number), "")
    numbers = version_tuple(name)
    fitting = [one for one in known if one.line and _agree(one.line, numbers)]
    if fitting:
        return fitting[-1].fetch
    is_newer = numbers > max(one.line for one in known)
    return f"{newest.fetch},{stable.fetch}" if is_newer else ""


def _agree(line: tuple[int, ...], numbers: tuple[int, ...]) -> bool:
    """Tell whether one is the beginning of the other: 6 and 6.1.0 are both of 6.1."""
    shorter = min(len(line), len(numbers))
    return line[:shorter] == numbers[:shorter]


@functools.cache
def own_suite(os_release: str = "/etc/os-release") -> str:
    """Return the name of the suite that this machine has, "" when it is not told."""
    try:
        text = Path(os_release).read_text("utf-8", "replace")
    except OSError:
        return ""
    found = re.search(r'^VERSION_CODENAME="?([a-z]+)', text, re.M)
    return found[1] if found else ""


def is_own(suites: str) -> bool:
    """Tell whether this machine's own suite is among some."""
    return own_suite() in suites.split(",")


def way_to_fetch(name: str, architecture: str = "") -> str:
    """Give the command that fetches a kernel of Debian; "" when it is none, or no suite has it.

    ``name`` is a release or a line, with or without a flavour; ``architecture`` is in SystemTap's
    spelling. Suites are named unless this machine's apt has such a kernel.
    """
    machine = arch.architecture_of_debian(name) or arch.architecture(architecture) or arch.host()
    is_debians = line_and_flavour(name) is not None or arch.architecture_of_debian(name)
    if machine is None or not is_debians or distribution() != "debian":
        return ""
    suites = suites_of(name)
    here = _is_here(name, machine.debian)
    if not suites and not here:
        return ""
    other = f" -a {machine.name}" if machine is not arch.host() else ""
    return f"stapy kernel fetch{other}{'' if here else f' -s {suites}'} {name}"


def _line_of(release: str) -> str:
    """Name the line and flavour of a release of Debian: ``6.1-cloud-amd64``; "" for others."""
    found = re.match(r"(\d+\.\d+)\.\d[^-]*(?:-[\d.]+)?(-.*)", release)
    line = found[1] + found[2] if found else ""
    return line if line_and_flavour(line) else ""


def _is_here(name: str, own: str) -> bool:
    """Tell whether the lists of this machine's apt have headers for a name.

    They are of this machine's architecture; other ones have the same kernels.
    """
    host = arch.host()
    tail = host.debian if host else own
    have = [package[len("linux-headers-") :] for package in offered() or ()
            if package.startswith("linux-headers-")]  # fmt: skip
    if line_and_flavour(name) is not None:
        return bool(newest_of(name.replace(f"-{own}", f"-{tail}"), have, tail))
    return f"{name.removesuffix(own)}{tail}" in have


def way_to_kernel(name: str, architecture: str = "", purpose: str = "headers") -> str:
    """Say how to get a kernel that is not here, by its release or by its line."""
    host = arch.host_name()
    named = arch.architecture_of_debian(name)
    is_other = (named.name if named else architecture or host) != host
    command = "" if line_and_flavour(name) or is_other else way_to(purpose, name)
    if command and not command.startswith("apt has no "):
        return command
    if command and is_own(suites_of(name)) and (line := _line_of(name)):
        return f"{command}; stapy kernel fetch {line} gets the newest of its line"
    # Guests of another architecture are emulated: the kernels for clouds are the small ones.
    wanted = f"{name}-cloud" if is_other and is_line(name) else name
    return way_to_fetch(wanted, architecture) or "; ".join(filter(None, (command, TRIED)))
