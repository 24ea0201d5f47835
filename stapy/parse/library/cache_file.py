"""Small files of a cache: read whole, written by a rename, never trusted."""

from __future__ import annotations

import contextlib
import marshal
import os
import zlib
from pathlib import Path
from typing import Any


class CacheFiles:
    """A folder of marshalled values; without a folder everything misses and nothing is kept.

    Each file begins with a check sum, so that a torn write is a miss.
    """

    def __init__(self, folder: Path | None, *, may_read: bool = True) -> None:
        self.folder = folder
        self.readable = may_read

    def get(self, name: str) -> Any:
        """Load a stored value, None when there is none or it is damaged."""
        if self.folder is None or not self.readable:
            return None
        try:
            data = (self.folder / name).read_bytes()
        except OSError:
            return None
        if int.from_bytes(data[:4], "little") != zlib.crc32(data[4:]):
            return None
        try:
            return marshal.loads(data[4:])
        except (ValueError, EOFError, TypeError):
            return None

    def put(self, name: str, value: Any) -> None:
        """Store a value; a full or read-only disk only costs time later."""
        if self.folder is None:
            return
        body = marshal.dumps(value)
        path = self.folder / name
        temporary = path.with_name(f".{name}.{os.getpid()}")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(zlib.crc32(body).to_bytes(4, "little") + body)
            temporary.replace(path)
        except OSError:
            with contextlib.suppress(OSError):
                temporary.unlink()


def digest(text: str) -> str:
    """Make a short name for a text (for file names; contents are compared in full)."""
    data = text.encode("utf-8", "surrogateescape")
    return f"{zlib.crc32(data):08x}{zlib.adler32(data):08x}{len(data):x}"
