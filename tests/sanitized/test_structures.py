"""Arrays, statistics, strings and formats of the runtime beside a model of them.

The C is that of the kernel module, compiled for a process with AddressSanitizer and
UndefinedBehaviorSanitizer: a byte beyond a buffer ends the program, and with it the test.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.sanitized import model
from tests.sanitized.conftest import Compiler, Program
from tests.sanitized.model import Array, Declaration, Key, Keys, Shape, written

pytestmark = pytest.mark.build

Command: TypeAlias = tuple[str, int, Keys, list[int], Key]

LOG = Shape(variance=True)
ARRAYS = (
    Declaration((0,), 5),
    Declaration((16,), 4, told_size=False),
    Declaration((9, 0, 24), 8, told_size=False),
    Declaration((0,), 3, wraps=True),
    Declaration((5,), 4, value=8, told_size=False),
    Declaration((16, 0), 6, shape=LOG, told_size=False),
    Declaration((0,), 3, wraps=True, shape=Shape(linear=(-10, 10, 3))),
)


# The kernel reads strings by words where it can, and by bytes elsewhere.
@pytest.fixture(scope="module", params=["words", "bytes"])
def program(request: pytest.FixtureRequest, sanitized: Compiler) -> Iterator[Program]:
    flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover"]
    if request.param == "words":
        flags.append("-DCONFIG_DCACHE_WORD_ACCESS")
    running = Program(str(sanitized("structures", *flags)))
    yield running
    running.close()


NUMBERS = st.one_of(st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1))
FEW = st.integers(-3, 3)
# Long and short, with beginnings in common, so that keys are cut alike.
TEXTS = st.one_of(
    st.sampled_from([b"", b"a", b"abcdefg", b"abcdefgh", b"abcdefghi", b"abcdefgh" * 4, b"b"]),
    st.binary(max_size=40).map(lambda text: text.replace(b"\0", b"\1")),
)


@st.composite
def commands(draw: st.DrawFn, at: int) -> Command:
    """Draw what is done to an array: a word, the array's number, keys, numbers, a value."""
    array = ARRAYS[at]
    keys = tuple(draw(TEXTS if most else FEW) for most in array.keys)
    words = ["get"] * 4 + ["delete", "each", "each", "slice", "drop", "clear"]
    words += ["add"] * 12 if array.shape else ["set"] * 12 + ["delete-found"]
    any_of = draw(st.integers(0, 2 ** len(array.keys) - 1))
    numbers = [
        draw(st.integers(0, 1 + len(array.keys))),
        draw(st.integers(0, 5 if array.shape and array.shape.variance else 4)),
        draw(st.integers(0, 1)),
        draw(st.integers(-1, 4)),
        draw(st.sampled_from([-1, any_of])),
    ]
    return draw(st.sampled_from(words)), at, keys, numbers, draw(TEXTS if array.value else NUMBERS)


def both(program: Program, arrays: list[Array], command: Command) -> None:
    """Carry out one command here and there."""
    word, at, keys, numbers, value = command
    array = arrays[at]
    line, expected = f"{word} {at}", ""
    if word == "clear":
        array.clear()
    elif word == "each":
        sort, operator, descending, limit, any_of = numbers
        line += f" {sort} {operator} {descending} {limit} {any_of} {written(keys)}"
        expected = array.each(sort, operator, bool(descending), limit, keys, any_of)
    elif word in ("slice", "drop"):
        any_of = max(numbers[-1], 0)
        line += f" {any_of} {written(keys)}"
        expected = array.slice(keys, any_of) if word == "slice" else array.drop_slice(keys, any_of)
    elif word == "add":
        assert isinstance(value, int)
        cpu = numbers[0] % model.CPUS
        line += f" {written(keys)} {cpu} {value}"
        expected = array.add(keys, cpu, value)
    elif word == "set":
        line += f" {written(keys)} {written((value,))}"
        expected = array.set(keys, value)
    elif word == "get":
        line += f" {written(keys)}"
        expected = array.get(keys)
    else:
        line += f" {written(keys)}"
        array.drop(keys)
    assert program.ask(line) == expected, line


def lives(at: int) -> st.SearchStrategy[list[Command]]:
    """Much of one array: it is full more often than not."""
    return st.lists(commands(at), min_size=20, max_size=80)


@given(st.integers(0, len(ARRAYS) - 1).flatmap(lives))
@settings(max_examples=200, deadline=None)
def test_arrays(program: Program, asked: list[Command]) -> None:
    arrays = [Array(declared) for declared in ARRAYS]
    for at in range(len(arrays)):
        program.ask(f"clear {at}")
    for command in asked:
        both(program, arrays, command)


# Times in nanoseconds, whose 64-bit sum wraps at the seventh; a variance just within 64 bits, and
# one beyond them.
STAMPS = [(number % 2, 1_795_000_000_000_000_000 + number * 1000) for number in range(12)]
FARTHEST = [(0, 0), (0, 4_294_967_295)]


@given(st.lists(st.tuples(st.integers(0, model.CPUS - 1), NUMBERS), max_size=20))
@example(STAMPS)
@example(FARTHEST)
@example([(0, -(2**63)), (1, 2**63 - 1), (0, 2**63 - 1), (1, 0), (0, -(2**63))])
@example([(0, -(2**63) + cpu) for cpu in range(2)] * 4)
@settings(max_examples=100, deadline=None)
def test_a_statistic(program: Program, values: list[tuple[int, int]]) -> None:
    program.ask("empty")
    for cpu, value in values:
        program.ask(f"record {cpu} {value}")
    alone = [value for _, value in values]
    assert program.ask("read") == model.said_of(alone, LOG)
    picture, lost = program.ask("histogram 100000 0 0 0").split(" ")
    rows = bytes.fromhex(picture[1:]).decode().splitlines()[1:-1]
    assert sum(int(row.rpartition(" ")[2]) for row in rows if "|" in row) == len(values)
    assert lost == "0"


def drawn(program: Program, where: str, columns: int = 0, colors: bool = False) -> list[str]:
    """Draw a histogram of two values, 3000 and 1500 times, as rows."""
    program.ask("empty")
    for value, times in ((8, 3000), (9000, 1500)):
        for _ in range(times):
            program.ask(f"record 0 {value}")
    picture = program.ask(f"drawing 100000 {where} {columns} {int(colors)}")
    return bytes.fromhex(picture[1:]).decode().splitlines()


@pytest.mark.parametrize(
    "where, columns, bar",
    [
        ("print", 0, 50),
        ("print", 80, 80 - 5 - 3 - 5),  # value, separators, the title of the counts
        ("print", 34, 21),
        ("print", 33, 20),
        ("print", 32, 20),
        ("print", 1, 20),
        ("print", -5, 50),
        ("print", 212, 199),
        ("print", 213, 200),
        ("print", 214, 200),
        ("print", 2**31 - 1, 200),
        # What can be compared, or is read by programs, has no terminal.
        ("string", 80, 50),
        ("bulk", 80, 50),
        ("records", 80, 50),
        # Half of the ring waits for the reader, but for less than the picture.
        ("waiting", 80, 50),
        ("given", 80, 30),
        ("elided", 80, 80 - 5 - 3 - 5),
        ("elided", 0, 30),
    ],
)
def test_the_width_of_a_histogram(program: Program, where: str, columns: int, bar: int) -> None:
    rows = drawn(program, where, columns)
    assert rows[0] == f"value |{'-' * bar} count"
    lengths = {len(row) for row in rows[1:] if "|" in row}
    assert lengths == {5 + 3 + bar + 4}
    longest = max(row.count("@") for row in rows)
    assert longest == 3000 // -(-3000 // bar)
    assert sorted(row.count("@") for row in rows)[-2] == longest // 2


def elided(program: Program, buckets: int, kept: int, data: set[int]) -> tuple[list[str], int]:
    """Draw buckets of which some have data: what stands before the bars, and microseconds."""
    words = " ".join(map(str, [buckets, kept, *sorted(data)]))
    picture, time = program.ask(f"elision {words}").split(" ")
    rows = bytes.fromhex(picture[1:]).decode().splitlines()[1:-1]
    return [row.partition("|")[0].strip() for row in rows], int(time)


@given(st.sets(st.integers(1, 38), min_size=1, max_size=6), st.integers(-1, 50) | st.integers(0, 5))
def test_which_rows_are_left_out(program: Program, data: set[int], kept: int) -> None:
    """Those with nothing near them; what is below and above the buckets is empty here."""
    shown, _ = elided(program, 40, kept, data)
    rows: list[str] = []
    for row in range(max(min(data) - 2, 1), min(max(data) + 2, 38) + 1):
        if kept < 0 or any(abs(row - other) <= kept for other in data):
            rows.append(str(row - 1))
        elif rows[-1:] != ["~"]:
            rows.append("~")
    # A gap is told by the row behind it.
    assert shown == (rows[:-1] if rows[-1] == "~" else rows)


def test_rows_are_looked_at_once(program: Program) -> None:
    """However many neighbours count: the largest histogram that there is, with a gap of all."""
    most, kept = 4093, 1900
    all_rows, some = (
        min(elided(program, most, near, {1, most - 3})[1] for _ in range(5)) for near in (-1, kept)
    )
    assert some < 4 * all_rows, (some, all_rows)


@pytest.mark.parametrize("where", ["print", "given", "elided"])
def test_the_colors_of_a_histogram(program: Program, where: str) -> None:
    """Escapes stand around bars and counts, and change nothing else."""
    plain, rows = drawn(program, where, 80), drawn(program, where, 80, True)
    assert [re.sub("\x1b\\[[0-9]*m", "", row) for row in rows] == plain
    row = next(row for row in rows if row.endswith("3000\x1b[m"))
    assert re.fullmatch(" +8 \\|\x1b\\[36m@+\x1b\\[m +\x1b\\[1m3000\x1b\\[m", row)
    assert sum("\x1b" in row for row in rows) == 2  # empty rows have none


@pytest.mark.parametrize("where", ["string", "bulk", "records", "waiting"])
def test_texts_for_programs_have_no_colors(program: Program, where: str) -> None:
    assert drawn(program, where, 80, True) == drawn(program, "print")


@given(st.integers(1, 40), TEXTS, TEXTS, st.booleans())
@settings(max_examples=200, deadline=None)
def test_strings(program: Program, size: int, first: bytes, second: bytes, is_cut: bool) -> None:
    one, two = model.text(first), model.text(second)
    assert program.ask(f"copy {size} {one}") == model.text(first[: size - 1])
    assert program.ask(f"concat {size} {one} {two}") == model.text((first + second)[: size - 1])
    quoted = bytes.fromhex(program.ask(f"quote {size} {one} {int(is_cut)}")[1:])
    if size <= 6:
        assert quoted == b""
        return
    body, dots = quoted.removesuffix(b"..."), quoted.endswith(b'"...')
    assert body[:1] == body[-1:] == b'"' and len(quoted) < size
    shown = body[1:-1].decode("unicode_escape").encode("latin-1")
    assert first.startswith(shown) and dots == (is_cut or shown != first)


@given(
    st.integers(1, 100),
    NUMBERS,
    st.sampled_from("duoxXp"),
    st.integers(0, 31),
    st.integers(0, 90),
    st.integers(-1, 90),
)
@settings(max_examples=400, deadline=None)
def test_numbers(
    program: Program, size: int, value: int, conversion: str, flags: int, width: int, precision: int
) -> None:
    whole = model.number(value, conversion, flags, width, precision)
    said = program.ask(f"long {size} {flags} {width} {precision} {conversion} {value}")
    fits = whole[: size - 1].encode()
    assert said == f"{model.text(fits)} {len(whole) - len(fits)}"


@given(st.integers(1, 60), TEXTS, st.one_of(NUMBERS, st.integers(-200, 20_000)))
@settings(max_examples=300, deadline=None)
def test_plain_conversions(program: Program, size: int, text: bytes, value: int) -> None:
    fields = {"s": text, "d": b"%d" % value, "u": b"%d" % (value % 2**64)}
    for conversion, field in fields.items():
        whole = b"<" + field + b">, done\n"
        fits = whole[: size - 1]
        shown = model.text(text) if conversion == "s" else value
        said = program.ask(f"plain {size} {conversion} {shown}")
        assert said == f"{model.text(fits)} {len(whole) - len(fits)}", conversion


@given(
    st.integers(1, 180),
    st.booleans(),
    st.lists(st.one_of(NUMBERS, st.integers(0, 300), st.integers(-(2**31), -1)), max_size=8),
)
@settings(max_examples=300, deadline=None)
def test_addresses(program: Program, size: int, behind: bool, addresses: list[int]) -> None:
    texts = [b"%#x " % (a % 2**64) for a in addresses]
    fitting = len(texts)
    while fitting and len(b"".join(texts[:fitting])) >= size:
        fitting -= 1
    words = " ".join(map(str, [int(behind), len(addresses), *addresses]))
    whole = b"".join(texts[:fitting])
    said = program.ask(f"addresses {size} {words}")
    shown = whole if behind else whole.removesuffix(b" ")
    assert said == f"{model.text(shown)} {int(fitting == len(texts))}"


@given(
    st.integers(1, 100), TEXTS, st.integers(0, 31), st.integers(0, 60), st.integers(-1, 60), NUMBERS
)
@settings(max_examples=200, deadline=None)
def test_other_formats(
    program: Program, size: int, text: bytes, flags: int, width: int, precision: int, value: int
) -> None:
    is_left = bool(flags & model.LEFT)

    def same(whole: bytes, command: str) -> None:
        fits = whole[: size - 1]
        assert program.ask(command) == f"{model.text(fits)} {len(whole) - len(fits)}", command

    head = f"{size} {flags} {width} {precision}"
    cut = text if precision < 0 else text[:precision]
    same(cut.ljust(width) if is_left else cut.rjust(width), f"string {head} {model.text(text)}")
    sizes = (1, 2, 4, 8)
    bytes_of = precision if precision in sizes else width if width in sizes else 8
    word = (value % 2**64).to_bytes(8, "little")[:bytes_of]
    binary = word.ljust(width, b"\0") if is_left else word.rjust(width, b"\0")
    same(binary, f"binary {head} {value}")
    if not flags & model.ALTERNATIVE:
        one = word[:1]
        same(one.ljust(width) if is_left else one.rjust(width), f"char {head} {value}")
    length = min(1 if precision < 0 else precision, len(text))
    for is_hex in (0, 1):
        shown = text[:length].hex().encode() if is_hex else text[:length]
        head = f"{size} {flags} {width} {length}"
        same(
            shown.ljust(width) if is_left else shown.rjust(width),
            f"memory {head} {is_hex} {model.text(text)}",
        )
