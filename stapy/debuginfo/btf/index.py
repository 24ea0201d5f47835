"""The walk over all type headers of a BTF section: where each type is and what it is called."""

from __future__ import annotations

from array import array
from collections.abc import Callable

from stapy.debuginfo.errors import DebuginfoError
from stapy.debuginfo.sorted_lines import SortedLines

INT, PTR, ARRAY, STRUCT, UNION, ENUM, FWD, TYPEDEF = 1, 2, 3, 4, 5, 6, 7, 8
VOLATILE, CONST, RESTRICT, FUNC, FUNC_PROTO, VAR, DATASEC = 9, 10, 11, 12, 13, 14, 15
FLOAT, DECL_TAG, TYPE_TAG, ENUM64 = 16, 17, 18, 19

# Words after the three of the header: fixed, and for each of ``vlen`` elements.
_FIXED = {INT: 1, ARRAY: 3, VAR: 1, DECL_TAG: 1}
_EACH = {STRUCT: 3, UNION: 3, ENUM: 2, FUNC_PROTO: 2, DATASEC: 3, ENUM64: 3}
_KINDS = 20

# First word of an index line.  Forward declarations: "w" struct, "W" union.
KIND_LETTERS = {
    INT: b"i",
    FLOAT: b"i",
    STRUCT: b"s",
    UNION: b"u",
    ENUM: b"e",
    ENUM64: b"e",
    TYPEDEF: b"t",
    FUNC: b"f",
    VAR: b"v",
    FWD: b"w",
}


def kind_of(info: int) -> int:
    """Extract the kind from a type header's info word."""
    return info >> 24 & 31


def build_index(
    types: bytes, texts: bytes, first: int, string: Callable[[int], bytes], name: str
) -> tuple[array[int], bytes]:
    """Index all types: byte position of each, and sorted lines "letter name number".

    ``texts`` are the strings when they start at offset 0, else empty: then
    ``string`` finds them.  A blank inside a name ("unsigned int") is a tab in the line.
    """
    words = array("I")
    words.frombytes(types)
    fixed = [3 + _FIXED.get(kind, 0) for kind in range(32)]
    each = [_EACH.get(kind, 0) for kind in range(32)]
    letters = [KIND_LETTERS.get(kind) for kind in range(32)]
    positions = array("I")
    add = positions.append
    lines: list[bytes] = []
    at, end, number = 0, len(words), first
    try:
        while at < end:
            info = words[at + 1]
            kind = info >> 24 & 31
            add(at * 4)
            letter = letters[kind]
            if letter is not None and words[at]:
                if texts:  # what string() does, without 60 000 calls
                    start = words[at]
                    text = texts[start : texts.find(b"\0", start)]
                else:
                    text = string(words[at])
                if kind == FWD and info >> 31:
                    letter = b"W"
                if b" " in text:
                    text = text.replace(b" ", b"\t")
                if b"\n" not in text:
                    lines.append(b"%b %b %d" % (letter, text, number))
            elif not 0 < kind < _KINDS:
                raise DebuginfoError(f"{name}: BTF type {number} is of unknown kind {kind}")
            at += fixed[kind] + each[kind] * (info & 0xFFFF)
            number += 1
    except IndexError:
        raise DebuginfoError(f"{name}: BTF type {number} is cut off") from None
    if at != end:
        raise DebuginfoError(f"{name}: BTF type {number - 1} ends outside of the data")
    return positions, SortedLines.encode(lines)
