"""Guests that hang: only embedded C can do it, and the host must not wait for ever."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from stapy.vm import machine as machines
from stapy.vm.machine import PANIC, TIMEOUT, Machine, VmResult, consumer_command
from tests.vm.harness import build

pytestmark = [pytest.mark.build, pytest.mark.vm]

SCRIPT = """
%{
#include <linux/printk.h>
%}
function hang(deaf) %{
	if (STAP_ARG_deaf) { pr_emerg("deaf from now on\\n"); local_irq_disable(); }
	for (;;) cpu_relax();
%}
probe begin { println("in"); hang($1) }
"""


@pytest.fixture
def lonely(release: str) -> Iterator[Machine]:
    """Boot a machine of the test's own that notices soon that it hangs."""
    with Machine(release, command_line="watchdog_thresh=4") as machine:
        yield machine


def play(machine: Machine, folder: Path, deaf: int, **options: bool) -> VmResult:
    made = build(machine.release, ["-g", "-e", SCRIPT, str(deaf)], folder)
    assert made.module, made.stderr
    return machine.run([*consumer_command(), machine.push(made.module)], timeout=300, **options)


def test_a_kernel_that_stalls_ends_as_a_crash(lonely: Machine, tmp_path: Path) -> None:
    result = play(lonely, tmp_path, 0)
    assert result.kind == PANIC
    assert result.seconds < 250
    assert {"lockup", "RCU stall"} & {kind for kind, _ in result.complaints}, result.dmesg


def test_a_signal_ends_a_machine_that_does_not_hear_it(
    lonely: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machines, "DEAF_SECONDS", 5.0)
    processes, over = lonely.boot(), threading.Event()

    def interrupt() -> None:
        while not over.wait(0.2):
            if "deaf from now on" in processes.console_text():
                os.kill(os.getpid(), signal.SIGTERM)
                return

    later = threading.Thread(target=interrupt)
    later.start()
    try:
        result = play(lonely, tmp_path, 1, forward_signals=True)
    finally:
        over.set()
        later.join()
    assert result.kind == TIMEOUT
    assert 3 < result.seconds < 250
