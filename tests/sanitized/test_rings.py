"""The rings' writers and reader at the same time, watched by ThreadSanitizer.

Threads stand for CPUs. Every byte that was printed is read once, in the order of its CPU, or told
as lost or overwritten where it is missing.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.sanitized.conftest import ENVIRONMENT, Compiler

pytestmark = pytest.mark.build
HITS = 4000
LARGE = 1 << 20
# A line whose rest was overwritten ends in the mark of that.
MARK = re.compile(rb"([^\n]*)\[(lost|overwrote) (\d+) bytes on cpu (\d+)(?:: ([^\]]+))?\]\n")
SEEDS = range(1, 7)


@pytest.fixture(scope="module")
def rings(sanitized: Compiler) -> Path:
    return sanitized("rings", "-fsanitize=thread")


class Reading:
    """What a reader of the program got, and what it was told is missing."""

    def __init__(self, rings: Path, *words: object) -> None:
        command = [str(rings), *map(str, words)]
        done = subprocess.run(command, capture_output=True, env=ENVIRONMENT, check=False)
        assert done.returncode == 0, done.stderr.decode()
        rows = [list(map(int, line.split())) for line in done.stderr.decode().splitlines()]
        self.printed = {cpu: size for cpu, size, _ in rows}
        self.missing = {b"lost": dict.fromkeys(self.printed, 0)}
        self.missing[b"overwrote"] = dict.fromkeys(self.printed, 0)
        self.torn = dict.fromkeys(self.printed, 0)
        self.causes: set[bytes] = set()
        for begun, kind, size, cpu, causes in MARK.findall(done.stdout):
            assert not causes or kind == b"lost", (kind, causes)
            self.causes.update(filter(None, causes.split(b", ")))
            self.missing[kind][int(cpu)] += int(size)
            self.torn[int(cpu)] += len(begun)
        self.lines = MARK.sub(b"", done.stdout).splitlines(keepends=True)

    def check(self) -> None:
        """Every byte is accounted for, a line is torn only before a mark, all are in order."""
        read = {
            cpu: sum(len(line) for line in self.lines if line.startswith(b"%d " % cpu))
            for cpu in self.printed
        }
        for cpu, printed in self.printed.items():
            missing = sum(kind[cpu] for kind in self.missing.values())
            assert read[cpu] + self.torn[cpu] + missing == printed, f"CPU {cpu}"
        assert sum(map(len, self.lines)) == sum(read.values()), "half a line"
        in_order(self.lines)


@pytest.mark.parametrize("size", [65536, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("reader", ["fast", "slow"])
def test_every_byte_is_read_or_told_as_lost(rings: Path, size: int, reader: str) -> None:
    reading = Reading(rings, HITS, size, reader)
    reading.check()
    assert not any(reading.missing[b"overwrote"].values())
    lost = reading.missing[b"lost"]
    if size == LARGE:  # all of it has room
        assert not any(lost.values())
    elif reader == "slow":
        assert any(lost.values())
        assert reading.causes == {b"reader too slow"}


@pytest.mark.parametrize("seed", SEEDS)
def test_readers_that_come_while_records_are_overwritten(rings: Path, seed: int) -> None:
    reading = Reading(rings, HITS, 32768 << seed % 2, "recorder", seed)
    reading.check()
    assert any(reading.missing[b"overwrote"].values())
    # Old output does not give way while it is read, or when a reader has come to stay.
    assert reading.causes <= {b"buffer being read", b"reader too slow"}


def test_the_newest_is_kept(rings: Path) -> None:
    """Nobody reads until all is written, and no reader is in the writers' way: none is lost."""
    reading = Reading(rings, HITS, 65536, "late", 1)
    reading.check()
    assert not any(reading.missing[b"lost"].values())
    for cpu, printed in reading.printed.items():
        mine = [line for line in reading.lines if line.startswith(b"%d " % cpu)]
        assert int(mine[-1].split()[1]) == HITS - 1, mine[-1]
        assert reading.missing[b"overwrote"][cpu] == printed - sum(map(len, mine)) > 0
        # Of the ring, an eighth may be free; half of the rest is headers here.
        assert sum(map(len, mine)) > 65536 // 4


def in_order(lines: list[bytes]) -> None:
    """Check that hits of a CPU follow each other, and tickets, drawn by all CPUs, as well."""
    numbers: dict[bytes, int] = {}
    ticket = -1
    for line in lines:
        cpu, number, rest = line.split(b" ", 2)
        assert int(number) >= numbers.get(cpu, 0), line
        numbers[cpu] = int(number)
        if not rest.startswith(b"also"):
            assert int(rest) > ticket, line
            ticket = int(rest)
    assert len(numbers) == 3
