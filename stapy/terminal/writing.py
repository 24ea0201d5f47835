"""Text on standard output: a reader who left is no error, a full disk is one."""

from __future__ import annotations

import os
import sys


class Unwritable(Exception):
    """Standard output takes no more; the text is the message."""


def write(text: str) -> None:
    """Write and flush; quiet once the reader has gone."""
    if sys.stdout is None:
        raise Unwritable(f"cannot write: {os.strerror(9)}")
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        forget(1)
    except OSError as error:
        forget(1)
        raise Unwritable(f"cannot write: {error.strerror}") from None


def forget(stream: int) -> None:
    """Let what is still written to a standard stream go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream)
    os.close(nowhere)
