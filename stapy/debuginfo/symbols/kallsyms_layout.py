"""Where a kernel's read-only data has the tables of its symbols.

A kernel built with CONFIG_KALLSYMS holds all its symbol names, compressed by a
dictionary of 256 tokens, in tables without any header.  `locate` finds them in
an image by what must hold between the tables; what it cannot prove, it does not
return.  Two orders are known: addresses before the names (until 6.3), addresses
after the tokens (since 6.4).  The symbols' order by name came with 6.2 and was
ported back to older stable kernels: between markers and tokens, or at the end.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator
from itertools import pairwise
from operator import gt

from stapy.debuginfo.elf import Buffer
from stapy.record import Record

# The decimal digits are tokens of their own in every kernel.
_DIGITS = b"".join(b"%d\0" % digit for digit in range(10))
BLOCK = 256  # symbols between two markers
_MAX_SYMBOLS = 1 << 21
_LONGEST_BLOCK = BLOCK * 512  # bytes, generous


class Layout(Record):
    """Where the tables lie in the data given to `locate`; -1 for what is absent.

    ``end`` is one past the last byte that a decoder needs, ``start`` the first.
    """

    count: int
    names: int
    markers: int
    tokens: int
    token_index: int
    offsets: int
    base: int
    sorted: int
    start: int
    end: int


def locate(data: Buffer) -> Layout | None:
    """Find the tables in a kernel image (or its read-only data); None when not found for sure."""
    view = bytes(data) if isinstance(data, memoryview) else data
    at = view.find(_DIGITS)
    while at >= 0:
        found = _locate_by_digits(data, at)
        if found is not None:
            return found
        at = view.find(_DIGITS, at + 1)
    return None


def _locate_by_digits(data: Buffer, digits: int) -> Layout | None:
    """Check all tables around a place where the tokens "0" to "9" stand, or None."""
    tokens = _token_start(data, digits)
    if tokens is None:
        return None
    ends = [tokens]
    at = tokens
    for _ in range(256):
        zero = bytes(data[at : at + 256]).find(b"\0")
        if zero < 0:
            return None
        at += zero + 1
        ends.append(at)
    index = _align(at, 8)
    expected = struct.pack("<256H", *(end - tokens for end in ends[:256]))
    if bytes(data[index : index + 512]) != expected:
        index = _align(at, 4)
        if bytes(data[index : index + 512]) != expected:
            return None
    for first_marker, marker_count in _find_markers(data, tokens):
        counted = _find_count(data, first_marker, marker_count)
        if counted is None:
            continue
        count, start, names = counted
        end_of_markers = first_marker + 4 * marker_count
        by_name = _align(end_of_markers, 8)
        if tokens - by_name < 3 * count:
            by_name = -1
        layout = Layout(
            count, names, first_marker, tokens, index, -1, -1, by_name, start, index + 512
        )
        _find_addresses(data, layout)
        return layout
    return None


def _token_start(data: Buffer, digits: int) -> int | None:
    r"""Find where the token table starts: 48 tokens ("\\0" to "/") before token "0".

    Returns None when it cannot be there.
    """
    low = max(0, digits - 48 * 64)
    before = bytes(data[low:digits])
    at = len(before)
    if at == 0 or before[-1] != 0:
        return None
    for _ in range(48):
        at = before.rfind(b"\0", 0, at - 1) + 1
        if at <= 0:
            break
    start = low + at
    # Tokens below "0" may be empty or unused; the table itself is aligned.
    return start if start % 4 == 0 else None


def _find_markers(data: Buffer, tokens: int) -> Iterator[tuple[int, int]]:
    """Yield ``(position, number)`` of what may be the markers: u32 that rise from 0.

    They end right before ``tokens``, or before 3 bytes for each symbol.
    """
    low = max(0, tokens - 4 * _MAX_SYMBOLS)
    window = bytes(data[low:tokens])
    at = len(window)
    while True:
        at = window.rfind(b"\0\0\0\0", 0, at + 3)
        if at < 0:
            return
        place = low + at
        if place % 4 == 0 and at + 8 <= len(window):
            (second,) = struct.unpack_from("<I", window, at + 4)
            if BLOCK < second < _LONGEST_BLOCK:
                distance = tokens - place
                # n markers and, at most, 3 bytes for each of 256 n symbols
                for number in (distance // 4, *_with_order(distance)):
                    rising = _rising(window, at, number)
                    if rising > 1:
                        yield place, rising


def _with_order(distance: int) -> range:
    """Compute how many markers fit with the symbols' order between them and the tokens."""
    least = distance // (4 + 3 * BLOCK)
    return range(least, least + 3)


def _rising(window: bytes, at: int, number: int) -> int:
    """Return ``number`` (one less, for padding) if so many values rise from ``at``, else 0."""
    if number < 2 or at + 4 * number > len(window):
        return 0
    for count in (min(number, 8), number):  # most wrong places show at once
        values = struct.unpack_from(f"<{count}I", window, at)
        if not all(a < b < a + _LONGEST_BLOCK for a, b in pairwise(values[:-1])):
            return 0
    if values[-1] == 0:  # padding
        values = values[:-1]
    elif not values[-2] < values[-1] < values[-2] + _LONGEST_BLOCK:
        return 0
    return len(values)


def _find_count(data: Buffer, markers: int, marker_count: int) -> tuple[int, int, int] | None:
    """Find ``(count, position of the count, names)``, or None.

    The walk over the names must meet the markers.
    """
    low_count, high_count = (marker_count - 1) * BLOCK + 1, marker_count * BLOCK
    (last,) = struct.unpack_from("<I", data, markers + 4 * (marker_count - 1))
    (second,) = struct.unpack_from("<I", data, markers + 4)
    highest = markers - last
    lowest = max(0, highest - _LONGEST_BLOCK - 64)
    at = highest - highest % 4
    while at >= lowest:
        (value,) = struct.unpack_from("<I", data, at)
        if low_count <= value <= high_count:
            for names in (at + 8, at + 4):
                if names + last < markers and walk(data, names, BLOCK) == names + second:
                    end = walk(data, names + last, value - (marker_count - 1) * BLOCK)
                    if end is not None and 0 <= markers - end < 8:
                        return value, at, names
        at -= 4
    return None


def walk(data: Buffer, at: int, count: int) -> int | None:
    """Find the position after ``count`` compressed names; None behind the end."""
    limit = len(data) - 2
    for _ in range(count):
        if at >= limit:
            return None
        length = data[at]
        if length & 0x80:
            length = (length & 0x7F) | data[at + 1] << 7
            at += 1
        at += length + 1
    return at


def _find_addresses(data: Buffer, layout: Layout) -> None:
    """Fill ``offsets``, ``base`` and ``sorted`` when they can be proved."""
    count = layout.count
    after = _align(layout.token_index + 512, 8)
    candidates = [
        # since 6.4: offsets, base, numbers in the order of names
        (after, _align(after + 4 * count, 8), _align(after + 4 * count, 8) + 8),
        # before: offsets, base, count, names, …
        (layout.start - 8 - _align(4 * count, 8), layout.start - 8, -1),
    ]
    for offsets, base, by_name in candidates:
        if offsets < 0 or base + 8 > len(data):
            continue
        (value,) = struct.unpack_from("<Q", data, base)
        if value < 1 << 63:  # a kernel address
            continue
        rows = array("i")
        rows.frombytes(bytes(data[offsets : offsets + 4 * count]))
        if not _is_ordered(rows):
            continue
        layout.offsets, layout.base = offsets, base
        layout.start, layout.end = min(layout.start, offsets), max(layout.end, base + 8)
        if by_name >= 0 and by_name + 3 * count <= len(data):
            layout.sorted = by_name
            layout.end = by_name + 3 * count
        return


def _is_ordered(rows: array[int]) -> bool:
    """Tell whether symbols are sorted: absolute (per-CPU) ones, then the others."""
    if not rows:
        return False
    keys = list(map(abs, rows))
    falls: int = sum(map(gt, keys, keys[1:]))
    return falls <= 2


def shift(layout: Layout, by: int) -> Layout:
    """Move a layout to data that starts ``by`` bytes later."""
    moved = {
        field: value - by if value >= 0 and field != "count" else value
        for field, value in ((field, getattr(layout, field)) for field in Layout.fields)
    }
    return Layout(**moved)


def _align(at: int, to: int) -> int:
    return at + to - 1 & -to
