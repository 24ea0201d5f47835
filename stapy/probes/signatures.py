"""Functions named with the types of their parameters: ``name(int, struct file *)``."""

from __future__ import annotations

import re

from stapy.debuginfo import ctypes

_INTEGER = frozenset(("signed", "unsigned", "short", "int", "long", "char"))
_QUALIFIERS = re.compile(r"\b(const|volatile|restrict)\b")


def fits(function: ctypes.FunctionType, text: str) -> bool:
    """Tell whether the parameters are what ``text``, from behind the ``(`` on, says.

    Blanks do not count, ``const`` and its kin only where the text has them.
    """
    body, closing, rest = text.rpartition(")")
    if not closing or rest.strip():
        return False
    wanted = [part.strip() for part in _split(body)]
    if wanted in ([""], ["void"]):
        wanted = []
    if len(wanted) != len(function.params):
        return False
    return all(
        _is_same(ctypes.c_name(parameter.type), want)
        for parameter, want in zip(function.params, wanted)
    )


def _split(text: str) -> list[str]:
    """Split a text at the commas that are in no further parentheses."""
    parts, depth, start = [], 0, 0
    for at, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if char == "," and not depth:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]


def _plain(name: str) -> str:
    words = name.replace("*", " * ").split()
    integer = [word for word in words if word in _INTEGER]
    if len(integer) > 1 or integer in (["unsigned"], ["signed"]):
        # "long unsigned int" and "unsigned long" are one type.
        short = sorted(word for word in integer if word not in ("int", "signed")) or ["int"]
        rest = [word for word in words if word not in _INTEGER]
        words = [*short, *(["int"] if short == ["unsigned"] else []), *rest]
    return " ".join(words)


def _is_same(name: str, wanted: str) -> bool:
    if not _QUALIFIERS.search(wanted):
        name = _QUALIFIERS.sub("", name)
    if _plain(name) == _plain(wanted):
        return True
    # "struct file" and "file" are one type in C++.
    bare = re.sub(r"\b(struct|union|enum|class)\s+", "", name)
    return _plain(bare) == _plain(wanted)
