"""Work in a process of its own, which signals end and a prompt outlives."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from stapy.ending import heard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

_PDEATHSIG = 1  # of prctl(2)
_ENDING = (signal.SIGTERM, signal.SIGHUP)
_KEYS = (signal.SIGINT, signal.SIGQUIT)  # the terminal sends them to all processes before it


def forked(work: Callable[[], int], *, has_input: bool) -> int:
    """Do work in a fork and return its exit status, 128 and more when a signal ended it.

    Keys of the terminal end the work, not us; what ends us ends the work before.  A fork whose
    parent was killed ends as by SIGTERM, so that no module is left.  Without ``has_input`` it
    reads nothing, for standard input has the next commands.
    """
    parent = os.getpid()
    sys.stdout.flush()
    sys.stderr.flush()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (*_ENDING, *_KEYS))
    try:
        pid = os.fork()
        if pid == 0:
            _end_with(parent, before, work, has_input)
        with handed_on(pid, before):
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return status if status >= 0 else 128 - status


@contextmanager
def handed_on(pid: int, mask: set[int]) -> Iterator[None]:
    """Hand what would end us to a process and end behind it; ``mask`` is blocked then and later."""
    asked: list[int] = []

    def hand_on(number: int, frame: FrameType | None) -> None:
        asked.append(number)
        with suppress(ProcessLookupError):  # it has just ended, and was waited for
            os.kill(pid, number)

    def leave_it(number: int, frame: FrameType | None) -> None:
        """Leave a key to the process; a handler, for what is ignored stays so behind exec."""

    old = {number: signal.signal(number, hand_on) for number in heard(_ENDING)}
    old.update({number: signal.signal(number, leave_it) for number in _KEYS})
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_BLOCK, (*_ENDING, *_KEYS))
        for number, handler in old.items():
            signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    if asked:
        raise SystemExit(128 + asked[0])


def _end_with(parent: int, mask: set[int], work: Callable[[], int], has_input: bool) -> None:
    """Be the fork: do the work and end, whatever happens."""
    status = 1
    try:
        import ctypes

        ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGTERM)
        for number in heard(_ENDING):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGQUIT, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if os.getppid() != parent:
            os._exit(status)
        if not has_input:
            nothing = os.open(os.devnull, os.O_RDONLY)
            os.dup2(nothing, 0)
            os.close(nothing)
            # What was read ahead of the next commands is in the buffer of the old one.
            sys.stdin = os.fdopen(0, closefd=False)
        status = work()
        sys.stdout.flush()
        sys.stderr.flush()
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else 1
    except BaseException:
        status = 1  # the work says what went wrong
    finally:
        os._exit(status)
