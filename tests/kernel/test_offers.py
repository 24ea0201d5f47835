"""What apt offers, by its lists."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from stapy.kernel import offers, release

LIST = "Package: bash\nDepends: nosuch\n\nPackage: linux-headers-6.1.0-9-amd64\nPackage-Type: deb\n"


@pytest.fixture
def lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Make a folder of lists with a helper that writes files out, as apt's does when told so.

    How often is counted; another word than apt's own is refused.
    """
    helper = tmp_path / "helper"
    helper.write_text(
        f'#!/bin/sh\n[ "$1" = cat-file ] || exit 100\necho x >>{tmp_path}/asked\nshift\ncat "$@"\n'
    )
    helper.chmod(0o755)
    monkeypatch.setattr(offers, "_HELPER", str(helper))
    monkeypatch.setattr(offers, "_LISTS", tmp_path)
    monkeypatch.setattr(release, "distribution", lambda: "debian")
    offers.offered.cache_clear()
    yield tmp_path
    offers.offered.cache_clear()


def test_names_are_read_once_of_all_lists(lists: Path) -> None:
    (lists / "a_Packages").write_text(LIST)
    (lists / "b_Packages.lz4").write_text("Package: gdb\n")
    asked = {name: offers.is_offered(name) for name in ("bash", "gdb", "nosuch", "bas")}
    assert asked == {"bash": True, "gdb": True, "nosuch": False, "bas": False}
    assert (lists / "asked").read_text() == "x\n"


def test_without_lists_nothing_is_known(lists: Path) -> None:
    assert offers.offered() is None
    assert not offers.is_offered("bash") and not offers.lacks("bash")
    assert offers.way_to("headers", "6.18-own") == "apt-get install linux-headers-6.18-own"


@pytest.mark.parametrize(
    ("of", "command", "way"),
    [
        ("6.1.0-9-amd64", "apt-get install linux-headers-{}", "apt-get install linux-headers-{}"),
        ("6.18-own", "apt-get install linux-headers-{}", "apt has no linux-headers-{}"),
        ("6.18-own", "dnf install kernel-devel-{}", "dnf install kernel-devel-{}"),
        ("6.18-own", "", ""),
    ],
)
def test_kernels_of_nobody_have_no_package(
    of: str, command: str, way: str, lists: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (lists / "a_Packages").write_text(LIST)
    monkeypatch.setattr(offers, "install_command", lambda what, name: command.format(name))
    assert offers.way_to("headers", of) == way.format(of)
    assert offers.lacks("linux-headers-6.18-own") and not offers.lacks("bash")
