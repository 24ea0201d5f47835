"""What comes on a session's output: records, and among them what the program of ``-c`` prints."""

from __future__ import annotations

import json
import re
from typing import Any

from stapy.plot.values import checked, items_of, members, text_of
from stapy.run.ground.manifest import SCHEMA

_START = re.compile(r'\{"type": "')  # of each record
_MESSAGES = ("warning", "error", "log")
_GLOBALS = ("global", "snapshot")
_OTHERS = ("lost", "overwritten", "end")
_HALF = re.compile(r"\\u[dD]")  # of a character, as JSON has it; there may be no other half
_DECODER = json.JSONDecoder()
# Raised for what has no record's form.
_NO_RECORD = (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError)


class Lines:
    """Makes lines of text that comes in pieces; a long one costs no more than its length."""

    def __init__(self) -> None:
        self._pieces: list[str] = []

    def feed(self, text: str) -> list[str]:
        """Take a piece; return the lines that have ended."""
        if "\n" not in text:
            self._pieces.append(text)
            return []
        *lines, rest = "".join([*self._pieces, text]).split("\n")
        self._pieces = [rest]
        return lines

    def rest(self) -> str:
        """Return what no line's end came behind, and forget it."""
        pieces, self._pieces = self._pieces, []
        return "".join(pieces)


def taken_apart(line: str) -> tuple[str, dict[str, Any] | None]:
    """Split a line into what was printed before a record, and the record; None for no record.

    The program of -c may stop within a line, and a record comes behind it.
    """
    length = len(line.rstrip())
    for start in _START.finditer(line):
        try:
            found, end = _DECODER.raw_decode(line, start.start())
            if end < length:
                continue
            if _HALF.search(line, start.start()):
                found = _whole_characters(found)
            _check(found)
        except _NO_RECORD:
            continue
        return line[: start.start()], found
    return line, None


def _whole_characters(record: object) -> Any:
    """Write halves of characters as '?', so that whoever shows them can."""
    text = json.dumps(record, ensure_ascii=False)
    return json.loads(text.encode("utf-8", "replace"))


def _check(record: dict[str, Any]) -> None:
    """Raise one of `_NO_RECORD` for an object that no session tells."""
    kind, when, host = record["type"], record["time"], record.get("host", 0)
    if isinstance(when, bool) or not isinstance(when, int | float) or not isinstance(host, int):
        raise TypeError
    if not 0 <= when < 1e11:  # nor NaN
        raise ValueError
    if kind in ("print", "text"):
        text_of(record["text"])
    if kind == "print":
        text_of(record["place"])
        text_of(record.get("probe", ""))
        for value in members(record["fields"]).values():
            checked(value)
    elif kind in _GLOBALS:
        _check_global(record)
    elif kind == "look":
        text_of(record["name"])
    elif kind in _MESSAGES:
        text_of(record["message"])
    elif kind == "begin":
        text_of(record["script"])
        text_of(record.get("uri", ""))
        if record["schema"] != SCHEMA:
            raise ValueError
    elif kind != "text" and kind not in _OTHERS:
        raise ValueError


def _check_global(record: dict[str, Any]) -> None:
    text_of(record["name"])
    text_of(record.get("stack", ""))
    for key in items_of(record, "keys"):
        if isinstance(key, dict):
            raise TypeError
        checked(key)
    checked(record["value"])
