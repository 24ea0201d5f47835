"""Is a regular expression well formed?  The automaton itself is made in pass 3."""

from __future__ import annotations

import re

CLASSES = {
    "alpha",
    "digit",
    "xdigit",
    "alnum",
    "upper",
    "lower",
    "space",
    "blank",
    "cntrl",
    "graph",
    "print",
    "punct",
}
MAX_REPEAT = 255
_BRACES = re.compile(r"\{(\d+)(?:(,)(\d*))?\}")


def _bracket(pattern: str, at: int) -> tuple[int, str]:
    """``(next position, error)`` of a bracket expression that begins at ``at``."""
    i = at + 1
    if pattern[i : i + 1] == "^":
        i += 1
    if pattern[i : i + 1] == "]":
        i += 1
    while i < len(pattern):
        if pattern[i] == "]":
            return i + 1, ""
        if pattern.startswith("[:", i):
            end = pattern.find(":]", i + 2)
            if end < 0:
                return i, "unclosed character class"
            if pattern[i + 2 : end] not in CLASSES:
                return i, f"unknown character class '{pattern[i + 2 : end]}'"
            i = end + 2
            continue
        if pattern[i + 1 : i + 2] == "-" and pattern[i + 2 : i + 3] not in ("", "]"):
            if pattern[i] > pattern[i + 2]:
                return i, f"inverted character range {pattern[i]}-{pattern[i + 2]}"
            i += 3
            continue
        i += 1
    return at, "unclosed character class"


def check(pattern: str) -> tuple[int, str] | None:
    """``(position, what is wrong)``, None for a good pattern."""
    i = 0
    opened: list[int] = []
    operand = False
    while i < len(pattern):
        char = pattern[i]
        if char == "[":
            following, wrong = _bracket(pattern, i)
            if wrong:
                return following, wrong
            i, operand = following, True
            continue
        if char == "\\":
            if i + 1 >= len(pattern):
                return i, "backslash at end of regex"
            i, operand = i + 2, True
            continue
        if char == "(":
            opened.append(i)
            operand = False
        elif char == ")":
            if not opened:
                return i, "unexpected )"
            opened.pop()
            operand = True
        elif char in "*+?":
            if not operand:
                return i, f"unexpected {char}, nothing to repeat"
        elif char == "{":
            found = _BRACES.match(pattern, i)
            if found is None:
                return i, "expected a number or a range in { }"
            low = int(found[1])
            high = int(found[3]) if found[3] else low
            if not operand:
                return i, "unexpected {, nothing to repeat"
            if high < low or high > MAX_REPEAT:
                return i, f"bad repetition {found[0]}"
            i = found.end()
            continue
        else:
            operand = char not in "|^"
        i += 1
    if opened:
        return opened[-1], "expected ), found end of regex"
    return None
