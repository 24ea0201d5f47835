"""Processes of ours that wait for files in the session's place, and can be lost.

A file system of a user's own, or one whose server is gone, need not answer at all: whoever waits
for it cannot even be killed, nor can a process end that has a thread there.  So these processes
have nothing that a session needs, no file of the module above all, and nobody waits for them.
"""

from __future__ import annotations

import _socket
import os

from .signals import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable


class Apart:
    """The session's end of such a process."""

    def __init__(self, serve: "Callable[[_socket.socket], None]", kind: int, name: str) -> None:
        """Start what runs ``serve`` with its end of a pair of sockets of a kind.

        ``name`` is what lists of processes have.  Raises `OSError` when there is no room for it.
        """
        self._socket, theirs = _socket.socketpair(_socket.AF_UNIX, kind)
        try:
            self.pid = os.fork()
        except OSError:
            self._socket.close()
            theirs.close()
            raise
        if self.pid == 0:
            try:
                _let_go(theirs.fileno(), name)
                serve(theirs)
            finally:
                os._exit(1)
        theirs.close()
        self._socket.setblocking(False)
        self.fd = self._socket.fileno()

    def send(self, data: bytes) -> None:
        """Ask something; `OSError` when it is no more, or does not take it."""
        self._socket.send(data)

    def receive(self, most: int) -> bytes:
        """Take what it says; `BlockingIOError` for nothing yet, no bytes when it is no more."""
        return self._socket.recv(most)

    def end(self) -> None:
        """Kill it; it is gone when it is, which nobody waits for."""
        self._socket.close()
        try:
            os.kill(self.pid, signal.SIGKILL)
        except OSError:
            pass

    def is_gone(self) -> bool:
        """Tell whether nothing is left of it."""
        try:
            return os.waitpid(self.pid, os.WNOHANG)[0] == self.pid
        except OSError:
            return True


def _let_go(kept: int, name: str) -> None:
    """Have no file but one, and no part in what the terminal says."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM, signal.SIGUSR2):
        signal.signal(number, signal.SIG_IGN)
    for number in (signal.SIGCHLD, signal.SIGXCPU, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    null = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    for word in os.listdir("/proc/self/fd"):
        if int(word) > 2 and int(word) != kept:
            try:
                os.close(int(word))
            except OSError:
                pass
    try:
        with open("/proc/self/comm", "w") as file:
            file.write(name)
    except OSError:
        pass
