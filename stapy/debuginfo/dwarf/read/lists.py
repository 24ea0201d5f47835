"""Entries of DWARF 5's lists that have a range each: ``.debug_rnglists``, ``.debug_loclists``."""

from __future__ import annotations

import struct

from stapy.debuginfo.dwarf.numbers import number, uleb
from stapy.debuginfo.dwarf.read.units import DwarfUnit
from stapy.debuginfo.elf import Buffer
from stapy.debuginfo.errors import DebuginfoError

MAX_ADDRESS = 2**64 - 1
# Kinds of entries by their number (DWARF 5, 7.25 and 7.7.3): what stands behind it.
_INDEXED = ("end", "base index", "indexes", "index, size", "offsets")
_ADDRESSES = ("base", "addresses", "address, size")
RANGES = (*_INDEXED, *_ADDRESSES)
LOCATIONS = (*_INDEXED, "default", *_ADDRESSES)


def next_range(
    unit: DwarfUnit, data: Buffer, at: int, base: int, kinds: tuple[str, ...]
) -> tuple[int, int, int, int] | None:
    """Read entries at ``at`` up to the first that has a range.

    ``base`` is what offsets are counted from, ``kinds`` is RANGES or LOCATIONS. Return the range,
    the offset behind it and the base from there on; None at the end of the list. Raise
    DebuginfoError for a kind that DWARF 5 does not have, and IndexError or struct.error where the
    section ends too early.
    """
    while True:
        if data[at] >= len(kinds):
            raise DebuginfoError(f"{unit.info.name}: unknown list entry {data[at]}")
        kind = kinds[data[at]]
        at += 1
        if kind == "offsets":
            start, at = uleb(data, at)
            end, at = uleb(data, at)
            return base + start, base + end, at, base
        if kind == "end":
            return None
        if kind == "base index":
            index, at = uleb(data, at)
            base = unit.indexed_address(index)
        elif kind == "base":
            base, at = number(data, at, 8), at + 8
        elif kind == "addresses":
            start, end = struct.unpack_from("<QQ", data, at)
            return start, end, at + 16, base
        elif kind == "address, size":
            start = number(data, at, 8)
            size, at = uleb(data, at + 8)
            return start, start + size, at, base
        elif kind == "default":
            return 0, MAX_ADDRESS, at, base
        else:
            index, at = uleb(data, at)
            start = unit.indexed_address(index)
            second, at = uleb(data, at)
            end = unit.indexed_address(second) if kind == "indexes" else start + second
            return start, end, at, base
