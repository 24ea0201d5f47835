"""What an editor says, on standard input, until a signal ends it."""

from __future__ import annotations

import io
import os
import select
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_STDIN = 0
PATIENCE = 2.0  # seconds for what still runs when a signal asks us to end


class Listening(io.RawIOBase):
    """Standard input that also ends when a signal asks us to end; ``number`` is that signal's.

    pygls reads it in a thread, which only an editor that closes its end would wake, and the end
    of a program waits for its threads: those of slow checks are not waited for longer than
    `PATIENCE`, nor when another signal comes.
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
        if self.number:
            self._leave()
        self.number = number
        os.write(self._wake, b".")

    def _leave_late(self) -> None:
        select.select([self._awake], [], [])
        time.sleep(PATIENCE)
        self._leave()

    def _leave(self) -> NoReturn:
        os._exit(128 + self.number)

    @contextmanager
    def until_signalled(self) -> Iterator[None]:
        """Have SIGTERM, SIGHUP and SIGINT end what is read, each unless it is ignored.

        Once one came they are heard until the program ends, which is soon.
        """
        # Not begun by the signal, which may interrupt the start of another thread.
        threading.Thread(target=self._leave_late, daemon=True).start()
        before = {}
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            if signal.getsignal(number) != signal.SIG_IGN:
                before[number] = signal.signal(number, self._hear)
        try:
            yield
        finally:
            if not self.number:
                for number, handler in before.items():
                    signal.signal(number, handler)
