"""What apt offers, by its lists."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from stapy.kernel import offers

LIST = "Package: bash\nDepends: nosuch\n\nPackage: linux-headers-6.1.0-9-amd64\nPackage-Type: deb\n"


@pytest.fixture
def lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Make a folder of lists with a helper that writes files out and counts how often."""
    helper = tmp_path / "helper"
    helper.write_text(f'#!/bin/sh\necho x >>{tmp_path}/asked\nshift\ncat "$@"\n')
    helper.chmod(0o755)
    monkeypatch.setattr(offers, "_HELPER", str(helper))
    monkeypatch.setattr(offers, "_LISTS", tmp_path)
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
    assert not offers.is_offered("bash")
