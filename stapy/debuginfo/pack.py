"""Several named byte strings in one file that is mapped and not read: the form of our caches."""

from __future__ import annotations

import struct
from array import array
from typing import Literal

from stapy.debuginfo.elf import Buffer
from stapy.debuginfo.errors import DebuginfoError

_MAGIC = b"STAPYPK1"
_ROW = struct.Struct("<16sQQ")


def encode(parts: dict[str, bytes]) -> bytes:
    """Join all parts as the content of one file; each starts at a multiple of 8."""
    at = len(_MAGIC) + 8 + _ROW.size * len(parts)
    rows, body = [], []
    for name, data in parts.items():
        padding = -at % 8
        at += padding
        body += [b"\0" * padding, data]
        rows.append(_ROW.pack(name.encode(), at, len(data)))
        at += len(data)
    return b"".join([_MAGIC, struct.pack("<Q", len(parts)), *rows, *body])


def decode(data: Buffer) -> dict[str, tuple[int, int]]:
    """Find the parts of a content: name to ``(start, end)`` in ``data``.

    Raises `DebuginfoError` for damage and other versions.
    """
    if len(data) < 16 or bytes(data[:8]) != _MAGIC:
        raise DebuginfoError("not an index of this version")
    (count,) = struct.unpack_from("<Q", data, 8)
    if count > (len(data) - 16) // _ROW.size:
        raise DebuginfoError("damaged index")
    parts: dict[str, tuple[int, int]] = {}
    for number in range(count):
        name, start, size = _ROW.unpack_from(data, 16 + number * _ROW.size)
        if start + size > len(data):
            raise DebuginfoError("damaged index")
        parts[name.rstrip(b"\0").decode("latin-1")] = (start, start + size)
    return parts


def numbers(code: Literal["I", "Q", "q"], part: bytes) -> array[int]:
    """Read the numbers of a part, ``code`` as `array` has it; `DebuginfoError` for damage."""
    found: array[int] = array(code)
    try:
        found.frombytes(part)
    except ValueError:
        raise DebuginfoError("damaged index") from None
    return found
