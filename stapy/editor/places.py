"""A state of a document, with its places as editors count them."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from lsprotocol import types as lsp

from stapy.parse.encoding import plain

if TYPE_CHECKING:
    from pygls.workspace import PositionCodec

_ENDS = re.compile(r"\r\n|\n|\r")  # of lines, in the protocol
_HALVES = re.compile(r"[\ud800-\udfff]")  # JSON may have halves of a character


class DocumentState:
    """One version of a document: ``text`` is what passes and answers read.

    Offsets are those of ``text``. A byte order mark is not in it, and lines that end in CR alone
    end in LF; what the editor sends has them.
    """

    def __init__(self, uri: str, version: int | None, source: str, codec: PositionCodec) -> None:
        self.uri = uri
        self.version = version
        self.text = plain(source)
        self._shift = len(source) - len(self.text)
        self.text = _HALVES.sub("\ufffd", self.text)
        self._source = _HALVES.sub("\ufffd", source)
        self._codec = codec
        self._starts = [0, *(found.end() for found in _ENDS.finditer(source))]
        self._lines = [0, *(found.end() for found in re.finditer("\n", self.text))]

    def offset(self, position: lsp.Position) -> int:
        """Find the offset of a position; one past the end of a line, or of all, means that end."""
        if position.line >= len(self._starts):
            return len(self.text)
        start = self._starts[position.line]
        line = _ENDS.split(self._source[start : self._end(position.line)], maxsplit=1)[0]
        units = at = 0
        while at < len(line) and units < position.character:
            units += self._codec.client_num_units(line[at])
            at += 1
        return max(start + at - self._shift, 0)

    def _end(self, line: int) -> int:
        return self._starts[line + 1] if line + 1 < len(self._starts) else len(self._source)

    def position(self, offset: int) -> lsp.Position:
        """Find the position of an offset."""
        at = min(max(offset, 0) + self._shift, len(self._source))
        line = bisect_right(self._starts, at) - 1
        units = self._codec.client_num_units(self._source[self._starts[line] : at])
        return lsp.Position(line, int(units))

    def place(self, line: int, column: int) -> lsp.Position:
        """Find the position of a line and column of a message, which count from 1."""
        line = min(max(line, 1), len(self._lines))
        return self.position(self._lines[line - 1] + max(column, 1) - 1)

    def range(self, start: int, end: int) -> lsp.Range:
        """Find the range of ``[start, end)``."""
        return lsp.Range(self.position(start), self.position(end))
