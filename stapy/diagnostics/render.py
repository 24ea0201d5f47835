"""Draws a `Diagnostic`: the message, the place with a caret, notes and a hint.

The first line keeps SystemTap's words ("parse error: …", "WARNING: …"), which
wrappers of SystemTap look for; the code stands at its end.
"""

from __future__ import annotations

import os
import sys
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

from stapy.diagnostics.model import Diagnostic, Source, SourceMap, Span

if TYPE_CHECKING:
    from typing import TextIO

_WIDTH = 110  # columns of source text that are shown where no terminal says less
_NARROW = 40  # a terminal is taken to be at least this wide
_TAB = 8
_EXPANSIONS = 6

DEFAULT_COLORS = "error=01;31:warning=00;33:source=00;34:caret=01:token=01"
_NO_COLORS: dict[str, str] = {}


def use_color(mode: str, stream: TextIO | None = None) -> bool:
    """Tell whether to colour for ``--color=MODE``: always, never, auto.

    That is where standard error is a terminal and $NO_COLOR is empty. ``stream`` is what is
    written to, if it is not standard error.
    """
    if mode == "always":
        return True
    if mode == "never" or os.environ.get("NO_COLOR"):
        return False
    return (stream or sys.stderr).isatty() and os.environ.get("TERM", "") not in ("", "dumb")


def colors_from(environment: str | None) -> dict[str, str]:
    """Parse ``key=SGR:key=SGR`` of $SYSTEMTAP_COLORS; empty or wrong text turns colours off."""
    if environment is None:
        environment = DEFAULT_COLORS
    colors: dict[str, str] = {}
    for part in environment.split(":"):
        key, equals, value = part.partition("=")
        known = key in ("error", "warning", "source", "caret", "token")
        if not (known and equals and value and all(c.isdigit() or c == ";" for c in value)):
            return {}
        colors[key] = value
    return colors


def terminal_width() -> int:
    """Return the columns of the terminal on standard error, 0 when there is none."""
    try:
        columns = os.get_terminal_size(2).columns
    except OSError:
        return 0
    given = os.environ.get("COLUMNS", "")
    columns = int(given) if given.isdecimal() else columns
    return max(columns, _NARROW) if columns else 0


def render(
    diagnostic: Diagnostic, sources: SourceMap, in_color: bool, width: int | None = None
) -> str:
    """Draw the whole message: several lines, each with its line break.

    No line has more than ``width`` columns; 0 folds nothing, None asks the terminal.
    """
    colors = colors_from(os.environ.get("SYSTEMTAP_COLORS")) if in_color else _NO_COLORS
    columns = terminal_width() if width is None else width
    return _Drawing(diagnostic, sources, colors, columns).text()


class _Mark:
    """One place to point at."""

    __slots__ = ("is_main", "span", "text")

    def __init__(self, span: Span, text: str, is_main: bool) -> None:
        self.span = span
        self.text = text
        self.is_main = is_main


class _Drawing:
    def __init__(
        self, diagnostic: Diagnostic, sources: SourceMap, colors: dict[str, str], columns: int
    ) -> None:
        self.item = diagnostic
        self.columns = columns
        self.sources = sources
        self.colors = colors
        self.out: list[str] = []
        marks = [_Mark(diagnostic.span, diagnostic.where, True)]
        marks += [_Mark(label.span, label.text, False) for label in diagnostic.labels]
        self.marks = [mark for mark in marks if mark.span.source >= 0]
        lines = [sources.position(mark.span)[1] for mark in self.marks]
        lines += [sources.position(place)[1] for place, _ in self._trail()]
        self.margin = len(str(max(lines, default=1)))
        # What stands in front of a source line is "  12 | ".
        self.width = min(_WIDTH, columns - self.margin - 4) if columns else _WIDTH

    def text(self) -> str:
        """Draw all lines."""
        self._head()
        if self.marks:
            self._places()
            self._expansions()
        bar = " " * (self.margin + 2) + "= "
        if self.item.hint:
            self._folded(bar + "hint: ", one_line(self.item.hint))
        for note in self.item.notes:
            self._folded(bar + "note: ", note)
        return "".join(self.out)

    def _folded(self, head: str, text: str, hang: int | None = None) -> None:
        """Write text behind a head, later lines below its beginning (or ``hang`` columns in)."""
        indent = len(head) if hang is None else hang
        text = harmless(text)
        lines: list[str] = []
        for line in text.split("\n"):
            first = self.columns - (indent if lines else len(head))
            lines += fold(line, first, self.columns - indent) if self.columns else [line]
        self._line(head + ("\n" + " " * indent).join(lines))

    def _line(self, text: str) -> None:
        self.out.append(text.rstrip() + "\n")

    def _paint(self, kind: str, text: str) -> str:
        code = self.colors.get(kind)
        return f"\x1b[{code}m{text}\x1b[0m" if code and text else text

    def _head(self) -> None:
        item = self.item
        kind = "warning" if item.severity == Diagnostic.WARNING else "error"
        code = f"  [{item.code}]" if item.code else ""
        at = len(self.out)
        self._folded(item.kind + ": ", one_line(item.message).rstrip() + code, 4)
        plain = self.out[at][len(item.kind) + 1 :]
        self.out[at] = self._paint(kind, item.kind + ":") + plain

    # --- places -----------------------------------------------------------

    def _places(self) -> None:
        """Write all marks, grouped by file; the main one's file comes first."""
        groups: dict[tuple[str, int], list[_Mark]] = {}
        for mark in self.marks:
            name = self.sources.position(mark.span)[0]
            groups.setdefault((name, self._text_id(mark.span)), []).append(mark)
        for number, marks in enumerate(groups.values()):
            first = marks[0]
            name, line, column = self.sources.position(first.span)
            arrow = "-->" if number == 0 else ":::"
            self._line(
                " " * (self.margin + 1)
                + f"{arrow} "
                + self._paint("source", f"{one_line(name)}:{line}:{column}")
            )
            self._group(marks)

    def _text_id(self, span: Span) -> int:
        source = self.sources.source(span)
        return id(source.text) if source else 0

    def _group(self, marks: list[_Mark]) -> None:
        empty = " " * self.margin + "  |"
        by_line: dict[int, list[_Mark]] = {}
        for mark in marks:
            by_line.setdefault(self.sources.position(mark.span)[1], []).append(mark)
        self._line(empty)
        before = 0
        for line in sorted(by_line):
            if before and line > before + 1:
                self._line(" " * self.margin + " ...")
            self._source_line(line, by_line[line], empty)
            before = line

    def _source_line(self, line: int, marks: list[_Mark], empty: str) -> None:
        raw = self.sources.line_text(marks[0].span)
        columns = _columns(raw)
        places = []
        for mark in marks:
            start = self.sources.position(mark.span)[2] - 1
            length = max(1, min(mark.span.end - mark.span.start, len(raw) - start))
            if "\n" in self.sources.text(mark.span):
                length = max(1, len(raw) - start)
            left = columns[min(start, len(raw))]
            right = max(left + 1, columns[min(start + length, len(raw))])
            places.append((left, right, mark))
        places.sort(key=lambda place: (place[0], not place[2].is_main))
        number = str(line).rjust(self.margin + 1)
        for part in _parts(places, columns[-1], self.width):
            shown, shift = _window(_expanded(raw), part[0][0], columns[-1], self.width)
            self._line(f"{number} | " + shown)
            for left, right, mark in reversed(part):
                sign = "^" if mark.is_main else "-"
                width = max(1, min(right, shift + self.width) - left)
                pad = " " * max(0, left - shift)
                underline = self._paint("caret", sign * width) if mark.is_main else sign * width
                self._marked(f"{empty} {pad}", underline, width, mark.text)

    def _marked(self, head: str, underline: str, width: int, text: str) -> None:
        """Write a mark and its text: beside it, or below where it does not fit."""
        text = one_line(text)
        if not self.columns or len(head) + width + 1 + len(text) <= self.columns:
            self._line(f"{head}{underline} {text}")
            return
        self._line(head + underline)
        bar = head[: self.margin + 4]
        room = self.columns - len(bar)
        indent = min(len(head) - len(bar), max(0, room - len(text)))
        for line in fold(text, room - indent, room - indent):
            self._line(bar + " " * indent + line)

    # --- macros, aliases, arguments -------------------------------------------

    def _trail(self) -> list[tuple[Span, str]]:
        """List what made the main place appear, the innermost first."""
        trail: list[tuple[Span, str]] = []
        source: Source | None = self.sources.source(self.item.span)
        while source is not None and source.parent is not None and len(trail) < 64:
            trail.append((source.parent, source.label))
            source = self.sources.source(source.parent)
        return trail

    def _expansions(self) -> None:
        trail = self._trail()
        for place, label in trail[:_EXPANSIONS]:
            name, line, column = self.sources.position(place)
            where = self._paint("source", f"{one_line(name)}:{line}:{column}")
            self._line(
                " " * (self.margin + 1) + f"::: {one_line(label) or 'in expansion'} at {where}"
            )
            self._group([_Mark(place, "", False)])
        if len(trail) > _EXPANSIONS:
            self._line(" " * (self.margin + 1) + f"::: … and {len(trail) - _EXPANSIONS} more")


def harmless(text: str) -> str:
    """Escape in octal what could control a terminal or turn the direction of text.

    Tabs and line breaks stay.
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in "\t\n" else _octal(one) for one in text)


def one_line(text: str) -> str:
    """Make text harmless and one line: a file's name must not look like a message of ours."""
    return text if text.isprintable() else harmless(text.replace("\n", "\\012"))


def same_width(text: str) -> str:
    """Make a line of a script harmless, each character in one place, for a caret stands below."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one == "\t" else "\ufffd" for one in text)


def _octal(char: str) -> str:
    """Escape the bytes of a character, as points are printed; of a lone byte that byte."""
    lone = 0xDC80 <= ord(char) < 0xDD00
    data = char.encode("utf-8", "surrogateescape" if lone else "surrogatepass")
    return "".join(f"\\{byte:03o}" for byte in data)


def fold(text: str, first: int, later: int) -> list[str]:
    """Fold a text between words: ``first`` columns in the first line, ``later`` in all others."""
    lines: list[str] = []
    line = ""
    room = max(8, first)
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if line and sum(map(_cell, longer)) > room:
            lines.append(line)
            room = max(8, later)
            longer = word
        line = longer
    return [*lines, line]


def _cell(char: str) -> int:
    """Return the columns that a character takes on a terminal."""
    if char.isascii():
        return 1
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


@lru_cache(maxsize=8)  # a line of thousands of mistakes is measured once
def _columns(raw: str) -> list[int]:
    """Return the column of each character and of the end; tabs and wide characters count."""
    columns, at = [], 0
    for char in raw:
        columns.append(at)
        at += _TAB - at % _TAB if char == "\t" else _cell(char)
    columns.append(at)
    return columns


@lru_cache(maxsize=8)
def _expanded(raw: str) -> str:
    """Return a line as it is shown: no tabs, and nothing that could control the terminal."""
    out: list[str] = []
    at = 0
    for char in raw:
        if char == "\t":
            width = _TAB - at % _TAB
            out.append(" " * width)
            at += width
            continue
        printable = char.isprintable() and not 0xD800 <= ord(char) < 0xE000
        out.append(char if printable or char == " " else "\ufffd")
        at += _cell(char)
    return "".join(out)


def _parts(
    places: list[tuple[int, int, _Mark]], width: int, room: int
) -> list[list[tuple[int, int, _Mark]]]:
    """Group the marks of a line, from left to right, by the part of the line that shows them."""
    parts: list[list[tuple[int, int, _Mark]]] = []
    end = 0
    for place in places:
        left, right, _ = place
        if parts and (width <= room or min(right, left + room // 3) < end):
            parts[-1].append(place)
        else:
            parts.append([place])
            end = max(0, left - room // 3) + room
    return parts


def _window(text: str, first: int, width: int, room: int) -> tuple[str, int]:
    """Cut a long line around column ``first``; return it and the columns cut off on its left."""
    if width <= room:
        return text, 0
    shift = max(0, first - room // 3)
    if shift == 0:
        return text[: room - 1] + "…", 0
    end = "…" if len(text) > shift + room else ""
    return "…" + text[shift + 1 : shift + room - len(end)] + end, shift
