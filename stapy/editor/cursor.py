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
    | (?P<number>  \d\w* | [$@]\# )
    | (?P<word>    [$@]*[A-Za-z_*][\w$*]* | [$@]+ )
    | (?P<mark>    %[(?:)] )
    | (?P<op>      -> | [-+*/%&|^<>=!]= | . )
    """,
    re.VERBOSE | re.ASCII | re.DOTALL,
)
_TYPED = ("@cast", "@var", "@entry")  # operators whose values have members
# Names in braces, and what is written of them up to the end.
_CHOICE = re.compile(r"\{([^{},]*)(?:,[^{}]*)?\}")
_OPEN_CHOICE = re.compile(r"\{(?:[^{}]*,)?([^{},]*)\Z")
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
    CONDITION = "what a condition of the preprocessor asks"


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
    """Split what is complete of a probe point: names, each with its argument as it is written.

    Of several names in braces the first stands for all.
    """
    point = one_of(point)
    found: list[tuple[str, str]] = []
    at = 0
    while (match := _COMPONENT.match(point, at)) is not None and match.end() > at:
        found.append((match[1], match[2] or ""))
        at = match.end()
    return found


def one_of(point: str) -> str:
    """Choose the first of names in braces, and the last of those whose brace is open."""
    while (chosen := _CHOICE.sub(r"\1", point)) != point:
        point = chosen
    while (chosen := _OPEN_CHOICE.sub(r"\1", point)) != point:
        point = chosen
    return point


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
        point = one_of(before[reader.point_at : start].strip())
        return Cursor(CursorContext.ARGUMENT, word[1:], point)
    is_word = kind == "word"
    word = word if is_word else ""
    if reader.in_condition:
        return Cursor(CursorContext.CONDITION, word)
    if reader.in_header:
        point = one_of(before[reader.point_at : at - len(word)].strip())
        return Cursor(CursorContext.POINT, word, point)
    if word.startswith("@"):
        return Cursor(CursorContext.MACRO, word, reader.point)
    if reader.depth == 0 and not reader.in_function:
        return Cursor(CursorContext.TOP, word)
    begin = _chain_before(reader.body)
    if begin is not None:
        chain = before[begin : at - len(word)]
        return Cursor(CursorContext.MEMBER, word, reader.point, chain)
    before_word = reader.body[:-1] if word else reader.body
    if before_word and before_word[-1][1] == "->":
        return Cursor(CursorContext.NOTHING, "")  # a member of who knows what
    if word.startswith("$"):
        return Cursor(CursorContext.TARGET, word, reader.point)
    return Cursor(CursorContext.NAME, word, reader.point)


def _chain_before(words: list[tuple[str, str, int]]) -> int | None:
    """Find where ``$file->f_path->`` or ``@cast(…)->`` begins that the words end in, else None."""
    at = len(words) - 1
    if at >= 0 and words[at][0] == "word" and words[at][1][0] not in "$@":
        at -= 1
    while at > 0 and words[at][1] == "->":
        at -= 1
        while at > 0 and words[at][1] == "]":
            at = _opening(words, at) - 1
        kind, word, start = words[at] if at >= 0 else ("", "", 0)
        if word == ")":
            at = _opening(words, at) - 1
            return words[at][2] if at >= 0 and words[at][1] in _TYPED else None
        if kind != "word":
            return None
        if word.startswith("$"):
            return start
        at -= 1
    return None


def _opening(words: list[tuple[str, str, int]], at: int) -> int:
    """Find the bracket that the one at an index closes; -1 when there is none."""
    depth = 0
    for index in range(at, -1, -1):
        depth += (words[index][1] in (")", "]")) - (words[index][1] in ("(", "["))
        if depth == 0:
            return index
    return -1


class _CursorReader:
    """Where the words of a text lead: into a probe's header, a body, or between declarations."""

    def __init__(self) -> None:
        self.depth = 0
        self.in_header = False  # between ``probe`` and ``{``
        self.in_function = False
        self.point_at = 0  # where the point of a header begins
        self.point = ""  # the last one of the header before the body
        self.last = ("", "", 0)
        self.body: list[tuple[str, str, int]] = []  # the words of a body
        self.in_condition = False  # between ``%(`` and ``%?``
        self._defines = False  # the next ``%(`` begins a macro's body
        self._groups = 0  # braces that are open in a header
        self._parentheses = 0
        self._words: list[str] = []

    def take(self, kind: str, word: str, at: int) -> None:
        """Read one word."""
        self.last = kind, word, at
        if kind in ("space", "open"):
            return
        if kind == "mark":
            self.in_condition = word == "%(" and not self._defines
            self._defines = False
            return
        self._defines = self._defines or word == "@define"
        if self.depth:
            self.body.append((kind, word, at))
        begins = kind == "word" and self.depth == 0 and word in ("probe", "function", "global")
        if begins and self._words[-1:] != ["."] and not self._groups:
            self.in_header, self.in_function = word == "probe", word == "function"
            self.point_at, self._words, self._parentheses = at + len(word), [], 0
            self._groups = 0
            return
        if word == "{":
            self._open(at)
        elif word == "}" and self._groups:
            self._groups -= 1
            self._words.append("}")
        elif word == "}":
            self.depth = max(self.depth - 1, 0)
            self.in_function = self.in_function and self.depth > 0
        elif self.in_header:
            self._in_header(kind, word, at)

    def _open(self, at: int) -> None:
        if self.in_header and (self._groups or self._words[-1:] == ["."]):
            self._words.append("{")  # a list of names in braces
            self._groups += 1
            return
        if self.depth == 0:
            self.body = []
            self.point = "".join(self._words)
        self.depth += 1
        self.in_header = False

    def _in_header(self, kind: str, word: str, at: int) -> None:
        self._parentheses += (word == "(") - (word == ")")
        ends = (",", "=", "?", "!", "+=") if not self._parentheses and not self._groups else ()
        if word in ends:
            if word in (",", "=", "+="):
                self._words = []
            self.point_at = at + len(word)
        else:
            self._words.append(word)
