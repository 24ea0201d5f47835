"""Guests for tests: one boot per kernel, all cases of a kernel in a row."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from stapy.vm import kernels, qemu, tree
from stapy.vm.errors import VmError
from stapy.vm.machine import Machine
from tests import debugpackage
from tests.vm.harness import Builds, Guests, releases
from tests.vm.user_tables import keep_common_tables


def missing() -> str:
    """Tell why there can be no machine here, "" when there can."""
    try:
        qemu.qemu_program()
        qemu.virtiofsd_program()
        tree.busybox()
    except VmError as error:
        return f"{error} ({error.hint})"
    return "" if releases() else "no kernel in /boot has headers"


@pytest.fixture(scope="session")
def guests() -> Iterator[Guests]:
    """Hold the pool of machines."""
    reason = missing()
    if reason:
        pytest.skip(reason)
    keep_common_tables()
    pool = Guests()
    yield pool
    pool.close()


@pytest.fixture(scope="session")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Builds]:
    """Hold the maker of modules."""
    maker = Builds(tmp_path_factory.mktemp("modules"))
    yield maker
    maker.close()


@pytest.fixture(scope="session", params=releases() or ["none"])
def release(request: pytest.FixtureRequest) -> str:
    """Return each kernel line that is installed, in its newest release."""
    return str(request.param)


@pytest.fixture
def guest(guests: Guests, release: str) -> Machine:
    """Return a machine with one processor, shared by all tests of its kernel."""
    return guests.get(release)


@pytest.fixture
def package(release: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the debug package of the kernel in the place of an installed one.

    It is fetched for the kernels of this machine's lines only.
    """
    root = debugpackage.at_hand(release)
    if root is None and release not in kernels.lines():
        pytest.skip(f"the debug package of {release} is not at hand")
    try:
        root = root or debugpackage.debug_root(release)
    except debugpackage.NoPackage as error:
        pytest.skip(str(error))
    monkeypatch.setenv("SYSTEMTAP_DEBUGINFO_PATH", str(root))
