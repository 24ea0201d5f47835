"""What ``-v`` prints after each pass: processor time, wall time, memory."""

from __future__ import annotations

import os
import time
from pathlib import Path


class PassTimer:
    """Measures one pass, children (compiler, linker) included."""

    def __init__(self) -> None:
        self._times = os.times()
        self._wall = time.monotonic()

    def spent(self) -> str:
        """Format the times since the start as SystemTap does: ``150usr/30sys/200real ms``."""
        now = os.times()
        user = now.user + now.children_user - self._times.user - self._times.children_user
        system = now.system + now.children_system - self._times.system - self._times.children_system
        real = time.monotonic() - self._wall
        return f"{user * 1000:.0f}usr/{system * 1000:.0f}sys/{real * 1000:.0f}real ms"


def memory() -> str:
    """Read this process's ``118268virt/95000res/8000shr/87000data kb`` (proc(5), statm)."""
    try:
        pages = [int(word) for word in Path("/proc/self/statm").read_text("ascii").split()]
    except OSError:
        return "unknown memory"
    kb = os.sysconf("SC_PAGE_SIZE") // 1024
    return f"{pages[0] * kb}virt/{pages[1] * kb}res/{pages[2] * kb}shr/{pages[5] * kb}data kb"
