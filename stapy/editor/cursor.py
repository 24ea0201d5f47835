"""What is being written at a place of a script, told by the text before it alone.

A script that is being written rarely parses, so the words count, not the tree.
"""

from __future__ import annotations

import re
from enum import Enum

from stapy.record import Record

_WORDS = re.compile(
    r"""
      (?P<space>   \s+ | \#[^\n]*(?=\n) | //[^\n]*(?=\n) | /\*(?:[^*]|\*(?!/))*\*/ | %\{.*?%\} )
    | (?P<open>    \#.* | //.* | /\*.* | %\{.* )
    | (?P<string>  "(?:[^"\\]|\\.)*" )
    | (?P<quote>   "(?:[^"\\]|\\.)* )
    | (?P<word>    [$@]*[A-Za-z_*][\w$*]* | [$@]+ )
    | (?P<number>  \d\w* )
    | (?P<op>      -> | [-+*/%&|^<>=!]= | . )
    """,
    re.VERBOSE | re.ASCII | re.DOTALL,
)
_CHAIN = re.compile(r"\$\w+(?:\s*(?:->\s*\w+|\[[^\]\[]*\]))*\s*->\s*(\w*)\Z", re.ASCII)
_COMPONENT = re.compile(r'\s*([\w*]+)\s*(?:\(\s*("(?:[^"\\]|\\.)*"|-?\w+)\s*\))?\s*\.?', re.ASCII)


class CursorContext(Enum):
    """What is being written."""

    NOTHING = "a comment, text or C"
    TOP = "the beginning of a declaration"
    POINT = "a component of a probe point"
    ARGUMENT = "a string in a probe point"
    TARGET = "a variable of what is probed"
    MEMBER = "a member of such a variable"
    MACRO = "a macro or an operator with @"
    NAME = "a name in a statement"


class Cursor(Record):
    """A place: the word that begins before it, and in which probe point it stands.

    ``point`` is the text of the probe point: what is written of it, or all of it for a place in
    its handler.  ``chain`` is ``$file->f_path->`` in front of a member.
    """

    kind: CursorContext
    word: str
    point: str = ""
    chain: str = ""


def components(point: str) -> list[tuple[str, str]]:
    """Split what is complete of a probe point: names, each with its argument as it is written."""
    found: list[tuple[str, str]] = []
    at = 0
    while (match := _COMPONENT.match(point, at)) is not None and match.end() > at:
        found.append((match[1], match[2] or ""))
        at = match.end()
    return found


def cursor_at(text: str, at: int) -> Cursor:
    """Tell what is being written at an offset."""
    reader = _CursorReader()
    before = text[:at]
    for match in _WORDS.finditer(before):
        reader.take(match.lastgroup or "", match[0], match.start())
    kind, word, start = reader.last
    if kind == "open":
        return Cursor(CursorContext.NOTHING, "")
    if kind == "quote":
        if not reader.in_header:
            return Cursor(CursorContext.NOTHING, "")
        return Cursor(CursorContext.ARGUMENT, word[1:], before[reader.point_at : start].strip())
    is_word = kind == "word"
    word = word if is_word else ""
    if reader.in_header:
        return Cursor(CursorContext.POINT, word, before[reader.point_at : at - len(word)].strip())
    if word.startswith("@"):
        return Cursor(CursorContext.MACRO, word, reader.point)
    if reader.depth == 0 and not reader.in_function:
        return Cursor(CursorContext.TOP, word)
    chain = _CHAIN.search(before[reader.body_at :])
    if chain is not None:
        return Cursor(
            CursorContext.MEMBER, chain[1], reader.point, chain[0][: len(chain[0]) - len(chain[1])]
        )
    if word.startswith("$"):
        return Cursor(CursorContext.TARGET, word, reader.point)
    return Cursor(CursorContext.NAME, word, reader.point)


class _CursorReader:
    """Where the words of a text lead: into a probe's header, a body, or between declarations."""

    def __init__(self) -> None:
        self.depth = 0
        self.in_header = False  # between ``probe`` and ``{``
        self.in_function = False
        self.point_at = 0  # where the point of a header begins
        self.body_at = 0
        self.point = ""  # the last one of the header before the body
        self.last = ("", "", 0)
        self._parentheses = 0
        self._words: list[str] = []

    def take(self, kind: str, word: str, at: int) -> None:
        """Read one word."""
        self.last = kind, word, at
        if kind in ("space", "open"):
            return
        begins = kind == "word" and self.depth == 0 and word in ("probe", "function", "global")
        if begins and self._words[-1:] != ["."]:
            self.in_header, self.in_function = word == "probe", word == "function"
            self.point_at, self._words, self._parentheses = at + len(word), [], 0
            return
        if word == "{":
            self._open(at)
        elif word == "}":
            self.depth = max(self.depth - 1, 0)
            self.in_function = self.in_function and self.depth > 0
        elif self.in_header:
            self._in_header(kind, word, at)

    def _open(self, at: int) -> None:
        if self.in_header and self._words and self._words[-1] == ".":
            self._words.append("{")  # a list of names in braces
            return
        if self.depth == 0:
            self.body_at = at
            self.point = "".join(self._words)
        self.depth += 1
        self.in_header = False

    def _in_header(self, kind: str, word: str, at: int) -> None:
        self._parentheses += (word == "(") - (word == ")")
        ends = (",", "=", "?", "!", "+=") if not self._parentheses else ()
        if word in ends:
            if word in (",", "=", "+="):
                self._words = []
            self.point_at = at + len(word)
        else:
            self._words.append(word)
