"""Wildcards ``* ? []`` of probe points, turned into a compiled test."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Sequence
from functools import lru_cache

_SPECIAL = re.compile(r"[*?\[\\]")


def has_wildcard(pattern: str) -> bool:
    """Tell whether a pattern can match more than itself."""
    return any(character in pattern for character in "*?[")


def literal_prefix(pattern: str) -> str:
    """Cut off the characters that each match starts with."""
    found = _SPECIAL.search(pattern)
    return pattern[: found.start()] if found else pattern


def plain(name: str) -> str:
    """Turn a name into a pattern that matches nothing else: operators of C++ have stars."""
    return name.replace("*", "[*]") if has_wildcard(name) else name


@lru_cache(maxsize=256)
def matcher(pattern: str) -> Callable[[str], bool]:
    """Compile a pattern into a test of a whole name."""
    if not has_wildcard(pattern):
        return pattern.__eq__
    # ``[^x]`` is the C library's second spelling of ``[!x]``.
    match = re.compile(fnmatch.translate(pattern.replace("[^", "[!"))).match
    return lambda name: match(name) is not None


def matching(pattern: str, names: Sequence[str]) -> list[int]:
    """List the places of the names that match a pattern; quick for many of which few do."""
    match, first = matcher(pattern), literal_prefix(pattern)
    if not first:
        return [row for row, name in enumerate(names) if match(name)]
    return [row for row, name in enumerate(names) if name.startswith(first) and match(name)]
