"""One program on many hosts at once: what they print is merged, signals go to all of them."""

from __future__ import annotations

import contextlib
import os
import select
import selectors
import signal
import subprocess
from collections.abc import Callable
from types import FrameType

from stapy.ending import heard
from stapy.record import Record
from stapy.remote.hosts import RemoteHost
from stapy.remote.merge import MARK, LineStream
from stapy.remote.ssh import last_line
from stapy.run.output import Sink

_BLOCK = 1 << 16
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_PATIENCE = 3  # so often a user asks for the end until connections are cut
_LOST = 255  # ssh's own status
_GRACE = 10  # seconds in which what we may not kill ends behind its input


class RunningHost(Record):
    """A host while its program runs."""

    host: RemoteHost
    process: subprocess.Popen[bytes]
    waiting: bytearray  # what is still to be sent
    out: LineStream
    err: LineStream
    tail: bytes = b""  # of standard error: why a connection ended
    streams: int = 2
    is_let_go: bool = False  # it was told to end before it began


class Crowd:
    """The programs of all hosts; ``lost`` is called with a host and why it has failed."""

    def __init__(
        self, sink: Sink, lost: Callable[[RemoteHost, str], None], *, prefixes: bool
    ) -> None:
        self._sink = sink
        self._errors = Sink(2)
        self._lost = lost
        self._prefixes = prefixes
        self._selector = selectors.DefaultSelector()
        self._members: list[RunningHost] = []
        self._asked = 0  # how often the user asked for the end
        self._rotate = False

    def begin(self, host: RemoteHost, words: list[str], parcel: bytes, *, is_alone: bool) -> None:
        """Start a host's program; ``is_alone`` when no other one prints."""
        prefix = f"{host.number}: " if self._prefixes else ""
        # A session of its own: ^C of the terminal is for us, ssh would end before the module.
        process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        member = RunningHost(
            host,
            process,
            bytearray(parcel),
            LineStream(prefix, is_alone, MARK),
            LineStream(prefix, is_alone),
        )
        self._members.append(member)
        assert process.stdin
        assert process.stdout
        assert process.stderr
        for pipe in (process.stdin, process.stdout, process.stderr):
            os.set_blocking(pipe.fileno(), False)
        self._selector.register(process.stdin, selectors.EVENT_WRITE, (member, "in"))
        self._selector.register(process.stdout, selectors.EVENT_READ, (member, "out"))
        self._selector.register(process.stderr, selectors.EVENT_READ, (member, "err"))

    def run(self) -> bool:
        """Carry everything until the last host is done; True when none has failed."""
        failures = 0
        wake, wake_in = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(wake_in, False)
        old_fd = signal.set_wakeup_fd(wake_in, warn_on_full_buffer=False)
        old = {number: signal.signal(number, self._end) for number in heard(_ENDING)}
        old[signal.SIGUSR2] = signal.signal(signal.SIGUSR2, self._next_file)
        self._selector.register(wake, selectors.EVENT_READ, None)
        try:
            while self._members:
                for key, _ in self._selector.select():
                    if key.data is None:
                        with contextlib.suppress(BlockingIOError):
                            os.read(wake, 512)
                        continue
                    member, stream = key.data
                    if stream == "in":
                        self._send(member)
                    elif self._read(member, stream) and member.streams == 0:
                        failures += not self._finish(member)
                if self._rotate:
                    self._rotate = False
                    self._sink.rotate()
        finally:
            for number, handler in old.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(old_fd)
            os.close(wake)
            os.close(wake_in)
            self.close()
        return failures == 0

    def close(self) -> None:
        """Cut the connections that are left: programs there end with them."""
        for member in self._members:
            _leave(member.process)
        for member in self._members:
            with contextlib.suppress(subprocess.TimeoutExpired):
                member.process.wait(_GRACE)
        self._members = []
        self._selector.close()

    def _end(self, number: int, frame: FrameType | None) -> None:
        """Tell all hosts; this is a signal's handler, and the loop may wait for our reader."""
        self._asked += 1
        told = signal.SIGTERM if number == signal.SIGQUIT else number  # nobody stays behind there
        for member in self._members:
            if member.waiting or not member.out.has_begun:
                member.is_let_go = True  # nobody there obeys yet: what was sent is removed
                _let_go(member.process)
            else:
                with contextlib.suppress(OSError, ValueError):
                    assert member.process.stdin
                    os.write(member.process.stdin.fileno(), bytes([told]))
        if self._asked >= _PATIENCE:
            raise KeyboardInterrupt

    def _next_file(self, number: int, frame: FrameType | None) -> None:
        self._rotate = True

    def _send(self, member: RunningHost) -> None:
        pipe = member.process.stdin
        assert pipe
        try:
            sent = os.write(pipe.fileno(), member.waiting[:_BLOCK])
            del member.waiting[:sent]
        except BlockingIOError:
            return
        except OSError:
            member.waiting.clear()  # its end is told where its output ends
        if not member.waiting:
            self._selector.unregister(pipe)  # but it stays open: its end would end the session

    def _read(self, member: RunningHost, stream: str) -> bool:
        """Take a block; True at the end of a stream."""
        pipe = member.process.stdout if stream == "out" else member.process.stderr
        lines = member.out if stream == "out" else member.err
        assert pipe
        try:
            data = os.read(pipe.fileno(), _BLOCK)
        except BlockingIOError:
            return False
        if stream == "err":
            member.tail = (member.tail + data)[-4096:]
        self._write(stream, lines.feed(data) if data else lines.finish())
        if not data:
            self._selector.unregister(pipe)
            pipe.close()
            member.streams -= 1
        return not data

    def _write(self, stream: str, text: bytes) -> None:
        """Write a whole piece; hosts wait meanwhile, as their kernels' buffers fill up."""
        sink = self._sink if stream == "out" else self._errors
        if not text or sink.broken:
            return
        sink.write(memoryview(text))
        while sink.is_busy and not sink.broken:
            poll = select.poll()
            poll.register(sink.fd, select.POLLOUT)
            poll.poll()
            sink.flush()
        if sink.broken and stream == "out":
            self._end(signal.SIGTERM, None)  # nobody reads the output any more

    def _finish(self, member: RunningHost) -> bool:
        """Take leave of a host; False when it has failed."""
        if member.process.stdin:
            with contextlib.suppress(KeyError, ValueError):
                self._selector.unregister(member.process.stdin)
            with contextlib.suppress(OSError):
                member.process.stdin.close()
        status = member.process.wait()
        self._members.remove(member)
        if member.is_let_go or (status == 0 and member.out.has_begun):
            return True
        self._lost(member.host, _reason(member, status))
        return False


def _let_go(process: subprocess.Popen[bytes]) -> None:
    """End a process; of one that is root's (sudo) end the input, which ends what runs there.

    This is for a signal's handler: the pipe's number stays, for the loop may be about to use it.
    """
    try:
        process.terminate()
    except OSError:
        assert process.stdin
        with contextlib.suppress(OSError, ValueError):
            nothing = os.open(os.devnull, os.O_WRONLY)
            try:
                os.dup2(nothing, process.stdin.fileno(), inheritable=False)
            finally:
                os.close(nothing)


def _leave(process: subprocess.Popen[bytes]) -> None:
    """Kill a process; one that is root's (sudo) ends with its pipes."""
    with contextlib.suppress(OSError):
        process.kill()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe:
            with contextlib.suppress(OSError):
                pipe.close()


def _reason(member: RunningHost, status: int) -> str:
    if status == _LOST and not member.host.is_direct:
        told = last_line(member.tail.decode("utf-8", "replace"))
        return f"the connection is lost ({told})" if told else "the connection is lost"
    if status < 0:
        return f"its connection was ended by signal {-status}"
    if not member.out.has_begun:
        said = last_line((member.tail or member.out.before).decode("utf-8", "replace"))
        why = f"stapy-run did not begin there (status {status})"
        return f"{why}: {said}" if said else why
    return f"stapy-run ended there with status {status}"
