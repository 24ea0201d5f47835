"""Whose container one is: labels that tell those of our own commands from everybody else's."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from pathlib import Path

from stapy.cache import key_of

# The process that has made a container, as "NUMBER START", and what its number means.
PROCESS, OWNER = "stapy.process", "stapy.owner"


def labels() -> dict[str, str]:
    """Make the labels of a container that this process makes."""
    pid = os.getpid()
    return {PROCESS: f"{pid} {_start(pid)}", OWNER: _owner()}


def is_left(found: dict[str, str]) -> bool:
    """Tell whether a container is ours and its process has ended."""
    number, _, start = found.get(PROCESS, "").partition(" ")
    if found.get(OWNER) != _owner() or not number.isdigit() or not start:
        return False
    return _start(int(number)) != start


@cache
def _owner() -> str:
    """Name this user on this machine since it was booted, where processes have these numbers."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    numbers = Path("/proc/self/ns/pid").readlink()
    users = Path("/proc/self/ns/user").readlink()
    return key_of(boot, numbers, users, os.getuid())[:32]


def _start(pid: int) -> str:
    """Read when a process began, in ticks since boot, "" for none."""
    with suppress(OSError, IndexError):
        text = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
        return text.rpartition(")")[2].split()[19]
    return ""
