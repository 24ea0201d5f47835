"""The standard streams, which the caller may have closed."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Sequence


def hold(fds: "Sequence[int]" = (0, 1, 2)) -> None:
    """Open what the caller has closed, or a pipe of ours would get its number and its text."""
    for fd in fds:
        try:
            os.fstat(fd)
        except OSError:
            os.open("/dev/null", os.O_RDWR)
