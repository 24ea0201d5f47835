"""Signals as bytes on a descriptor that the session's loop polls."""

from __future__ import annotations

import _thread
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as signal
    from typing import Any, Dict, List
else:
    # `signal` makes enumerations of it, with which a third of the consumer's start was spent.
    import _signal as signal


def hear_of_children() -> None:
    """Undo that the caller ignores SIGCHLD, as some services do, which exec leaves to us.

    The kernel would keep no status of what we start: a compiler that fails would count as one that
    has done its work, and what waits for a process would find none.
    """
    if signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)


class Signals:
    """Signals become bytes on a descriptor that the loop polls."""

    # The last: the limit of processor time is reached.
    HANDLED = (
        signal.SIGINT,
        signal.SIGTERM,
        signal.SIGHUP,
        signal.SIGQUIT,
        signal.SIGUSR2,
        signal.SIGXCPU,
    )

    def __init__(self) -> None:
        self.insisted = False
        self.heard = False  # one that was taken
        self._came: List[int] = []
        self.wake, self._wake_in = os.pipe()
        os.set_blocking(self.wake, False)
        os.set_blocking(self._wake_in, False)
        self._open = True
        self._lock = _thread.allocate_lock()
        self._old_fd = -1
        self._old: Dict[int, Any] = {}

    def __enter__(self) -> Signals:
        self._old_fd = signal.set_wakeup_fd(self._wake_in, warn_on_full_buffer=False)
        for number in self.HANDLED:
            if number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN:
                continue  # below nohup
            # Handlers run in the main thread alone, which may wait for the module: drain() tells.
            self._old[number] = signal.signal(number, lambda came, frame: None)
        self._old[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda came, frame: None)
        self._old[signal.SIGPIPE] = signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        return self

    def __exit__(self, *error: object) -> None:
        signal.set_wakeup_fd(self._old_fd)
        for number, handler in self._old.items():
            signal.signal(number, handler)
        with self._lock:
            self._open = False
            os.close(self.wake)
            os.close(self._wake_in)

    def nudge(self) -> None:
        """Wake the loop from a thread."""
        with self._lock:  # or the descriptor could be closed, and be another one already
            if self._open:
                try:
                    os.write(self._wake_in, b"\0")
                except BlockingIOError:
                    pass  # there is enough to wake it

    def leave_to_others(self, is_left: bool) -> None:
        """Let the other threads hear signals, since this one stays in the kernel for a while."""
        how = signal.SIG_BLOCK if is_left else signal.SIG_UNBLOCK
        signal.pthread_sigmask(how, (*self.HANDLED, signal.SIGTSTP, signal.SIGCONT))

    def drain(self) -> None:
        """Empty the descriptor; each byte is the number of a signal, 0 for a nudge."""
        try:
            while numbers := os.read(self.wake, 512):
                self._came += [number for number in numbers if number in self.HANDLED]
        except BlockingIOError:
            pass

    def asks_to_end(self) -> bool:
        """Tell, while nothing but the end is waited for, whether a user cannot wait any longer."""
        self.drain()
        return not {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT}.isdisjoint(
            self.take()
        )

    def take(self) -> List[int]:
        """Return the signals since the last call, and forget them."""
        came, self._came = self._came, []
        self.heard |= bool(came)
        return came
