"""Values as the language writes them, and as C does."""

from __future__ import annotations


class CText(str):
    """Text that is C already: an enumerator, a number as C writes it."""


def quote(text: str) -> str:
    """A string literal of the language."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'  # nearly always; lists have tens of thousands
    table = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    out = []
    for char in text:
        if char in table:
            out.append(table[char])
        elif 32 <= ord(char) < 127:
            out.append(char)
        else:
            out.append(f"\\{ord(char):03o}")
    return '"' + "".join(out) + '"'


def of_files(text: str) -> str:
    """What a string of a script, a character for each byte, is as a name of files or symbols."""
    if text.isascii():
        return text
    try:
        return text.encode("latin-1").decode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text  # it came from there


def quote_name(name: str) -> str:
    """A string literal of the language for a name of files or symbols."""
    if name.isascii():
        return quote(name)
    return quote(name.encode("utf-8", "surrogateescape").decode("latin-1"))
