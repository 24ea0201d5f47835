"""The rate of the clock that an emulated processor has.

QEMU hands the host's time stamp counter on.  A guest's kernel finds out how
fast that runs by comparing it with other clocks, which on a busy host stand
still now and then: a guest whose time ran eight times too fast was seen.  So
the rate is measured here and told to the kernel.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import platform
import time
from collections.abc import Callable

# rdtsc; shl $32, %rdx; or %rdx, %rax; ret
_READ_COUNTER = b"\x0f\x31\x48\xc1\xe2\x20\x48\x09\xd0\xc3"
_SECONDS = 0.02
_TRIES = 20


@functools.cache
def parameter() -> str:
    """Write the kernel's parameter for the counter's rate; "" where it cannot be measured."""
    khz = counter_khz()
    return f"tsc_early_khz={khz}" if khz else ""


def counter_khz() -> int:
    """Measure the rate of the host's time stamp counter in kHz; 0 where that cannot be done."""
    if platform.machine() != "x86_64":
        return 0
    try:
        memory = mmap.mmap(
            -1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
        )
    except OSError:  # the system forbids code that a program writes itself
        return 0
    memory.write(_READ_COUNTER)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    read = ctypes.CFUNCTYPE(ctypes.c_uint64)(address)
    counter, started = _both(read)
    time.sleep(_SECONDS)
    later, ended = _both(read)
    return (later - counter) * 1_000_000 // (ended - started)


def _both(read: Callable[[], int]) -> tuple[int, int]:
    """Read the counter and the time in ns at that moment: of some tries the least disturbed."""
    best = (1 << 62, 0, 0)
    for _ in range(_TRIES):
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        counter = read()
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        best = min(best, (after - before, counter, (before + after) // 2))
    return best[1], best[2]
