"""The signals that ask us to end, as an exception: what was made is removed on the way out.

Pass 5 and what serves a prompt have handlers of their own for their time.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    import signal
    from types import FrameType
else:
    # `signal` makes enumerations of it, which would cost each start of the program 2 ms.
    import _signal as signal

# A terminal that closes says so more than once; who asks again later insists.
_PATIENCE = 5.0


class Ended(KeyboardInterrupt):
    """A signal came that asks us to end; what obeys Ctrl-C obeys it as well."""


class EndingSignals:
    """Signals that ask for an end raise `Ended` within it, but for those ignored or handled before.

    They are SIGTERM, SIGHUP, and SIGXCPU: the limit of processor time is reached.
    """

    def __init__(self) -> None:
        self._number = 0  # of the signal that came first
        self._raised = False
        self._since = 0.0
        self._depth = 0  # of what must not be interrupted
        self._ours: list[int] = []

    def __enter__(self) -> EndingSignals:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGXCPU):
            if signal.getsignal(number) == signal.SIG_DFL:
                try:
                    signal.signal(number, self._hear)
                except ValueError:
                    break  # handlers are the main thread's, and this is another one
                self._ours.append(number)
        _active.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        _active.remove(self)
        for number in self._ours:
            signal.signal(number, signal.SIG_DFL)

    def status(self, status: int) -> int:
        """Return the exit status as shells count it: the signal's, or the one that there is."""
        return 128 + self._number if self._number else status

    @property
    def is_out_of_time(self) -> bool:
        """Tell whether the limit of processor time has ended us."""
        return self._number == signal.SIGXCPU

    def hold(self) -> None:
        """Note what comes from now on, and raise only when somebody insists."""
        self._depth += 1
        self._since = time.monotonic()

    def let_go(self) -> None:
        """Raise what came meanwhile, unless it was raised before."""
        self._depth -= 1
        if self._number and not self._depth:
            self._raise_once()

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self._number = self._number or number
        if self._depth or self._raised:
            if time.monotonic() - self._since > _PATIENCE:
                raise Ended
            return
        self._raise_once()

    def _raise_once(self) -> None:
        if not self._raised:
            self._raised, self._since = True, time.monotonic()
            raise Ended


_active: list[EndingSignals] = []


@contextmanager
def cleaning_up() -> Iterator[None]:
    """Keep signals that ask us to end from interrupting the removal of what was made."""
    held = list(_active)
    for one in held:
        one.hold()
    try:
        yield
    finally:
        for one in held:
            one.let_go()


def raise_ended(number: int, frame: FrameType | None) -> NoReturn:
    """Obey the first of such signals and none behind it: a handler for a child of ours."""
    signal.signal(number, signal.SIG_IGN)
    raise Ended


def heard(numbers: Iterable[int]) -> list[int]:
    """Leave out SIGHUP where it is ignored, as below ``nohup``: it stays so."""
    is_deaf = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    return [number for number in numbers if not (is_deaf and number == signal.SIGHUP)]
