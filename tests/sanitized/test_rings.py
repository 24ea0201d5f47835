"""The rings' writers and reader at the same time, watched by ThreadSanitizer.

Threads stand for CPUs. Every byte that was printed is read once, in the order of its CPU, or told
as lost where it is missing.
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
MARK = re.compile(rb"\[lost (\d+) bytes on cpu (\d+)\]\n")


@pytest.fixture(scope="module")
def rings(sanitized: Compiler) -> Path:
    return sanitized("rings", "-fsanitize=thread")


@pytest.mark.parametrize("size", [65536, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("reader", ["fast", "slow"])
def test_every_byte_is_read_or_told_as_lost(rings: Path, size: int, reader: str) -> None:
    words = [str(rings), str(HITS), str(size), reader]
    done = subprocess.run(words, capture_output=True, env=ENVIRONMENT, check=False)
    assert done.returncode == 0, done.stderr.decode()
    rows = [list(map(int, line.split())) for line in done.stderr.decode().splitlines()]
    lost = {cpu: 0 for cpu, _, _ in rows}
    for mark in MARK.finditer(done.stdout):
        lost[int(mark[2])] += int(mark[1])
    lines = MARK.sub(b"", done.stdout).splitlines(keepends=True)
    read = {cpu: sum(len(line) for line in lines if line.startswith(b"%d " % cpu)) for cpu in lost}
    for cpu, printed, _ in rows:
        assert read[cpu] + lost[cpu] == printed, f"CPU {cpu}"
    assert sum(map(len, lines)) == sum(read.values()), "half a line"
    if size == LARGE:  # all of it has room
        assert not any(lost.values())
    elif reader == "slow":
        assert any(lost.values())
    in_order(lines)


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
