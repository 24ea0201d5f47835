"""Release strings: their numbers, their order, and the packages that distributions make of them."""

from __future__ import annotations

import functools
import re
from pathlib import Path

from stapy.arch import ARCHITECTURES

_DIGITS = frozenset("0123456789")
_NUMBERS = re.compile(r"\d+(?:\.\d+)*")
_MACHINES = "|".join(one.debian for one in ARCHITECTURES.values())
_KIND = re.compile(rf"(\d+(?:\.\d+)*)(?:-((?:cloud|rt)(?:-(?:{_MACHINES}))?|{_MACHINES}))?")
_LONGEST = 18  # digits; what has more is no number of a kernel, and all such are alike


def version_tuple(release: str) -> tuple[int, ...]:
    """Split off the leading numbers: ``6.12.117+deb12-amd64`` gives ``(6, 12, 117)``."""
    found = _NUMBERS.match(release)
    return tuple(map(_number, found.group().split("."))) if found else ()


def is_line(text: str) -> bool:
    """Tell whether a text names a line of kernels, by some of its numbers: 6.1, 6.12.117."""
    return re.fullmatch(r"\d+(?:\.\d+)*", text) is not None


def line_and_flavour(text: str) -> tuple[str, str] | None:
    """Cut the name of a line, perhaps with one of Debian's flavours; None for other names.

    ``6.12`` has none; ``6.1-rt``, ``6.12-cloud-amd64`` and ``6.1-amd64``, the plain flavour, do.
    """
    found = _KIND.fullmatch(text)
    return (found[1], found[2] or "") if found else None


def newest_of(line: str, releases: list[str], own: str = "") -> str:
    """Choose the newest of some releases that belongs to a line, "" when none does.

    Of ``6.1-rt`` they are those of that flavour for the architecture that Debian calls ``own``;
    without a flavour any is as good as another.
    """
    line, _, flavour = line.partition("-")
    if flavour:
        releases = [name for name in releases if _is_of_flavour(name, flavour, own)]
    wanted = version_tuple(line)
    found = [name for name in releases if version_tuple(name)[: len(wanted)] == wanted]
    return max(found, key=release_order, default="")


def _is_of_flavour(release: str, flavour: str, own: str) -> bool:
    if flavour == own:
        return re.fullmatch(rf"[0-9.]+(?:-\d+|\+[a-z0-9.~]+)-{own}", release) is not None
    return release.endswith(f"-{flavour.removesuffix('-' + own)}-{own}")


def release_order(release: str) -> list[tuple[int, str]]:
    """Make a sort key that puts 6.1.9 before 6.1.12, and 6.1.0-9 before 6.1.0-12."""
    return [
        (_number(part), "") if part.isdigit() else (-1, part)
        for part in re.findall(r"\d+|[a-z]+", release)
    ]


def _number(digits: str) -> int:
    """Read a number of any length: Python refuses those of thousands of digits."""
    digits = digits.lstrip("0")
    return int(digits or 0) if len(digits) <= _LONGEST else 10**_LONGEST


def base_release(release: str) -> str:
    """Cut a release at its first ``-``: that is what a script sees as ``kernel_v``."""
    return release.partition("-")[0]


def compare_versions(a: str, b: str) -> int:
    """Compare as the C library orders versions, and SystemTap: below 0, 0 or above.

    A run of digits counts as a number; one that starts with 0 as the digits of
    a fraction, so that ``1.001`` < ``1.01`` < ``1.0`` < ``1.1``.
    """
    first = 0
    shortest = min(len(a), len(b))
    while first < shortest and a[first] == b[first]:
        first += 1
    start = first
    while start > 0 and a[start - 1] in _DIGITS:
        start -= 1
    common = a[start:first]  # digits before the first difference
    left, right = _digits(a, first), _digits(b, first)
    if common.startswith("0"):
        if common.strip("0") == "" and bool(left) != bool(right):
            return -1 if left else 1  # a zero alone comes after its own fractions
    elif common:
        if len(left) != len(right):
            return -1 if len(left) < len(right) else 1
    elif left and right and len(left) != len(right) and left[0] != "0" and right[0] != "0":
        return -1 if len(left) < len(right) else 1
    return _order(a[first : first + 1], b[first : first + 1])


def _digits(text: str, start: int) -> str:
    end = start
    while end < len(text) and text[end] in _DIGITS:
        end += 1
    return text[start:end]


def _order(a: str, b: str) -> int:
    return (a > b) - (a < b)


# --- packages ---------------------------------------------------------------


@functools.cache
def distribution(os_release: str = "/etc/os-release") -> str:
    """Find this system's family: ``debian``, ``ubuntu``, ``fedora``, ``suse``, ``arch``.

    Returns "" for others.
    """
    try:
        text = Path(os_release).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    words = re.findall(r'^ID(?:_LIKE)?="?([^"\n]*)', text, re.M)
    known = {
        "debian": "debian",
        "ubuntu": "ubuntu",
        "fedora": "fedora",
        "rhel": "fedora",
        "centos": "fedora",
        "suse": "suse",
        "opensuse": "suse",
        "arch": "arch",
    }
    for word in " ".join(words).split():
        if word in known:
            return known[word]
    return ""


# distribution -> command, then the package of each purpose
_PACKAGES = {
    "debian": (
        "apt-get install",
        {
            "headers": "linux-headers-{r}",
            "debuginfo": "linux-image-{r}-dbg",
            "image": "linux-image-{r}",
        },
    ),
    "ubuntu": (
        "apt-get install",
        {
            "headers": "linux-headers-{r}",
            "debuginfo": "linux-image-{r}-dbgsym",
            "image": "linux-image-{r}",
        },
    ),
    "fedora": (
        "dnf install",
        {
            "headers": "kernel-devel-{r}",
            "debuginfo": "--enablerepo=*debuginfo* kernel-debuginfo-{r}",
            "image": "kernel-core-{r}",
        },
    ),
    "suse": (
        "zypper install",
        {
            "headers": "kernel-default-devel",
            "debuginfo": "kernel-default-debuginfo",
            "image": "kernel-default",
        },
    ),
    "arch": ("pacman -S", {"headers": "linux-headers", "image": "linux"}),
}


def install_command(purpose: str, release: str, system: str | None = None) -> str:
    """Give a command to paste that installs one package of a kernel.

    ``purpose`` is ``headers``, ``debuginfo`` or ``image``. Returns "" when the distribution is not
    known or has no such package.
    """
    command, packages = _PACKAGES.get(distribution() if system is None else system, ("", {}))
    package = packages.get(purpose)
    return f"{command} {package.format(r=release)}" if package else ""
