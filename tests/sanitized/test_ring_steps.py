"""Rings in any order of steps, watched by AddressSanitizer and UndefinedBehaviorSanitizer.

What no thread hurries: prints, ends of hits, reads of all sizes, readers in the way, a clock that
goes on. Every byte that was printed is read or told as missing, in the order of time, with a cause.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stapy.run import losses, merge, records
from tests.sanitized.conftest import Compiler, Program

pytestmark = pytest.mark.build

CPUS = 3
RING = 32768  # the least that there is
PIECE = 8192  # of a record
MARK = re.compile(rb"\[(lost|overwrote) (\d+) bytes on cpu (\d)(?:: ([a-z, ]+))?\]\n")
PRINT = re.compile(rb"c(\d)t(\d+)h(\d+);\.*")
Step: TypeAlias = tuple[str, int, int]


@pytest.fixture(scope="module", params=["text", "records", "bulk"])
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


# A program for each form, which a module has once and for all.
@pytest.fixture(scope="module")
def program(form: str, sanitized: Compiler) -> Iterator[Program]:
    flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover", "-DCONFIG_DCACHE_WORD_ACCESS"]
    running = Program(str(sanitized("ring_steps", *flags)))
    yield running
    running.close()


SIZES = st.one_of(st.integers(24, 80), st.sampled_from([1000, 8000, 9000, 20000, 32000, 40000]))
CPU = st.integers(0, CPUS - 1)
READS = st.sampled_from([100, 300, 5000, 65536])
STEPS = st.lists(
    st.one_of(
        *[st.tuples(st.just("print"), CPU, SIZES)] * 5,
        *[st.tuples(st.just("commit"), CPU, st.just(0))] * 2,
        *[st.tuples(st.just("read"), CPU, READS)] * 2,
        st.tuples(st.just("held"), CPU, SIZES),
        st.tuples(st.just("overwrite"), st.integers(0, 1), st.just(0)),
        st.tuples(st.just("later"), st.integers(1, 5), st.just(0)),
        st.tuples(st.just("inside"), CPU, st.integers(0, 1)),
    ),
    max_size=60,
)


class Life:
    """A session: its steps, what it printed, and what its reader got."""

    def __init__(self, program: Program, form: str, ring: int = RING) -> None:
        self._program = program
        self._form = form
        self.printed = [0] * CPUS
        self.sizes: dict[int, int] = {}  # by ticket
        self.read = [b""] * CPUS  # one text, unless in bulk mode
        self._ticket = self._hits = 0
        self._hit: list[int | None] = [None] * CPUS
        self._bytes = [0] * CPUS  # of the hit
        self.is_large = self.overwrites = self.waits = False
        self._ask(f"new {ring} {int(form == 'records')}")

    def _ask(self, command: str) -> str:
        return self._program.ask(command)

    def do(self, step: Step) -> None:
        word, a, b = step
        if word in ("print", "held"):
            self._print(a, b, word == "held")
        elif word in ("commit", "fail"):
            self._ask(f"commit {a}" if word == "commit" else f"fail {a} {b} failed;")
            self._hit[a], self._bytes[a] = None, 0
        elif word == "read":
            self._read(a, b)
        elif word != "inside":
            self.overwrites |= word == "overwrite" and a == 1
            self.waits |= word == "later"
            self._ask(f"{word} {a}")
        elif self._hit[a] is None:
            self._ask(f"inside {a} {b}")

    def _print(self, cpu: int, size: int, is_held: bool) -> None:
        if self._hit[cpu] is None:
            self._hit[cpu], self._hits = self._hits, self._hits + 1
        text = f"c{cpu}t{self._ticket}h{self._hit[cpu]};"
        self.sizes[self._ticket] = size
        self._ticket += 1
        self.printed[cpu] += size + (self._form == "records")
        self._bytes[cpu] += size
        self.is_large |= self._bytes[cpu] >= PIECE
        around = (f"claim {cpu}", f"release {cpu}") if is_held else ("", "")
        for command in (around[0], f"print {cpu} {size} {text}", around[1]):
            if command:
                self._ask(command)

    def _read(self, cpu: int, size: int) -> bool:
        is_bulk = self._form == "bulk"
        answer = self._ask(f"bulk {cpu} {size}" if is_bulk else f"read {size}")
        data = bytes.fromhex(answer)
        self.read[cpu if is_bulk else 0] += data
        return bool(data)

    def end(self) -> list[int]:
        """End all hits and the session, read the rest; return lost bytes by cause."""
        for cpu in range(CPUS):
            self.do(("commit", cpu, 0))
        self._ask("stop")
        for cpu in range(CPUS):
            while self._read(cpu, 65536):
                pass
        *by_cause, prints = map(int, self._ask("losses").split())
        assert (sum(by_cause) > 0) == (prints > 0)
        return by_cause


class Found:
    """What came: bytes by CPU, prints in their order, and what was told as missing."""

    def __init__(self) -> None:
        self.bytes = [0] * CPUS
        self.missing = {"lost": [0] * CPUS, "overwrote": [0] * CPUS}
        self.causes: set[str] = set()
        self.prints: list[tuple[int, int, int]] = []  # CPU, ticket, hit

    def text(self, text: bytes, sizes: dict[int, int], may_be_torn: bool) -> None:
        """Take a stream of prints and marks."""
        at = 0
        while at < len(text):
            if mark := MARK.match(text, at):
                told = self.missing[mark[1].decode()]
                told[int(mark[3])] += int(mark[2])
                self.causes.update(mark[4].decode().split(", ") if mark[4] else ())
                at = mark.end()
                continue
            found = PRINT.match(text, at)
            torn = MARK.search(text, at)
            if not found:  # the rest of a print was overwritten before it was read
                assert may_be_torn and torn, text[at : at + 80]
                at = torn.start()
                continue
            self.one(found, sizes, may_be_torn)
            self.bytes[int(found[1])] += len(found[0])
            at = found.end()

    def one(self, found: re.Match[bytes], sizes: dict[int, int], may_be_torn: bool) -> None:
        cpu, ticket, hit = map(int, found.groups())
        assert len(found[0]) == sizes[ticket] or may_be_torn, found[0][:40]
        self.prints.append((cpu, ticket, hit))

    def pieces(self, data: bytes, sizes: dict[int, int]) -> None:
        """Take what a reader of records gets."""
        at, whole = 0, b""
        while at < len(data):
            _, size, _, lost, overwritten, cpu, total, done, why = records._PIECE.unpack_from(
                data, at
            )
            at += records._PIECE.size
            self.missing["lost"][cpu] += lost
            self.missing["overwrote"][cpu] += overwritten
            self.causes.update(losses.causes(why))
            assert bool(lost) == bool(why)
            self.bytes[cpu] += size
            whole = (whole if done else b"") + data[at : at + size]
            at += size
            if total and len(whole) == total and total > 1:
                found = PRINT.fullmatch(whole[1:])
                assert found and whole[0] == 0, whole[:40]
                self.one(found, sizes, False)

    def bulk(self, cpu: int, data: bytes, sizes: dict[int, int]) -> None:
        """Take the file of a CPU."""
        text = b""
        for piece in merge.read(io.BytesIO(data), "file"):
            self.missing["lost"][cpu] += piece.lost
            self.missing["overwrote"][cpu] += piece.overwritten
            self.causes.update(piece.causes)
            assert bool(piece.lost) == bool(piece.causes)
            self.bytes[cpu] += len(piece.text)
            text += piece.text
        for found in PRINT.finditer(text):
            self.one(found, sizes, True)


@settings(max_examples=150, deadline=None)
@given(steps=STEPS)
def test_every_byte_is_read_or_told(program: Program, form: str, steps: list[Step]) -> None:
    life = Life(program, form)
    for step in steps:
        life.do(step)
    by_cause = dict(zip(losses.CAUSES, life.end(), strict=True))
    found = Found()
    if form == "bulk":
        for cpu, data in enumerate(life.read):
            found.bulk(cpu, data, life.sizes)
    elif form == "records":
        found.pieces(life.read[0], life.sizes)
    else:
        found.text(life.read[0], life.sizes, life.overwrites)
    if form != "text" or not life.overwrites:  # else a begun name of a print is nobody's
        for cpu, printed in enumerate(life.printed):
            missing = sum(kind[cpu] for kind in found.missing.values())
            assert found.bytes[cpu] + missing == printed, (cpu, found.missing)
    assert sum(by_cause.values()) >= sum(found.missing["lost"])
    if not life.overwrites:
        assert sum(by_cause.values()) == sum(found.missing["lost"])
        assert not by_cause["buffer being read"] and not any(found.missing["overwrote"])
    assert found.causes <= {cause for cause, size in by_cause.items() if size}
    assert not by_cause["processor without a buffer"]
    assert life.waits or not by_cause["reader stopped"]
    in_order(found.prints, form, life.is_large)


def in_order(prints: list[tuple[int, int, int]], form: str, is_large: bool) -> None:
    """Check that prints of each CPU follow each other, and hits, or single records, of all."""
    for cpu in range(CPUS):
        mine = [ticket for one, ticket, _ in prints if one == cpu]
        assert mine == sorted(set(mine)), mine
    if form == "records":
        assert [ticket for _, ticket, _ in prints] == sorted(ticket for _, ticket, _ in prints)
    elif form == "text" and not is_large:  # a large hit has several records
        hits = [hit for _, _, hit in prints]
        assert hits == sorted(hits), hits


# Steps, and the causes of all that is lost: each once, by itself.
FILL: list[Step] = [("print", 0, 8000), ("commit", 0, 0)] * 5
CAUSES: list[tuple[str, list[Step]]] = [
    ("reader too slow", FILL),
    ("reader too slow", [*FILL[:8], ("later", 5, 0), ("read", 0, 100), *FILL[:4]]),
    ("reader stopped", [*FILL[:8], ("later", 2, 0), *FILL[:4]]),
    ("reader too slow", [("later", 9, 0), *FILL]),  # it had no reason to come
    ("print longer than the buffer", [("print", 0, 40000), ("print", 0, 30)]),
    ("print longer than the buffer", [("overwrite", 1, 0), *FILL, ("print", 0, 40000)]),
    ("buffer being read", [("overwrite", 1, 0), *FILL[:6], ("held", 0, 9000), ("commit", 0, 0)]),
    ("buffer being read", [("overwrite", 1, 0), *FILL[:2], ("held", 0, 30000), ("commit", 0, 0)]),
]


@pytest.mark.parametrize(("cause", "steps"), CAUSES)
def test_the_cause(program: Program, form: str, cause: str, steps: list[Step]) -> None:
    life = Life(program, form)
    for step in steps:
        life.do(step)
    by_cause = dict(zip(losses.CAUSES, life.end(), strict=True))
    assert [name for name, size in by_cause.items() if size] == [cause], by_cause


SMALL: list[Step] = [("print", 0, 24), ("commit", 0, 0)] * 1500  # more than one look gives up


@pytest.mark.parametrize("before", [FILL, SMALL], ids=["large", "small"])
@pytest.mark.parametrize("size", [16384, 20000, RING - 40])
def test_a_large_print_pushes_old_ones_out(
    program: Program, form: str, size: int, before: list[Step]
) -> None:
    """Up to all of the ring: nothing of it is lost, and it is there, whole."""
    life = Life(program, form)
    steps: list[Step] = [("overwrite", 1, 0), *before, ("print", 0, size), ("commit", 0, 0)]
    for step in steps:
        life.do(step)
    found = left_of(life)
    kept = [ticket for _, ticket, _ in found.prints]
    assert kept and kept == list(range(kept[0], life._ticket))
    assert found.missing["overwrote"][0] == life.printed[0] - found.bytes[0] > 0


def left_of(life: Life) -> Found:
    """End a session that lost nothing, and look at what is left of its first CPU."""
    found = Found()
    assert not any(life.end())
    if life._form == "bulk":
        found.bulk(0, life.read[0], life.sizes)
    elif life._form == "records":
        found.pieces(life.read[0], life.sizes)
    else:
        found.text(life.read[0], life.sizes, False)
    return found


@pytest.mark.parametrize("size", [30000, 60000])
def test_a_print_is_made_as_much_room_as_it_takes(program: Program, form: str, size: int) -> None:
    """However large the ring: what is given up is bounded by the print, and by a constant."""
    ring = 1 << 20
    life = Life(program, form, ring)
    short: list[Step] = [("print", 0, 24), ("commit", 0, 0)] * (ring // 40 + 500)
    steps: list[Step] = [("overwrite", 1, 0), *short, ("print", 0, size), ("commit", 0, 0)]
    for step in steps:
        life.do(step)
    # With their headers, records take 40 or 48 bytes; where one begins, 1,024 give way at most.
    each = 48 if form == "records" else 40
    most = 2 * PIECE + max(1024 * each, size + 2 * each)
    assert most < ring // 8
    found = left_of(life)
    assert len(found.prints) - 1 >= (ring - most) // each - 1
    assert found.prints[-1][1] == life._ticket - 1


def test_a_large_print_that_fails_has_pushed_old_ones_out(program: Program, form: str) -> None:
    """What gave way for it is told, byte for byte; it leaves nothing, and the next one is there."""
    life = Life(program, form)
    steps: list[Step] = [("overwrite", 1, 0), *FILL, ("fail", 0, 20000), *SMALL[:2]]
    for step in steps:
        life.do(step)
    found = left_of(life)
    rest = form == "records"  # of a print that failed: the byte that says what follows
    assert [ticket for _, ticket, _ in found.prints] == [5]
    assert found.missing["overwrote"][0] == life.printed[0] + rest - found.bytes[0]


def test_a_print_in_pieces_that_outgrows_the_ring(program: Program, form: str) -> None:
    """It is lost whole, under its cause, and so is the rest of its hit; the next one is there."""
    life = Life(program, form)
    steps: list[Step] = [
        *[("overwrite", 1, 0), *FILL, ("print", 0, 8000), ("print", 0, 31000)],
        *[("print", 0, 30), ("commit", 0, 0), ("print", 0, 40), ("commit", 0, 0)],
    ]
    for step in steps:
        life.do(step)
    by_cause = dict(zip(losses.CAUSES, life.end(), strict=True))
    lost = {name: size for name, size in by_cause.items() if size}
    if form == "records":  # each print has a record of its own
        assert not lost
    else:
        assert lost == {"print longer than the buffer": 39030}


LIMIT = 1 << 20  # of a print in a hit


@pytest.mark.parametrize("overwrites", [0, 1])
def test_a_print_is_not_as_long_as_the_ring_may_be(
    program: Program, form: str, overwrites: int
) -> None:
    """What nobody can interrupt ends soon; in begin and end probes it may be a report."""
    life = Life(program, form, 4 * LIMIT)
    steps: list[Step] = [
        *[("overwrite", overwrites, 0), ("print", 0, LIMIT - 1), ("commit", 0, 0)],
        *[("print", 0, LIMIT + 1), ("commit", 0, 0)],
        *[("inside", 0, 1), ("print", 0, 2 * LIMIT), ("commit", 0, 0)],
    ]
    for step in steps:
        life.do(step)
    by_cause = dict(zip(losses.CAUSES, life.end(), strict=True))
    lost = {name: size for name, size in by_cause.items() if size}
    assert lost == {"print longer than the limit": LIMIT + 1 + (form == "records")}


def test_more_is_lost_than_a_record_can_tell(program: Program, form: str) -> None:
    """An hour without a reader is no other than a second, but for the sums: they are exact."""
    life = Life(program, form)
    steps: list[Step] = [*FILL[:8], ("later", 3600, 0), *FILL * 3600]
    for step in steps:
        life.do(step)
    while life._read(0, 65536):
        pass
    for _ in range(3):  # marks of 128 MiB at most
        life.do(("print", 0, 24))
        life.do(("commit", 0, 0))
    by_cause = dict(zip(losses.CAUSES, life.end(), strict=True))
    lost = by_cause["reader stopped"]
    assert lost == sum(by_cause.values()) == 8000 * 18000 + 18000 * (form == "records") > 1 << 27
    found = Found()
    if form == "bulk":
        found.bulk(0, life.read[0], life.sizes)
    elif form == "records":
        found.pieces(life.read[0], life.sizes)
    else:
        found.text(life.read[0], life.sizes, False)
    assert found.missing["lost"][0] == lost and found.causes == {"reader stopped"}
    assert [ticket for _, ticket, _ in found.prints[-3:]] == [18004, 18005, 18006]


def test_a_reader_without_room_for_what_is_missing(program: Program, form: str) -> None:
    """It is refused, and told all of it when it comes with room."""
    life = Life(program, form)
    for step in FILL:
        life.do(step)
    while life._read(0, 65536):
        pass
    life._ask("stop")
    for size in (1, 10, 39):
        assert life._ask(f"bulk 0 {size}" if form == "bulk" else f"read {size}") == "-22"
    assert life._read(0, 65536)
    assert sum(life.end())
