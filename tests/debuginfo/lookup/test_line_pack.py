"""Packed tables of lines: what goes in comes out."""

from __future__ import annotations

import random

import pytest

from stapy.debuginfo.dwarf.read.lines import LineRow
from stapy.debuginfo.lookup.line_pack import Packed, hash_of, merge, pack
from tests.linetable import Damaged, find

FILES = ["fs/open.c", "include/linux/fs.h", "mm/slab.c"]


def row(address: int, file: int, line: int, end: bool = False) -> LineRow:
    return LineRow(address, file, line, True, end)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([], []),
        ([row(16, 1, 5), row(20, 1, 5), row(24, 1, 6)], [(16, 7, 5), (24, 7, 6)]),
        # Of several rows at one address the last one counts.
        ([row(16, 1, 5), row(16, 2, 9), row(20, 1, 5)], [(16, 8, 9), (20, 7, 5)]),
        ([row(16, 1, 5), row(20, 2, 9), row(20, 1, 5), row(24, 1, 6)], [(16, 7, 5), (24, 7, 6)]),
        # Behind the end of a sequence nothing is known, until another one begins there.
        ([row(16, 1, 5), row(32, 1, 5, True)], [(16, 7, 5), (32, 0, 0)]),
        ([row(16, 9, 5), row(20, 1, 6)], [(16, 0, 0), (20, 7, 6)]),
    ],
)
def test_merge(rows: list[LineRow], expected: list[Packed]) -> None:
    assert merge(rows, [0, 7, 8]) == expected


@pytest.mark.parametrize("count", [0, 1, 2, 63, 64, 65, 128, 1000])
def test_what_goes_in_comes_out(count: int) -> None:
    chance = random.Random(count)
    rows: list[Packed] = []
    address = 0xFFFFFFFF81000000
    for _ in range(count):
        line = chance.randrange(1, 1 << chance.randrange(1, 20))
        rows.append((address, chance.randrange(4), line))
        address += chance.choice([1, 2, 7, 130, 70_000])
    blob = pack(rows, FILES)
    assert rows or find(blob, 0) is None
    for this, following in zip(rows, [*rows, (address, 0, 0)][1:], strict=True):
        for at in (this[0], following[0] - 1):
            assert find(blob, at - rows[0][0]) == shown(this)


def shown(row: Packed) -> tuple[str, int] | None:
    return (FILES[row[1] - 1], row[2]) if row[1] else None


def test_damage_is_told() -> None:
    blob = bytearray(pack([(at, 1, at) for at in range(100)], FILES))
    with pytest.raises(Damaged):
        find(bytes(blob[:60]) + b"\xff" * 4, 90)


def test_the_hash_is_fnv_1a() -> None:
    assert hash_of("") == 0x811C9DC5
    assert hash_of("a") == 0xE40C292C
    assert hash_of("foobar") == 0xBF9CF968
