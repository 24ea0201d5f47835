"""The many ways to write C's basic types, and the one that debug information has."""

from __future__ import annotations

_WORDS = frozenset(("signed", "unsigned", "char", "short", "int", "long"))


def basic_name(text: str) -> str:
    """Spell a basic type as GCC does: ``unsigned long`` gives ``long unsigned int``.

    Returns "" for any other type.
    """
    words = text.split()
    if not words or not _WORDS.issuperset(words):
        return ""
    unsigned, long = "unsigned" in words, words.count("long")
    if "char" in words:
        return "unsigned char" if unsigned else "signed char" if "signed" in words else "char"
    if not long and "short" not in words:
        return "unsigned int" if unsigned else "int"
    size = " ".join(["long"] * long) or "short"
    return f"{size} unsigned int" if unsigned else f"{size} int"
