"""What is made of binaries once, and kept in the cache."""

from __future__ import annotations

from collections.abc import Callable

from stapy.cache import Cache
from stapy.debuginfo.elf import Buffer, map_file
from stapy.debuginfo.errors import DebuginfoError

KIND = "debuginfo"


def stored(cache: Cache, key: str) -> Buffer | None:
    """Get a content from the cache, None when it is not there."""
    path = cache.get(KIND, key)
    if path is None:
        return None
    try:
        return map_file(path)
    except DebuginfoError:
        return None


def kept(cache: Cache, key: str, make: Callable[[], bytes]) -> Buffer:
    """Get a content from the cache; it is made at most once at a time."""
    data = stored(cache, key)
    if data is None:
        with cache.lock(KIND, key):
            data = stored(cache, key)
            if data is None:
                data = make()
                cache.put_bytes(KIND, key, data)
    return data
