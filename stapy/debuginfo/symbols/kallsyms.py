"""Decoder of the symbol table that a kernel carries in its own read-only data.

A kernel built with CONFIG_KALLSYMS holds all its symbol names, compressed by a
dictionary of 256 tokens, in tables without any header.  `locate` finds them in
an image by what must hold between the tables; what it cannot prove, it does not
return.  Two orders are known: addresses before the names (until 6.3), addresses
after the tokens (since 6.4).  The symbols' order by name came with 6.2 and was
ported back to older stable kernels: between markers and tokens, or at the end.
"""

from __future__ import annotations

import contextlib
import struct
from array import array
from collections.abc import Callable, Iterator
from itertools import pairwise
from operator import gt

from stapy.debuginfo.elf import Buffer
from stapy.debuginfo.errors import DebuginfoError
from stapy.record import Record

# The decimal digits are tokens of their own in every kernel.
_DIGITS = b"".join(b"%d\0" % digit for digit in range(10))
_BLOCK = 256  # symbols between two markers
# Functions in these parts of the text: mark, first symbol, symbol behind the last.
SECTIONS = (
    (b"i", b"_sinittext", b"_einittext"),  # freed after boot
    (b"i", b"_einittext", b"__init_end"),  # what unloads modules, were this one
    (b"n", b"__noinstr_text_start", b"__noinstr_text_end"),
    (b"k", b"__kprobes_text_start", b"__kprobes_text_end"),
    (b"e", b"__entry_text_start", b"__entry_text_end"),
)
_BOUNDS = {name for _, *names in SECTIONS for name in names}
# NOKPROBE_SYMBOL(f) leaves a variable of this name and f; f gets the mark "b".
_REFUSED = b"_kbl_addr_"
_CODE = (b"t", b"T", b"w", b"W")  # kinds of functions
_MAX_SYMBOLS = 1 << 21
_LONGEST_BLOCK = _BLOCK * 512  # bytes, generous


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
            if _BLOCK < second < _LONGEST_BLOCK:
                distance = tokens - place
                # n markers and, at most, 3 bytes for each of 256 n symbols
                for number in (distance // 4, *_with_order(distance)):
                    rising = _rising(window, at, number)
                    if rising > 1:
                        yield place, rising


def _with_order(distance: int) -> range:
    """Compute how many markers fit with the symbols' order between them and the tokens."""
    least = distance // (4 + 3 * _BLOCK)
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
    low_count, high_count = (marker_count - 1) * _BLOCK + 1, marker_count * _BLOCK
    (last,) = struct.unpack_from("<I", data, markers + 4 * (marker_count - 1))
    (second,) = struct.unpack_from("<I", data, markers + 4)
    highest = markers - last
    lowest = max(0, highest - _LONGEST_BLOCK - 64)
    at = highest - highest % 4
    while at >= lowest:
        (value,) = struct.unpack_from("<I", data, at)
        if low_count <= value <= high_count:
            for names in (at + 8, at + 4):
                if names + last < markers and _walk(data, names, _BLOCK) == names + second:
                    end = _walk(data, names + last, value - (marker_count - 1) * _BLOCK)
                    if end is not None and 0 <= markers - end < 8:
                        return value, at, names
        at -= 4
    return None


def _walk(data: Buffer, at: int, count: int) -> int | None:
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


class Kallsyms:
    """Names, kinds and addresses out of the tables that `locate` found."""

    def __init__(self, data: Buffer, layout: Layout) -> None:
        self._data = data
        self.layout = layout
        self._marks: list[tuple[bytes, int, int]] | None = None
        with _told():
            table = bytes(data[layout.tokens : layout.token_index])
            index = bytes(data[layout.token_index : layout.token_index + 512])
            starts = struct.unpack("<256H", index)
            self._tokens = [table[start : table.index(b"\0", start)] for start in starts]

    def __len__(self) -> int:
        return self.layout.count

    def _expand(self, at: int) -> tuple[bytes, int]:
        """Decode kind letter and name at a position; return the position after it, too."""
        data = self._data
        length = data[at]
        at += 1
        if length & 0x80:
            length = (length & 0x7F) | data[at] << 7
            at += 1
        chunk = bytes(data[at : at + length])
        return b"".join(map(self._tokens.__getitem__, chunk)), at + length

    def symbols(self) -> Iterator[tuple[str, str, int]]:
        """Yield ``(name, kind letter, address)`` in order of address."""
        at = self.layout.names
        with _told():
            addresses = self._addresses() or [0] * self.layout.count
            for address in addresses:
                text, at = self._expand(at)
                yield text[1:].decode("latin-1"), chr(text[0]), address

    def text(self) -> bytes:
        """Decode all symbols to sorted lines ``name kind``, the marks of `sections` behind.

        The form in which they are cached: a name is found by its bytes.
        """
        with _told():
            return self._text()

    def _text(self) -> bytes:
        data = bytes(self._data[: self.layout.markers])
        get, join = self._tokens.__getitem__, b"".join
        at = self.layout.names
        texts: list[bytes] = []
        add = texts.append
        for _ in range(self.layout.count):
            length = data[at]
            at += 1
            if length & 0x80:
                length = (length & 0x7F) | data[at] << 7
                at += 1
            end = at + length
            add(join(map(get, data[at:end])))
            at = end
        lines = [text[1:] + b" " + text[:1] for text in texts]
        numbers = {text[1:]: number for number, text in enumerate(texts) if text[1:] in _BOUNDS}
        for mark, first, last in self._sections(lambda name: numbers.get(name, -1)):
            lines[first:last] = [line + mark for line in lines[first:last]]
        start = len(_REFUSED) + 1
        refused = {text[start:] for text in texts if text[1:].startswith(_REFUSED)}
        for number, text in enumerate(texts) if refused else ():
            if text[1:] in refused:
                lines[number] += b"b"
        for number in self._sharing():
            if texts[number][:1] in _CODE:
                lines[number] += self._shared(number)
        lines.sort()
        return b"\n".join(lines) + b"\n"

    def _sharing(self) -> Iterator[int]:
        """Yield the numbers of the symbols whose address is that of another one."""
        rows = self._rows()
        last = -1
        for number, (row, following) in enumerate(pairwise(rows)):
            if row == following:
                if last != number:
                    yield number
                last = number + 1
                yield last

    def _shared(self, number: int) -> bytes:
        """Make the mark of a symbol among others of its address, empty for a single one."""
        row = self._row(number)
        first = self._first_there(number)
        if row is None or (first == number and row != self._row(number + 1)):
            return b""
        return b"=%d" % first

    def _sections(self, number_of: Callable[[bytes], int]) -> list[tuple[bytes, int, int]]:
        """List ``(mark, first, last)``: symbol numbers that lie in each of `SECTIONS`."""
        found: list[tuple[bytes, int, int]] = []
        for mark, start, end in SECTIONS:
            first, last = number_of(start), number_of(end)
            if 0 <= first < last:
                found.append((mark, self._first_there(first), self._first_there(last)))
        return found

    def _first_there(self, number: int) -> int:
        """Find the first of the symbols that share a symbol's address."""
        row = self._row(number)
        while row is not None and number and self._row(number - 1) == row:
            number -= 1
        return number

    def _row(self, number: int) -> bytes | None:
        if self.layout.offsets < 0 or number >= self.layout.count:
            return None
        at = self.layout.offsets + 4 * number
        return bytes(self._data[at : at + 4])

    def _rows(self) -> array[int]:
        """Read the addresses as the table has them; empty when it was not found."""
        rows = array("i")
        if self.layout.offsets >= 0:
            end = self.layout.offsets + 4 * self.layout.count
            rows.frombytes(bytes(self._data[self.layout.offsets : end]))
        return rows

    def _addresses(self) -> list[int]:
        layout = self.layout
        if layout.offsets < 0:
            return []
        (base,) = struct.unpack_from("<Q", self._data, layout.base)
        rows = self._rows()
        if any(row < 0 for row in rows):  # CONFIG_KALLSYMS_ABSOLUTE_PERCPU
            return [row if row >= 0 else base - 1 - row for row in rows]
        return [base + row for row in rows]

    def address(self, name: str) -> int:
        """Find the link address of a symbol, 0 when there is none."""
        if not self.searchable:
            return next((at for row, _, at in self.symbols() if row == name), 0)
        with _told():
            numbers = self._numbers(name.encode())
            return self._addresses()[numbers[0]] if numbers and self.layout.offsets >= 0 else 0

    # --- search without decoding everything ------------------------------

    @property
    def searchable(self) -> bool:
        """True when the kernel brought its symbols' order by name."""
        return self.layout.sorted >= 0

    def find(self, name: str) -> list[str]:
        """List kind and marks, as in `text`, of all symbols of a name; needs `searchable`."""
        with _told():
            return self._find(name.encode())

    def _find(self, wanted: bytes) -> list[str]:
        numbers = self._numbers(wanted)
        if not numbers:
            return []
        if self._marks is None:
            self._marks = self._sections(lambda text: (self._numbers(text) or [-1])[0])
        refused = "b" if self._numbers(_REFUSED + wanted) else ""
        kinds: list[str] = []
        for number in numbers:
            kind = self._by_number(number)[:1]
            marks = [mark for mark, first, last in self._marks if first <= number < last]
            shared = self._shared(number).decode() if kind in _CODE else ""
            kinds.append(b"".join([kind, *marks]).decode() + refused + shared)
        return kinds

    def _numbers(self, wanted: bytes) -> list[int]:
        low, high = 0, self.layout.count
        while low < high:
            middle = (low + high) // 2
            if self._by_number(self._by_name(middle))[1:] < wanted:
                low = middle + 1
            else:
                high = middle
        numbers: list[int] = []
        while low < self.layout.count:
            number = self._by_name(low)
            if self._by_number(number)[1:] != wanted:
                break
            numbers.append(number)
            low += 1
        return numbers

    def _by_name(self, rank: int) -> int:
        at = self.layout.sorted + 3 * rank
        return int.from_bytes(bytes(self._data[at : at + 3]), "big")

    def _by_number(self, number: int) -> bytes:
        if number >= self.layout.count:
            return b"?"
        block, rest = divmod(number, _BLOCK)
        (marker,) = struct.unpack_from("<I", self._data, self.layout.markers + 4 * block)
        place = _walk(self._data, self.layout.names + marker, rest)
        return b"?" if place is None else self._expand(place)[0]


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """Turn the errors of tables that lead out of the data, or to no text, into `DebuginfoError`."""
    try:
        yield
    except (IndexError, ValueError, struct.error):
        raise DebuginfoError("damaged symbol table in the kernel image") from None


def shift(layout: Layout, by: int) -> Layout:
    """Move a layout to data that starts ``by`` bytes later."""
    moved = {
        field: value - by if value >= 0 and field != "count" else value
        for field, value in ((field, getattr(layout, field)) for field in Layout.fields)
    }
    return Layout(**moved)


def _align(at: int, to: int) -> int:
    return at + to - 1 & -to
