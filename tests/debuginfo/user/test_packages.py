"""Packages for what a program lacks, as Debian's package manager names them."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy.debuginfo.user import packages

OFFERED = {"nginx", "libvirt0", "libbz2-1.0", "libc6-dbg", "python3.11-dbg", "tool-dbgsym"}
FILES = {
    "/usr/bin/python3.11": "python3.11-minimal",
    "/usr/lib/libc.so.6": "libc6",
    "/usr/bin/bash": "bash",
    "/usr/bin/tool": "tool",
}
SOURCES = {"python3.11-minimal": "python3.11", "libc6": "glibc"}


@pytest.fixture(autouse=True)
def debian(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(command: list[str]) -> str:
        asked = command[-1]
        if "-S" in command:
            return f"{FILES[asked]}:amd64: {asked}" if asked in FILES else ""
        return SOURCES.get(asked, asked)

    monkeypatch.setattr(packages, "_answer", answer)
    monkeypatch.setattr(packages, "is_offered", OFFERED.__contains__)
    monkeypatch.setattr(packages, "distribution", lambda: "debian")


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("nginx", "nginx"),
        ("/usr/sbin/nginx", "nginx"),
        ("libvirt.so.0", "libvirt0"),
        ("libbz2.so.1.0", "libbz2-1.0"),
        ("nosuch", ""),
        ("nginx*", ""),
        ("", ""),
    ],
)
def test_a_package_called_as_its_program_is(name: str, package: str) -> None:
    assert packages.package_of_name(name) == package


@pytest.mark.parametrize(
    ("file", "command"),
    [
        ("/usr/bin/python3.11", "apt-get install python3.11-dbg"),
        ("/usr/lib/libc.so.6", "apt-get install libc6-dbg"),
        ("/usr/bin/tool", "apt-get install tool-dbgsym"),
        ("/usr/bin/of_nobody", ""),
    ],
)
def test_debug_packages(file: str, command: str) -> None:
    assert packages.debug_command(Path(file)) == command


def test_a_debug_package_that_apt_does_not_know() -> None:
    """Its name alone would be a command that fails."""
    command = packages.debug_command(Path("/usr/bin/bash"))
    assert command.startswith("apt-get install bash-dbgsym, of Debian's archive of debug symbols")
