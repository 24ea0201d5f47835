"""Names of C++ and Rust that are read out of the linker's, where these are plain.

``_ZN4shop4Cart3addEi`` has the names shop, Cart and add, each behind its length. Templates,
operators and what refers to an earlier part of a name are not read: whoever needs them has debug
information, or writes the linker's name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.debuginfo.glob import matcher
from stapy.patterns import compiled_when_used

if TYPE_CHECKING:
    from collections.abc import Iterable

_BEGIN = compiled_when_used(r"_ZL?(N?)[KVrRO]*(St)?")
_LENGTH = compiled_when_used(r"L?([1-9][0-9]{0,4})")
_SELF = compiled_when_used(r"(C[123]|D[012])(?=E)")  # constructors and destructors
_TAG = compiled_when_used(r"B([1-9][0-9]{0,4})")
_HASH = compiled_when_used(r"h[0-9a-f]{16}")  # behind the names of Rust
_NAMELESS = "_GLOBAL__N_1"
_MOST_SCOPES = 64  # a pattern is tried from each of them on, and no programmer has more


def qualified(name: str) -> str:
    """Read a linker's name as ``shop::Cart::add``, "" where that is not to be told."""
    begin = _BEGIN().match(name)
    if begin is None or "." in name:
        return ""
    words = ["std"] if begin[2] else []
    at = begin.end()
    while len(words) <= _MOST_SCOPES:
        found = _LENGTH().match(name, at)
        if found is None:
            break
        at = found.end() + int(found[1])
        word = name[found.end() : at]
        words.append("(anonymous namespace)" if word == _NAMELESS else word)
        while tag := _TAG().match(name, at):
            at = tag.end() + int(tag[1])
        if not begin[1]:
            break
    own = _SELF().match(name, at)
    if own is not None and words:
        words.append(words[-1] if own[1][0] == "C" else f"~{words[-1]}")
        at = own.end()
    rest = name[at:]
    is_whole = rest.startswith("E") if begin[1] else rest[:1] not in ("", "I")
    if not is_whole or len(words) <= bool(begin[2]):
        return ""
    if rest == "E" and _HASH().fullmatch(words[-1]):
        del words[-1]
    return "" if any("$" in word for word in words) else "::".join(words)


def matching(pattern: str, names: Iterable[str]) -> set[str]:
    """Select the linker's names of functions that a pattern means, with their scopes or some."""
    fits = matcher(pattern)
    found = set()
    for name in names:
        whole = qualified(name)
        while whole:
            if fits(whole):
                found.add(name)
                break
            whole = whole.partition("::")[2]
    return found
