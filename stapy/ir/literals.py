"""Values as the language writes them, and as C does."""

from __future__ import annotations


class CText(str):
    """Text that is C already: an enumerator, a number as C writes it."""


def quote(text: str) -> str:
    """Write a text as a string literal of the language, escaped and with its quotes."""
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


def quote_names(names: list[str]) -> list[str]:
    """Write many names as `quote_name` does; that none needs an escape is seen at once."""
    text = "".join(names)
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return [f'"{name}"' for name in names]
    return [quote_name(name) for name in names]


def of_files(text: str) -> str:
    """Turn a script's string, a character for each byte, into a name of files or symbols.

    A text with characters beyond a byte is such a name already and is returned as it is.
    """
    if text.isascii():
        return text
    try:
        return text.encode("latin-1").decode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text  # it came from there


def quote_name(name: str) -> str:
    """Write a name of files or symbols as a string literal of the language."""
    if name.isascii():
        return quote(name)
    return quote(name.encode("utf-8", "surrogateescape").decode("latin-1"))
