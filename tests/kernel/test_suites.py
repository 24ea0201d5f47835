"""Which suites have a kernel, by its name, and how it is fetched from there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stapy.diagnostics import Diagnostics, SourceMap, Stop
from stapy.kernel import offers, suites, target
from stapy.vm import kernels
from stapy.vm.errors import VmError

BULLSEYE, BOOKWORM = "bullseye,bullseye-security", "bookworm,bookworm-security"
TRIXIE = "trixie,trixie-security,trixie-backports"


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("5.10", BULLSEYE),
        ("5", BULLSEYE),
        ("5.10.0-46-cloud-amd64", BULLSEYE),
        ("6.1-rt", BOOKWORM),
        ("6.1.0-56-amd64", BOOKWORM),
        ("6.1.0-0.deb11.21-amd64", BULLSEYE),
        ("6.12.117+deb12-cloud-amd64", BOOKWORM),
        ("6.12", TRIXIE),
        ("6", TRIXIE),
        ("7.3.4+deb13-cloud-amd64", TRIXIE),
        ("7.2.13+deb14-amd64", "sid"),
        ("9.1+deb21-amd64", "sid"),
        ("7-cloud", f"sid,{TRIXIE}"),
        ("6.17", f"sid,{TRIXIE}"),
        ("5.4", ""),
        ("6.6", ""),
        ("4.19.0-27+deb10-amd64", ""),
    ],
)
def test_suites_of_a_name(name: str, found: str) -> None:
    assert suites.suites_of(name) == found


def test_the_suite_of_this_machine(tmp_path: Path) -> None:
    file = tmp_path / "os-release"
    file.write_text('ID=debian\nVERSION_CODENAME="trixie"\n')
    assert suites.own_suite(str(file)) == "trixie"
    assert suites.own_suite(str(tmp_path / "none")) == ""


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make it one of bookworm, whose lists have a backport as well, and no kernel."""
    names = os.uname_result(("Linux", "host", "6.9.0-host", "#1", "x86_64"))
    have = {f"linux-headers-{name}-amd64" for name in ("6.1.0-9", "6.12.1+deb12-rt")}
    have.add("linux-image-6.1.0-9-amd64")
    monkeypatch.setattr(os, "uname", lambda: names)
    monkeypatch.setattr(suites, "own_suite", lambda: "bookworm")
    monkeypatch.setattr(suites, "distribution", lambda: "debian")
    for module in (suites, offers):
        monkeypatch.setattr(module, "offered", lambda: frozenset(have))
    monkeypatch.setattr(
        offers, "install_command", lambda what, name: f"apt-get install linux-{what}-{name}"
    )
    for module in (target, kernels):
        monkeypatch.setattr(module, "roots", lambda sysroot: [Path("/nowhere")])


FETCH = "stapy kernel fetch "


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize(
    ("name", "architecture", "hint"),
    [
        ("6.1", "", FETCH + "6.1"),
        ("6.12-rt", "", FETCH + "6.12-rt"),
        ("6.12-cloud", "", FETCH + f"-s {TRIXIE} 6.12-cloud"),
        ("5.10", "", FETCH + f"-s {BULLSEYE} 5.10"),
        ("5.10", "arm64", FETCH + f"-a arm64 -s {BULLSEYE} 5.10-cloud"),
        ("6.12-rt-arm64", "", FETCH + "-a arm64 6.12-rt-arm64"),
        ("6.1.0-9-amd64", "", "apt-get install linux-{}-6.1.0-9-amd64"),
        ("6.1.0-9-arm64", "", FETCH + "-a arm64 6.1.0-9-arm64"),
        ("7.3.4+deb13-amd64", "", FETCH + f"-s {TRIXIE} 7.3.4+deb13-amd64"),
        # Of this machine's own suite, and apt has it no more.
        (
            "6.1.0-8-amd64",
            "",
            f"apt has no linux-{{}}-6.1.0-8-amd64; {FETCH}6.1-amd64 gets the newest of its line",
        ),
        ("5.4", "", suites.TRIED),
        ("6.18-own", "", f"apt has no linux-{{}}-6.18-own; {suites.TRIED}"),
    ],
)
def test_the_way_to_a_kernel_that_is_not_here(name: str, architecture: str, hint: str) -> None:
    """What ``-r`` and ``--vm`` say of it, and ``stapy doctor -r``, which asks as ``-r`` does."""
    diagnostics = Diagnostics(SourceMap())
    with pytest.raises(Stop):
        target.find_kernel(name, diagnostics, None, architecture)
    assert diagnostics.errors[0].hint == hint.format("headers")
    with pytest.raises(VmError) as error:
        kernels.find(name, None, architecture)
    assert error.value.hint == hint.format("image")


def test_elsewhere_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suites, "distribution", lambda: "fedora")
    assert suites.way_to_fetch("6.1") == ""


HAVE = ("6.1.0-9-amd64", "6.1.0-12-rt-amd64", "6.1.0-12-cloud-arm64", "6.12.1+deb12-cloud-amd64")


@pytest.mark.parametrize(
    ("name", "release"),
    [
        ("6.1", "6.1.0-12-rt-amd64"),
        ("6.1-rt", "6.1.0-12-rt-amd64"),
        ("6.1-amd64", "6.1.0-9-amd64"),
        ("6-cloud", "6.12.1+deb12-cloud-amd64"),
        ("6.1-cloud-arm64", "6.1.0-12-cloud-arm64"),
        ("6.1-cloud", ""),
    ],
)
def test_lines_with_flavours_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, release: str
) -> None:
    """By the rule of ``stapy kernel fetch``, which has unpacked them."""
    names = os.uname_result(("Linux", "host", "6.9.0-host", "#1", "x86_64"))
    monkeypatch.setattr(os, "uname", lambda: names)
    for one in HAVE:
        (tmp_path / "boot").mkdir(exist_ok=True)
        (tmp_path / f"boot/vmlinuz-{one}").touch()
        build = tmp_path / f"lib/modules/{one}/build"
        build.mkdir(parents=True)
        (build / "Makefile").touch()
        (build.parent / "modules.dep").touch()
    diagnostics = Diagnostics(SourceMap())
    if not release:
        with pytest.raises(Stop):
            target.find_kernel(name, diagnostics, str(tmp_path))
        with pytest.raises(VmError):
            kernels.find(name, str(tmp_path))
        return
    assert target.find_kernel(name, diagnostics, str(tmp_path)).release == release
    assert kernels.find(name, str(tmp_path)).release == release
