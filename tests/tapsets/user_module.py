"""What `user_module.stp` traces: the build-id of the C library, found in its notes in memory."""

from __future__ import annotations

import ctypes
import struct
import time
from pathlib import Path

LIBC = ctypes.CDLL(None)
NOTE = struct.pack("<III4s", 4, 20, 3, b"GNU\0")


def build_id() -> str:
    """Find, in hex, the build-id of the library whose code makes the system calls here."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        words = line.split()
        if "/libc.so" in line and int(words[2], 16) == 0:
            start, end = (int(word, 16) for word in words[0].split("-"))
            text = ctypes.string_at(start, end - start)
            at = text.index(NOTE) + len(NOTE)
            return text[at : at + 20].hex()
    raise AssertionError("no C library")


data = build_id().encode()
LIBC.write(-1, data, len(data))
until = time.monotonic() + 2
while time.monotonic() < until:
    pass
