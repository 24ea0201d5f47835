"""Decoder of the symbol table that a kernel carries in its own read-only data.

`kallsyms_layout.locate` says where its tables lie.
"""

from __future__ import annotations

import contextlib
import struct
from array import array
from collections.abc import Callable, Iterator
from itertools import pairwise

from stapy.debuginfo.elf import Buffer
from stapy.debuginfo.errors import DebuginfoError
from stapy.debuginfo.symbols.kallsyms_layout import BLOCK, Layout, walk

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
        block, rest = divmod(number, BLOCK)
        (marker,) = struct.unpack_from("<I", self._data, self.layout.markers + 4 * block)
        place = walk(self._data, self.layout.names + marker, rest)
        return b"?" if place is None else self._expand(place)[0]


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """Turn the errors of tables that lead out of the data, or to no text, into `DebuginfoError`."""
    try:
        yield
    except (IndexError, ValueError, struct.error):
        raise DebuginfoError("damaged symbol table in the kernel image") from None
