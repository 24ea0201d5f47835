"""C spellings of values: literals, identifiers, comments."""

from __future__ import annotations

import re

_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\n": "\\n",
    "\t": "\\t",
    "\r": "\\r",
}
_SPECIAL = re.compile(r"[^ !#-\[\]-~]")
_WORD = re.compile(r"[^0-9A-Za-z_]+")
S64_MIN = -(1 << 63)


def string_literal(text: str) -> str:
    """Quote a C string literal; with octal escapes, because hexadecimal ones have no end."""

    def escape(match: re.Match[str]) -> str:
        char = match.group()
        return _ESCAPES.get(char) or f"\\{ord(char) & 0xFF:03o}"

    return '"' + _SPECIAL.sub(escape, text) + '"'


def name_literal(name: str) -> str:
    """Quote the name of a file or symbol, which is no text of bytes yet, as a C string literal."""
    if not name.isascii():
        name = name.encode("utf-8", "surrogateescape").decode("latin-1")
    return string_literal(name)


def number(value: int) -> str:
    """Write an integer constant of C with the same value as an s64."""
    if value == S64_MIN:
        return "S64_MIN"
    if -0x7FFFFFFF <= value <= 0x7FFFFFFF:
        return str(value)
    return f"{value}LL"


def identifier(text: str, default: str = "x") -> str:
    """Reduce a text to letters, digits and underscores that do not start with a digit."""
    word = _WORD.sub("_", text).strip("_")
    if not word:
        return default
    return word if not word[0].isdigit() else "_" + word


def comment(text: str, room: int = 88) -> str:
    """Write a one-line C comment; the text is made harmless and cut to ``room`` characters."""
    flat = " ".join(text.split()).replace("*/", "* /").replace("/*", "/ *")
    flat = "".join(char if " " <= char <= "~" else "?" for char in flat)
    if len(flat) > room:
        flat = flat[: room - 3] + "..."
    return f"/* {flat} */"


def verbatim(code: str, is_library: bool) -> str:
    """Decode embedded C to text: scripts are read byte by byte, library files as UTF-8."""
    if code.isascii():
        return code
    data = (
        code.encode("utf-8", "surrogateescape") if is_library else code.encode("latin-1", "replace")
    )
    return data.decode("utf-8", "replace")


def as_s64(value: int) -> int:
    """Wrap to 64 bits with sign, as the language does."""
    return ((value + (1 << 63)) & ((1 << 64) - 1)) - (1 << 63)
