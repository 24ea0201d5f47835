"""Unpackers that Python lacks: programs that inflate their standard input, read piece by piece."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from stapy.debuginfo.errors import DebuginfoError

CHUNK = 1 << 20
MAX_FILE = 512 << 20  # no module and no kernel image inflates beyond this
MAX_MEMORY = 256 << 20  # what a packed file may ask an unpacker to take


def free_memory() -> int:
    """Return the bytes that the machine has to spare, swap included; very many if nothing tells."""
    found = 0
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith(("MemAvailable:", "SwapFree:")):
                found += int(line.split()[1]) << 10
    return found or 1 << 62


def through(command: list[str], data: bytes) -> Iterator[bytes]:
    """Yield what a program (with its path) makes of some data; who stops asking ends it."""
    import subprocess
    import threading

    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
    )
    assert process.stdin is not None and process.stdout is not None
    with contextlib.suppress(OSError, AttributeError):  # fewer switches between the two
        fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, CHUNK)
        fcntl.fcntl(process.stdin, fcntl.F_SETPIPE_SZ, CHUNK)
    feeder = threading.Thread(target=_feed, args=(process.stdin, data), daemon=True)
    feeder.start()
    try:
        # What follows the packed data makes programs complain after they wrote everything.
        while piece := process.stdout.read(CHUNK):
            yield piece
    finally:
        process.kill()
        process.stdout.close()
        process.wait()
        feeder.join()


def _feed(pipe: IO[bytes], data: bytes) -> None:
    rest = memoryview(data)
    with contextlib.suppress(OSError):
        while rest:
            rest = rest[pipe.write(rest) :]
    with contextlib.suppress(OSError):
        pipe.close()


def joined(pieces: Iterable[bytes], name: str, limit: int = MAX_FILE) -> bytes:
    """Join all pieces; raises `DebuginfoError` when they are more than ``limit`` bytes."""
    found: list[bytes] = []
    total = 0
    for piece in pieces:
        total += len(piece)
        if total > limit:
            raise DebuginfoError(f"{name}: inflates to more than {limit} bytes")
        found.append(piece)
    return b"".join(found)
