"""The standard streams, which the caller may have closed."""

from __future__ import annotations

import os
import sys

from .errors import RunError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List, Sequence


def hold(fds: "Sequence[int]" = (0, 1, 2)) -> None:
    """Open what the caller has closed, or a pipe of ours would get its number and its text."""
    for fd in fds:
        try:
            os.fstat(fd)
        except OSError:
            os.open("/dev/null", os.O_RDWR)


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
