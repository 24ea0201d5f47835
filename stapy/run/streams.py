"""The standard streams, which the caller may have closed."""

from __future__ import annotations

import io
import os
import sys

from .errors import RunError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List, TextIO


_CLOSED = (os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)


def hold() -> None:
    """Open what the caller has closed, or a file of ours would get its number and its text.

    Messages go nowhere then; standard output refuses what is written to it, as a closed one does,
    so that lost output is told.
    """
    for fd, mode in enumerate(_CLOSED):
        try:
            os.fstat(fd)
        except OSError:
            os.open("/dev/null", mode)  # the lowest number is free
            os.set_inheritable(fd, True)  # or it would be closed for our children
    if sys.stdin is None:
        sys.stdin = os.fdopen(0, closefd=False)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", errors="backslashreplace", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", 1, errors="backslashreplace", closefd=False)
    sys.stdout, sys.stderr = _buffered(sys.stdout), _buffered(sys.stderr)


def _buffered(stream: "TextIO") -> "TextIO":
    """Return a stream that writes all of a text or fails.

    Python's own writes what the file takes at once and drops the rest, in silence, where
    PYTHONUNBUFFERED or -u is given (as in many containers): a full disk would be a success.
    """
    if not isinstance(getattr(stream, "buffer", None), io.RawIOBase):
        return stream
    raw = io.FileIO(stream.fileno(), "w", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(raw), stream.encoding, stream.errors, line_buffering=True
    )


def show(lines: "List[str]") -> int:
    """Print lines to standard output; return the exit status. A reader who left is no error.

    What the user's encoding lacks is told by its number.
    """
    text = "\n".join(lines) + "\n"
    if sys.stdout.errors == "strict":
        encoding = sys.stdout.encoding
        text = text.encode(encoding, "backslashreplace").decode(encoding)
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open("/dev/null", os.O_WRONLY), 1)
        if not isinstance(error, BrokenPipeError):
            raise RunError(f"cannot write: {error.strerror}") from None
    return 0
