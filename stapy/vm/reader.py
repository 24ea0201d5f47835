"""Who reads what the guest writes: one of our own descriptors, as long as somebody does."""

from __future__ import annotations

import os
import select

from stapy.run.output import has_left
from stapy.terminal import progress


class OutputReader:
    """A sink that writes to a descriptor, until that fails.

    ``error`` says why it failed, "" where the reader has simply left.
    """

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.is_gone = False
        self.error = ""

    def __call__(self, data: bytes) -> None:
        """Write all of a block; what comes for a reader that is gone is dropped."""
        progress.clear()
        while data and not self.is_gone:
            try:
                data = data[os.write(self.fd, data) :]
            except BlockingIOError:
                select.select([], [self.fd], [])
            except OSError as error:
                self.is_gone = True
                self.error = "" if has_left(error, self.fd) else str(error.strerror)
