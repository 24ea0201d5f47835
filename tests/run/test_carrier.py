"""The way of output from a module's files to its readers."""

from __future__ import annotations

import contextlib
import os
import select
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from stapy.run.carrier import OutputCarrier
from stapy.run.messages import MessagePrinter
from stapy.run.output import Sink


class Way(NamedTuple):
    """A carrier between two pipes; ``lost`` has a row for each reader that it told of."""

    carrier: OutputCarrier
    module: int  # where a module would write
    source: int
    reader: int
    lost: list[str]

    def step(self) -> None:
        """Serve what has happened."""
        poll = select.poll()
        self.carrier.register(poll)
        for fd, event in poll.poll(0):
            self.carrier.serve(fd, event)


@pytest.fixture
def way() -> Iterator[Way]:
    source, module = os.pipe()
    reader, sink = os.pipe()
    os.set_blocking(source, False)
    os.set_blocking(reader, False)
    lost: list[str] = []
    carrier = OutputCarrier([source], [Sink(sink)], MessagePrinter(), lambda: lost.append("gone"))
    it = Way(carrier, module, source, reader, lost)
    yield it
    for fd in (source, module, reader, sink):
        with contextlib.suppress(OSError):  # a test has closed it
            os.close(fd)


def test_blocks_arrive_until_the_end(way: Way) -> None:
    os.write(way.module, b"one\n")
    way.step()
    os.write(way.module, b"two\n")
    way.step()
    assert os.read(way.reader, 100) == b"one\ntwo\n"
    assert way.carrier.reading == [way.source] and not way.lost
    os.close(way.module)
    way.step()
    assert way.carrier.reading == []


def test_a_reader_that_is_slow_holds_the_module_back(way: Way) -> None:
    """Nothing more is read while a block waits, and all of it arrives in order."""
    text = b"".join(
        b"%07d\n" % number for number in range(50000)
    )  # two pipes and a block have less
    os.set_blocking(way.module, False)
    sent = write_all(way, text)
    assert way.carrier.is_busy and sent < len(text)
    got = b""
    while len(got) < len(text):
        got += os.read(way.reader, 1 << 16)
        way.step()
        sent += write_all(way, text[sent:])
    assert got == text and not way.carrier.is_busy


def write_all(way: Way, text: bytes) -> int:
    """Write as much for the carrier as it takes; return how many bytes that were."""
    sent = 0
    with contextlib.suppress(BlockingIOError):
        while sent < len(text):
            sent += os.write(way.module, text[sent : sent + 4096])
            way.step()
    return sent


def test_the_rest_is_read_when_nobody_takes_it(way: Way) -> None:
    """So that the module can end; it is told once."""
    os.close(way.reader)
    for _ in range(3):
        os.write(way.module, b"text\n")
        way.step()
        way.step()
    assert way.lost == ["gone"]
    with pytest.raises(BlockingIOError):
        os.read(way.source, 100)
