"""System calls as strace names their arguments, beside `tests/tapsets/every_call.table`.

    python -m tests.oracle.strace [--kernel 6.1]

The table says what our aliases show of each call, which a test compares with what they do show.
Here the program that makes those calls runs under strace, in a guest. What both must have alike is
the meaning, not the form: the names of constants and the texts among the arguments. Numbers are
not compared, and what strace reads from memory that an alias shows the address of (in braces and
brackets) is left out. A name that only one of the two gives is a difference; those of `strace.txt`
are known. The exit status is 1 when there are others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

EXPECTED = "-7777"
_CALL = re.compile(r"(?P<name>\w+)\((?P<args>.*)")
_NAME = re.compile(r"\b[A-Z_][A-Z0-9]*_[A-Z0-9_]*[A-Z0-9]\b")
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')
_ENDS = {"(": ")", "[": "]", "{": "}"}


def calls(log: str) -> Iterator[tuple[str, str]]:
    """Yield what the table shows of each call with the line that strace has of it."""
    labels: dict[str, str] = {}
    for line in log.splitlines():
        process, _, text = line.partition(" ")
        text = text.strip()
        mark = re.match(rf'write\({EXPECTED}, "((?:[^"\\]|\\.)*)", \d+\)', text)
        if mark:
            labels[process] = plain(mark[1])
        elif process in labels and not text.startswith(("---", "+++")):
            yield labels.pop(process), text


def plain(text: str) -> str:
    """Undo the escapes of strace in a text."""
    return text.encode("latin-1", "replace").decode("unicode_escape")


def arguments(text: str) -> list[str]:
    """Split the arguments of a call, which end where its parenthesis closes or the text does."""
    found, start, depth, at = [], 0, 0, 0
    while at < len(text):
        quoted = _TEXT.match(text, at)
        if quoted:
            at = quoted.end()
            continue
        letter = text[at]
        if letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
            if depth < 0:
                break
        elif letter == "," and not depth:
            found.append(text[start:at].strip())
            start = at + 1
        at += 1
    found.append(text[start:at].strip())
    return [one for one in found if one]
