"""One BTF section as bytes: its header, its strings and where each type lies."""

from __future__ import annotations

import struct
import sys
from array import array
from mmap import mmap
from pathlib import Path

from stapy.debuginfo.btf.index import build_index
from stapy.debuginfo.elf import Buffer
from stapy.debuginfo.errors import DebuginfoError
from stapy.debuginfo.sorted_lines import SortedLines
from stapy.record import Record


class BtfIndex(Record):
    """Position of each type in the type section, and the sorted lines ``kind name number``."""

    positions: array[int]
    names: SortedLines


class BtfSection:
    """Numbers, words and strings; ``name`` is for messages, ``part`` the place in ``data``."""

    def __init__(
        self,
        data: Buffer,
        name: str,
        base: BtfSection | None = None,
        index: BtfIndex | None = None,
        part: tuple[int, int] | None = None,
        kept: Path | None = None,
    ) -> None:
        """Read the header, and index the types unless ``index`` is given.

        ``part`` is start and size in ``data``. ``kept`` is the file of the cache that all this is
        from: it is removed when its content turns out to be damaged.
        """
        self.name = name
        self.base = base
        self._kept = kept
        self._data = data if isinstance(data, (bytes, mmap)) else bytes(data)
        self._read_header(*(part or (0, len(data))))
        self.first: int = base.end if base else 1  # number of the first type of our own
        self._first_text: int = base.text_end if base else 0
        self.text_end: int = self._first_text + self._text_size
        if index is None:
            positions, names = build_index(
                bytes(self._data[self._types : self._types + self._type_size]),
                self._all_texts() if base is None else b"",
                self.first,
                self.string,
                name,
            )
            index = BtfIndex(positions, SortedLines(names))
        self.index = index
        self.end: int = self.first + len(index.positions)  # one past our last type number

    def _read_header(self, start: int, end: int) -> None:
        if end - start < 24:
            raise DebuginfoError(f"{self.name}: BTF data too short")
        header: tuple[int, ...] = struct.unpack_from("<HBBIIIII", self._data, start)
        magic, version, _, size, type_at, type_size, text_at, text_size = header
        if magic != 0xEB9F or sys.byteorder != "little":
            raise DebuginfoError(f"{self.name}: not BTF of a little-endian machine")
        if version != 1:
            raise DebuginfoError(f"{self.name}: BTF version {version} is not known")
        body = start + size
        if size < 24 or body + type_at + type_size > end or type_size % 4:
            raise DebuginfoError(f"{self.name}: BTF types end outside of the data")
        if body + text_at + text_size > end:
            raise DebuginfoError(f"{self.name}: BTF strings end outside of the data")
        self._types, self._type_size = body + type_at, type_size
        self._text, self._text_size = body + text_at, text_size

    def raw(self) -> bytes:
        """Return the whole section, with a header that fits."""
        types = self._data[self._types : self._types + self._type_size]
        texts = self._data[self._text : self._text + self._text_size]
        sizes = (0, len(types), len(types), len(texts))
        return struct.pack("<HBBIIIII", 0xEB9F, 1, 0, 24, *sizes) + types + texts

    def string(self, offset: int) -> bytes:
        """Read the string at an offset; empty for a bad one."""
        if offset < self._first_text:
            return self.base.string(offset) if self.base else b""
        at = offset - self._first_text
        if at >= self._text_size:
            return b""
        start = self._text + at
        end = self._data.find(b"\0", start, self._text + self._text_size)
        return self._data[start:end] if end >= 0 else b""

    def _all_texts(self) -> bytes:
        """Copy all strings; damaged ones (no NUL at the end) get one."""
        texts = bytes(self._data[self._text : self._text + self._text_size])
        return texts if texts.endswith(b"\0") else texts + b"\0"

    def header(self, number: int) -> tuple[int, int, int, int]:
        """Read ``(name offset, info, size or type, position behind)`` of an own type.

        Raises `DebuginfoError` for a number that is not our own or leads out of the data.
        """
        if not self.first <= number < self.end:
            raise self.damaged(f"no BTF type {number}")
        at = self._types + self.index.positions[number - self.first]
        if at + 12 > self._types + self._type_size:
            raise self.damaged(f"BTF type {number} is not in the data")
        name, info, size = struct.unpack_from("<III", self._data, at)
        return name, info, size, at + 12

    def words(self, at: int, count: int) -> tuple[int, ...]:
        """Read ``count`` numbers at a position that `header` gave, or `DebuginfoError`."""
        if at + 4 * count > self._types + self._type_size:
            raise self.damaged("damaged BTF type")
        found: tuple[int, ...] = struct.unpack_from(f"<{count}I", self._data, at)
        return found

    def damaged(self, why: str) -> DebuginfoError:
        """Make the error of data that cannot be, and drop the copy in the cache.

        The next one is made anew.
        """
        if self._kept is not None:
            self._kept.unlink(missing_ok=True)
        return DebuginfoError(f"{self.name}: {why}")
