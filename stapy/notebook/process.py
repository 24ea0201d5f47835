"""A session beside the notebook: what it writes comes as it is written, Ctrl-C ends it."""

from __future__ import annotations

import codecs
import os
import selectors
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import stapy

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

# What an interrupt sends, the first one and those of who cannot wait.
_INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
_TICK = 0.25  # seconds between two looks at what is shown


def session_words(words: list[str]) -> list[str]:
    """Write the command of a session that has these words."""
    return [sys.executable, "-m", "stapy.notebook.child", str(os.getpid()), *words]


class Interrupts:
    """Hands interrupts on to the session, within it, so that none breaks off what is shown of it.

    The first one is no end: what comes behind it, and what was about to be shown, belongs to the
    cell.  Who interrupts more often than a session can be ended gets Python's own
    KeyboardInterrupt.  In other threads than the main one there are no interrupts.
    """

    def __init__(self) -> None:
        self._count = 0
        self._child: subprocess.Popen[bytes] | None = None
        self._before: Any = None

    def __enter__(self) -> Interrupts:
        with suppress(ValueError):  # this is no main thread
            self._before = signal.signal(signal.SIGINT, self._hear)
        return self

    def __exit__(self, *error: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def watch(self, child: subprocess.Popen[bytes]) -> None:
        """Send interrupts to a session, those that came while it was started as well."""
        self._child = child
        for number in _INTERRUPTS[: self._count]:
            signal_group(child, number)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self._count += 1
        if self._count > len(_INTERRUPTS):
            raise KeyboardInterrupt
        if self._child:
            signal_group(self._child, _INTERRUPTS[self._count - 1])


def run(
    command: list[str],
    script: bytes,
    out: Callable[[str], None],
    err: Callable[[str], None],
    tick: Callable[[], None],
    interrupts: Interrupts,
) -> int:
    """Run a command and hand on its streams until both end; return its status as shells do.

    Its standard input is the script, however long that is.  ``tick`` is called a few times in a
    second.  The command begins with SIGINT blocked, and lets it in when it can obey.  OSError
    when it cannot be started.
    """
    root = str(Path(stapy.__file__).parents[1])
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH", "")]))
    with tempfile.TemporaryFile() as given:
        given.write(script)
        given.seek(0)
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
        try:
            child = subprocess.Popen(
                command,
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1"},
                start_new_session=True,  # an interrupt is ours to hand on, once
            )
            interrupts.watch(child)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    with child, _Streams(child, out, err) as streams:
        try:
            while streams.step():
                tick()
        except BaseException:  # what shows it has failed: nothing goes on unseen
            signal_group(child, signal.SIGTERM)
            raise
        status = child.wait()
    return status if status >= 0 else 128 - status


def signal_group(child: subprocess.Popen[bytes], number: int) -> None:
    """Send a signal to a session, SIGKILL to all that it has started as well."""
    if number == signal.SIGKILL:
        with suppress(ProcessLookupError):  # all have ended
            os.killpg(child.pid, number)
    else:
        child.send_signal(number)


class _Streams:
    """Standard output and error of a process, as text."""

    def __init__(
        self,
        child: subprocess.Popen[bytes],
        out: Callable[[str], None],
        err: Callable[[str], None],
    ) -> None:
        self._selector = selectors.DefaultSelector()
        make = codecs.getincrementaldecoder("utf-8")
        for pipe, sink in ((child.stdout, out), (child.stderr, err)):
            assert pipe
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, selectors.EVENT_READ, (make("replace"), sink))

    def __enter__(self) -> _Streams:
        return self

    def __exit__(self, *error: object) -> None:
        self._selector.close()

    def step(self) -> bool:
        """Hand on what has come within a tick; False when both streams have ended."""
        for key, _ in self._selector.select(_TICK):
            data = os.read(key.fd, 1 << 16)
            decoder, sink = key.data
            if not data:
                self._selector.unregister(key.fileobj)
            text = decoder.decode(data, final=not data)
            if text:
                sink(text)
        return bool(self._selector.get_map())
