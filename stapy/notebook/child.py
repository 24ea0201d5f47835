"""The session of a cell: the ordinary command, which ends with the kernel that started it."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

from stapy.cli import main

_PDEATHSIG = 1  # of prctl(2)


def start(words: list[str]) -> int:
    """Obey a command line; the first word is the process that waits for it."""
    ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != int(words[0]):
        return 1
    try:
        # Blocked until now (`stapy.notebook.process`): imports would end in a traceback.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT,))
        return main(words[1:])
    except KeyboardInterrupt:
        return 1


if __name__ == "__main__":
    sys.exit(start(sys.argv[1:]))
