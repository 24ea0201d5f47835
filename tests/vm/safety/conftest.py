"""Guests with two processors, shared by all tests of a kernel."""

from __future__ import annotations

import pytest

from stapy.vm.machine import Machine
from tests.vm.harness import Guests


@pytest.fixture
def pair(guests: Guests, release: str) -> Machine:
    """Return a machine with two processors."""
    return guests.get(release, 2)
