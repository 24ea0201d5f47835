"""Text on the standard streams: a reader who left is no error of ours, a full disk is one."""

from __future__ import annotations

import os
import sys


class Unwritable(Exception):
    """Standard output takes no more; the text is the message."""


class Unheard(Exception):
    """Standard error takes no more: nobody is left to tell."""


def write(text: str) -> None:
    """Write and flush; quiet once the reader has gone."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        forget(1)
    except OSError as error:
        forget(1)
        raise Unwritable(f"cannot write: {error.strerror}") from None


def tell(text: str) -> None:
    """Write to standard error and flush; raises `Unheard` when that is not to be had."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        forget(2)
        raise Unheard from None


def forget(stream: int) -> None:
    """Let what is still written to a standard stream go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream)
    os.close(nowhere)
