"""What an editor says, on standard input, until a signal ends it."""

from __future__ import annotations

import io
import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_STDIN = 0


class Listening(io.RawIOBase):
    """Standard input that also ends when a signal asks us to end; ``number`` is that signal's.

    pygls reads it in a thread, which only an editor that closes its end would wake, and the end
    of a program waits for its threads.
    """

    def __init__(self) -> None:
        super().__init__()
        self.number = 0
        self._awake, self._wake = os.pipe()

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Read what there is, waiting for it; 0 bytes are the end."""
        ready, _, _ = select.select([_STDIN, self._awake], [], [])
        if self._awake in ready:
            return 0
        view = memoryview(buffer).cast("B")
        data = os.read(_STDIN, len(view))
        view[: len(data)] = data
        return len(data)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if not self.number:
            self.number = number
            os.write(self._wake, b".")

    @contextmanager
    def until_signalled(self) -> Iterator[None]:
        """Have SIGTERM, SIGHUP and SIGINT end what is read, each unless it is ignored."""
        before = {}
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            if signal.getsignal(number) != signal.SIG_IGN:
                before[number] = signal.signal(number, self._hear)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
