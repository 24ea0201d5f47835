"""Damages files of debug information and asks everything that can be asked about them.

A damaged file must give answers, wrong ones perhaps, or a `DebuginfoError`; anything
else, and what takes too long or too much memory, is a fault::

    python -m tests.debuginfo.fuzz TARGET SECONDS FILE ...

Each input is told by its number: ``--only N`` runs that one and shows where it fails.
``SECONDS`` are of processor time.
"""

from __future__ import annotations

import argparse
import random
import resource
import signal
import struct
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from stapy.debuginfo.elf import ElfFile
from stapy.debuginfo.errors import DebuginfoError
from stapy.record import Record, new
from tests.debuginfo import asking

MEMORY = 1 << 30  # bytes that one input may take on top of what the process has
_EDGES = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFF0, 0xFFFFFFFF,
          (1 << 63) - 1, 1 << 63, (1 << 64) - 1)  # fmt: skip
_MOST = 6  # places that are damaged at once


class TooLong(BaseException):
    """An input takes more processor time than it may."""


class Report(Record):
    """What a search found; ``faults`` by kind of error and place, each with the inputs' numbers."""

    inputs: int = 0
    seconds: float = 0.0
    slowest: tuple[float, int] = (0.0, -1)
    faults: dict[str, list[int]] = new(dict)


def damage(data: bytearray, areas: list[tuple[int, int]], chance: random.Random) -> None:
    """Change a few places within ``(start, end)`` areas, or cut the end off."""
    areas = [area for area in areas if area[1] > area[0]]
    if not areas:
        return
    if chance.random() < 0.02:
        del data[chance.randrange(len(data)) :]
        return
    for _ in range(chance.randint(1, _MOST)):
        start, end = chance.choice(areas)
        at = chance.randrange(start, min(end, len(data)))
        kind = chance.randrange(8)
        if kind < 3:
            data[at] = chance.randrange(256)
        elif kind == 3:
            data[at] ^= 1 << chance.randrange(8)
        elif kind < 6:
            size = chance.choice((1, 2, 4, 8))
            at -= (at - start) % size * chance.randrange(2)
            value = chance.choice(_EDGES) if kind == 4 else chance.randrange(1 << 8 * size)
            piece = (value & (1 << 8 * size) - 1).to_bytes(size, "little")
            piece = piece[: len(data) - at]
            data[at : at + len(piece)] = piece
        elif kind == 6:  # a run of one byte
            size = min(chance.randint(1, 64), end - at, len(data) - at)
            data[at : at + size] = (
                bytes([chance.choice((0, 0x80, 0xFF, chance.randrange(256)))]) * size
            )
        else:  # one place in another one's stead
            size = min(chance.randint(1, 64), end - at, len(data) - at)
            other = chance.randrange(start, end - size + 1)
            data[at : at + size] = data[other : other + size]


def areas_of(data: bytes, wanted: Callable[[str], bool]) -> list[tuple[int, int]]:
    """Find where the sections of some names lie, and the table that tells so."""
    elf = ElfFile(data, "whole")
    found = [
        (row.offset, row.offset + row.size)
        for row in elf.sections
        if row.type not in (0, 8) and row.size and wanted(row.name)
    ]
    (table,) = struct.unpack_from("<Q", data, 40)
    rows = [
        (table + 64 * number + 4, table + 64 * number + 64)
        for number, row in enumerate(elf.sections)
        if wanted(row.name)
    ]
    # Damage of the headers mostly ends the reading at once.
    return found * 6 + rows[:4] if found else [(0, len(data))]


def place_of(error: BaseException) -> str:
    """Name the kind of an error and where in stapy it was raised."""
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if "/stapy/" in frame.filename
    ]
    where = frames[-1] if frames else None
    place = f"{where.filename.rpartition('/stapy/')[2]}:{where.lineno}" if where else "?"
    return f"{type(error).__name__} at {place}"


def _too_long(number: int, frame: FrameType | None) -> None:
    raise TooLong


class Search:
    """Tries damaged copies of one file.

    ``limit`` is the processor time that one input may take, in seconds.
    """

    def __init__(
        self,
        data: bytes,
        areas: list[tuple[int, int]],
        ask: Callable[[bytes], object],
        limit: float,
    ) -> None:
        self.data = data
        self.areas = areas
        self.ask = ask
        self.limit = limit
        self.report = Report()

    def one(self, number: int, *, show: bool = False) -> None:
        """Try the input of a number."""
        data = bytearray(self.data)
        damage(data, self.areas, random.Random(number))
        begun = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, self.limit)
        try:
            self.ask(bytes(data))
        except DebuginfoError:
            pass
        except (Exception, TooLong) as error:
            signal.setitimer(signal.ITIMER_PROF, 0)
            self.report.faults.setdefault(place_of(error), []).append(number)
            if show:
                traceback.print_exc()
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        taken = time.process_time() - begun
        self.report.inputs += 1
        self.report.seconds += taken
        self.report.slowest = max(self.report.slowest, (taken, number))

    def run(self, seconds: float, first: int = 0, least: int = 0) -> Report:
        """Try inputs from a number on for some processor time, and ``least`` of them anyhow.

        A collector that meets the heap of a worker takes longer than many inputs.
        """
        old = signal.signal(signal.SIGPROF, _too_long)
        limits = resource.getrlimit(resource.RLIMIT_AS)
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        memory = pages * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (memory, limits[1]))
        ends = time.process_time() + seconds
        try:
            while time.process_time() < ends or self.report.inputs < least:
                self.one(first)
                first += 1
        finally:
            resource.setrlimit(resource.RLIMIT_AS, limits)
            signal.signal(signal.SIGPROF, old)
        return self.report


def prepare(target: str, path: Path, base: Path | None = None) -> Search:
    """Start a search in the copies of a file; ``target`` is one of `asking.TARGETS`."""
    wanted, make = asking.TARGETS[target]
    data, ask = make(path, base)
    areas = areas_of(data, wanted) if data[:4] == b"\x7fELF" else [(0, len(data))]
    begun = time.process_time()
    ask(data)  # what is whole must be readable, and tells how long it may take
    whole = time.process_time() - begun
    return Search(data, areas, ask, max(5.0, 5 * whole))


def main() -> int:
    """Run one target over some files, in turns."""
    options = argparse.ArgumentParser()
    options.add_argument("target", choices=sorted(asking.TARGETS))
    options.add_argument("seconds", type=float)
    options.add_argument("files", type=Path, nargs="+")
    options.add_argument("--base", type=Path, help="the kernel's own BTF, for that of modules")
    options.add_argument("--first", type=int, default=0, help="number of the first input")
    options.add_argument("--only", type=int, help="run one input")
    given = options.parse_args()
    faults: Counter[str] = Counter()
    for path in given.files:
        search = prepare(given.target, path, given.base)
        if given.only is not None:
            signal.signal(signal.SIGPROF, _too_long)
            search.one(given.only, show=True)
            continue
        report = search.run(given.seconds / len(given.files), given.first)
        print(f"{given.target} {path.name}: {report.inputs} inputs, {report.seconds:.0f} s, "
              f"slowest {report.slowest[0]:.2f} s (input {report.slowest[1]}, "
              f"limit {search.limit:.1f} s)", flush=True)  # fmt: skip
        for fault, numbers in report.faults.items():
            faults[fault] += len(numbers)
            print(f"  {fault}: {len(numbers)} inputs, {numbers[:3]}", flush=True)
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
