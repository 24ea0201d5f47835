"""The text of a script as an editor shows it: byte order marks, line ends, UTF-16.

Files come here decoded as UTF-8, with a lone surrogate for each byte that is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.diagnostics import Span

if TYPE_CHECKING:
    from stapy.diagnostics import Diagnostics

MARK = "\ufeff"
_FEW = 64  # characters that are looked at for the zeros of ASCII in UTF-16


def plain(text: str) -> str:
    """Drop a byte order mark; end lines in LF where all of them end in CR alone.

    A CR in a text that has LF too is a blank, for there it ends no line.
    """
    text = text.removeprefix(MARK)
    return text.replace("\r", "\n") if "\r" in text and "\n" not in text else text


def wide_encoding(text: str) -> str:
    """Name the encoding of a text that has two or four bytes for each letter, else ""."""
    if not text.startswith(("\udcff\udcfe", "\udcfe\udcff")) and "\0" not in text[:4]:
        return ""
    if text.startswith("\udcff\udcfe\0\0"):
        return "UTF-32LE"
    if text.startswith("\0\0\udcfe\udcff"):
        return "UTF-32BE"
    if text.startswith("\udcff\udcfe"):
        return "UTF-16LE"
    if text.startswith("\udcfe\udcff"):
        return "UTF-16BE"
    start = text[:_FEW]
    for name, first in (("UTF-16LE", 1), ("UTF-16BE", 0)):
        zeros, letters = start[first::2], start[1 - first :: 2]
        if zeros and letters and not zeros.strip("\0") and "\0" not in letters:
            return name
    return ""


def refuse_wide(name: str, text: str, diagnostics: Diagnostics) -> bool:
    """Report a text in such an encoding, once, with its first line as it is meant."""
    encoding = wide_encoding(text)
    if not encoding:
        return False
    data = text.encode("utf-8", "surrogateescape")
    meant = data.decode(encoding, "replace").removeprefix(MARK)
    diagnostics.error(
        "parse error",
        "E0194",
        f"Input file '{name}' is in {encoding}; scripts are in UTF-8",
        Span(diagnostics.sources.add(name, meant), 0, 1),
        where=f"this is {encoding}",
        hint=f"save it as UTF-8, or convert it: iconv -f {encoding} -t UTF-8",
    )
    return True
