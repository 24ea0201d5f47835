"""What a kernel that watches tells of a module that does wrong: else its silence means nothing.

Only such a kernel can do that: see "A kernel that watches" in CONTRIBUTING.md.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from stapy.vm.machine import COMPLAINED, Machine, consumer_command
from tests.vm.needs import need
from tests.vm.safety.support import make

pytestmark = [pytest.mark.build, pytest.mark.vm]

# Lockdep first: it looks no further when anything has been told.
WRONG = """
%{
#include <linux/mutex.h>
#include <linux/slab.h>
static DEFINE_SPINLOCK(first);
static DEFINE_SPINLOCK(second);
static DEFINE_MUTEX(sleeping);
%}
function beyond() %{
    volatile char *bytes = kmalloc(13, GFP_ATOMIC);
    if (bytes) { bytes[13] = 1; kfree((void *)bytes); }
%}
function sleep_in_handler() %{ mutex_lock(&sleeping); mutex_unlock(&sleeping); %}
function one_way() %{ spin_lock(&first); spin_lock(&second); spin_unlock(&second); spin_unlock(&first); %}
function other_way() %{ spin_lock(&second); spin_lock(&first); spin_unlock(&first); spin_unlock(&second); %}
probe timer.ms(10) { one_way() other_way() sleep_in_handler() beyond() exit() }
"""  # noqa: E501


@pytest.fixture
def watched(release: str) -> Iterator[Machine]:
    """Boot a machine of the test's own: what has been told is not told again."""
    need(release, "CONFIG_KASAN", "CONFIG_PROVE_LOCKING", "CONFIG_DEBUG_ATOMIC_SLEEP")
    more = os.environ.get("STAPY_TEST_COMMAND_LINE", "")
    with Machine(release, command_line=more) as machine:
        yield machine


def test_what_is_wrong_is_told(watched: Machine, release: str, tmp_path: Path) -> None:
    module = make(release, tmp_path, wrong=("-g", "-e", WRONG))["wrong"]
    result = watched.run([*consumer_command(), watched.push(module)], timeout=600)
    assert result.kind == COMPLAINED, (result.kind, result.stderr)
    kinds = {kind for kind, _ in result.complaints}
    assert {"KASAN", "lockdep", "BUG"} <= kinds, result.complaints
    for told in ("slab-out-of-bounds", "sleeping function called from invalid context",
                 "possible circular locking dependency"):  # fmt: skip
        assert told in result.dmesg, result.complaints
