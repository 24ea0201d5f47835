"""The way of output from the module's files to its readers, never waiting for one of them."""

from __future__ import annotations

import os
import select

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Dict, List, Optional

    from .messages import MessagePrinter
    from .output import Sink
    from .render import Renderer
    from .signals import Signals

BLOCK = 1 << 16


class OutputCarrier:
    """Carries each of the module's ``files`` to its sink.

    ``lost`` is called when nobody reads the output any more; nothing is written from then on, but
    what comes is read on, so that the module can end.
    """

    def __init__(
        self,
        files: List[int],
        sinks: List[Sink],
        messages: MessagePrinter,
        lost: Callable[[], None],
    ) -> None:
        self.renderer: Optional[Renderer] = None  # of a module made with --format
        self.reading = list(files)  # those that may still have something
        self._sinks = dict(zip(files, sinks))
        self._buffers: Dict[int, bytearray] = {fd: bytearray(BLOCK) for fd in files}
        self._messages = messages
        self._lost = lost
        self.has_come = False  # some output of the module

    @property
    def is_busy(self) -> bool:
        """True while output waits for its reader."""
        return any(sink.is_busy for sink in self._sinks.values())

    def register(self, poll: select.poll) -> None:
        """Name all descriptors that something may happen to; `serve` takes them."""
        for fd in self.reading:
            if not self._sinks[fd].is_busy:
                poll.register(fd, select.POLLIN)
        for sink in self._sinks.values():
            # Without events wanted, poll still tells that the reader is gone.
            poll.register(sink.fd, select.POLLOUT if sink.is_busy else 0)

    def serve(self, fd: int, event: int) -> None:
        """Carry on where something has happened; descriptors of others are passed over."""
        if fd in self.reading:
            self._move(fd)
        else:
            self._serve_sink(fd, event)

    def _move(self, fd: int) -> None:
        """Carry one block from the module to its reader."""
        buffer = self._buffers[fd]
        try:
            count = os.readv(fd, [buffer])
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._messages.error(f"Couldn't read the output: {error.strerror}")
            count = 0
        if count == 0:
            self.reading.remove(fd)
            return
        self.has_come = True
        sink = self._sinks[fd]
        if sink.broken:
            return
        block = memoryview(buffer)[:count]
        self._write(sink, memoryview(self.renderer.feed(block)) if self.renderer else block)

    def _write(self, sink: Sink, block: memoryview) -> None:
        if len(block):
            sink.write(block)
        if sink.broken:
            self._lose_reader(sink)

    def _serve_sink(self, fd: int, event: int) -> None:
        for sink in self._sinks.values():
            if sink.fd == fd and not sink.broken:
                sink.flush()
                if event & (select.POLLERR | select.POLLHUP | select.POLLNVAL) and not sink.is_busy:
                    sink.broken = True
                if sink.broken:
                    self._lose_reader(sink)

    def _lose_reader(self, sink: Sink) -> None:
        sink.discard()
        sink.fd = os.open("/dev/null", os.O_WRONLY | os.O_CLOEXEC)
        self._messages.note("nobody reads the output any more")
        self._lost()

    def pass_on(self, at_end: bool = False) -> None:
        """Write what messages have become among the records, and at the end the last ones."""
        sink = next(iter(self._sinks.values()))
        if not self.renderer or sink.is_busy or sink.broken:
            return
        if at_end:
            renderer, self.renderer = self.renderer, None
            self._write(sink, memoryview(renderer.finish(self._messages.errors)))
        else:
            self._write(sink, memoryview(self.renderer.take()))

    def rotate(self) -> None:
        """Go on with the next output files, where there are any."""
        for sink in self._sinks.values():
            sink.rotate()
        if self.renderer:
            self.renderer.restart()

    def write_out(self, signals: Signals) -> None:
        """Write what waits for its reader, after the module was left; a signal ends that."""
        self._drain(signals)
        sink = next(iter(self._sinks.values()))
        if self.renderer and not (sink.is_busy or sink.broken):
            self._write(sink, memoryview(self.renderer.leave()))
            self._drain(signals)

    def _drain(self, signals: Signals) -> None:
        while self.is_busy and not signals.take():
            poll = select.poll()
            poll.register(signals.wake, select.POLLIN)
            for sink in self._sinks.values():
                if sink.is_busy:
                    poll.register(sink.fd, select.POLLOUT)
            for fd, event in poll.poll():
                if fd == signals.wake:
                    signals.drain()
                else:
                    self._serve_sink(fd, event)

    def tell_untaken(self, is_left: bool) -> None:
        """Say how much of the output is lost because its reader did not take it.

        A module that is left in the kernel (``is_left``) keeps what it still has.
        """
        untaken = sum(sink.waiting for sink in self._sinks.values())
        if untaken:
            rest = "" if is_left else ", and what the module still had,"
            text = f"{untaken} bytes of output{rest} were not taken by their reader: they are lost"
            self._messages.warning(text)
