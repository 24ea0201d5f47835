"""JSON without Python's `json`, which a bare Python lacks and which is slow to import."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Tuple, Union

_BLANKS = " \t\n\r"
_DEPTH = 100
_ESCAPES = {
    '"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
}  # fmt: skip
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
_WORDS = (("true", True), ("false", False), ("null", None))
_HEX = frozenset("0123456789abcdefABCDEF")
_DIGITS = frozenset("0123456789")


def read(text: str) -> Any:
    """Read a document; `ValueError` for what is none."""
    value, at = _value(text, _blank(text, 0), 0)
    if _blank(text, at) != len(text):
        raise ValueError("something follows")
    return value


def line(fields: "Dict[str, Union[str, int]]") -> str:
    """Write an object of texts and whole numbers as one line of ASCII."""
    rows = (
        f"{_quoted(key)}: {_quoted(value) if isinstance(value, str) else value}"
        for key, value in fields.items()
    )
    return "{" + ", ".join(rows) + "}"


def write(value: object) -> str:
    """Write a value of texts, numbers, lists and dictionaries as one line of ASCII."""
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_quoted(k)}: {write(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(write, value)) + "]"
    return "null" if value is None else repr(value)


def _quoted(text: str) -> str:
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    found = []
    for letter in text:
        code = ord(letter)
        if letter in _SHORT:
            found.append(_SHORT[letter])
        elif 32 <= code < 127:
            found.append(letter)
        elif code < 0x10000:
            found.append(f"\\u{code:04x}")
        else:
            code -= 0x10000
            found.append(f"\\u{0xD800 | code >> 10:04x}\\u{0xDC00 | code & 0x3FF:04x}")
    return '"' + "".join(found) + '"'


def _blank(text: str, at: int) -> int:
    while text[at : at + 1] and text[at] in _BLANKS:
        at += 1
    return at


def _value(text: str, at: int, depth: int) -> "Tuple[object, int]":
    if depth > _DEPTH:
        raise ValueError("too deep")
    first = text[at : at + 1]
    if first == '"':
        return _string(text, at + 1)
    if first == "{":
        return _object(text, at, depth)
    if first == "[":
        return _array(text, at, depth)
    for word, value in _WORDS:
        if text.startswith(word, at):
            return value, at + len(word)
    return _number(text, at)


def _object(text: str, at: int, depth: int) -> "Tuple[Dict[str, object], int]":
    found: Dict[str, object] = {}
    at = _blank(text, at + 1)
    if text[at : at + 1] == "}":
        return found, at + 1
    while True:
        if text[at : at + 1] != '"':
            raise ValueError("no name")
        key, at = _string(text, at + 1)
        at = _blank(text, at)
        if text[at : at + 1] != ":":
            raise ValueError("no colon")
        found[key], at = _value(text, _blank(text, at + 1), depth + 1)
        at = _blank(text, at)
        if text[at : at + 1] == "}":
            return found, at + 1
        if text[at : at + 1] != ",":
            raise ValueError("no comma")
        at = _blank(text, at + 1)


def _array(text: str, at: int, depth: int) -> "Tuple[List[object], int]":
    found: List[object] = []
    at = _blank(text, at + 1)
    if text[at : at + 1] == "]":
        return found, at + 1
    while True:
        value, at = _value(text, at, depth + 1)
        found.append(value)
        at = _blank(text, at)
        if text[at : at + 1] == "]":
            return found, at + 1
        if text[at : at + 1] != ",":
            raise ValueError("no comma")
        at = _blank(text, at + 1)


def _string(text: str, at: int) -> "Tuple[str, int]":
    """Read a text whose first quote is before ``at``."""
    pieces = []
    while True:
        end = text.index('"', at)
        back = text.find("\\", at, end)
        piece = text[at : end if back < 0 else back]
        if piece and min(piece) < " ":
            raise ValueError("a control character")
        pieces.append(piece)
        if back < 0:
            return "".join(pieces), end + 1
        letter, at = _escape(text, back + 1)
        pieces.append(letter)


def _escape(text: str, at: int) -> "Tuple[str, int]":
    letter = text[at : at + 1]
    if letter != "u":
        if letter not in _ESCAPES:
            raise ValueError("an unknown escape")
        return _ESCAPES[letter], at + 1
    code = _digits(text, at + 1)
    at += 5
    if 0xD800 <= code < 0xDC00 and text.startswith("\\u", at):
        low = _digits(text, at + 2)
        if 0xDC00 <= low < 0xE000:
            return chr(0x10000 + ((code & 0x3FF) << 10 | low & 0x3FF)), at + 6
    return chr(code), at


def _digits(text: str, at: int) -> int:
    digits = text[at : at + 4]
    if len(digits) < 4 or not _HEX.issuperset(digits):
        raise ValueError("no hexadecimal digits")
    return int(digits, 16)


def _number(text: str, at: int) -> "Tuple[Union[int, float], int]":
    start = at
    at += text.startswith("-", at)
    whole = _run(text, at)
    if whole == at or (text[at] == "0" and whole > at + 1):
        raise ValueError("no value")
    at = whole
    is_whole = True
    if text.startswith(".", at) and _run(text, at + 1) > at + 1:
        at, is_whole = _run(text, at + 1), False
    if text[at : at + 1] in ("e", "E"):
        digits = at + 1 + (text[at + 1 : at + 2] in ("+", "-"))
        if _run(text, digits) > digits:
            at, is_whole = _run(text, digits), False
    piece = text[start:at]
    return (int(piece) if is_whole else float(piece)), at


def _run(text: str, at: int) -> int:
    """Find the end of a run of digits."""
    while text[at : at + 1] in _DIGITS:
        at += 1
    return at
