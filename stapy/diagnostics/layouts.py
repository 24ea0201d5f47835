"""The other forms of messages: SystemTap's own layout, one line each, one JSON object each.

`render.py` draws the rich form.  ``docs/diagnostics.md`` describes all four.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Collection
from functools import lru_cache

from stapy.diagnostics.model import Diagnostic, Source, SourceMap, Span
from stapy.diagnostics.render import colors_from, harmless, one_line, render, same_width
from stapy.record import replace

Form = Callable[[Diagnostic, int, bool], str]

_WORD = re.compile(
    r"""(?P<string>"(?:[^"\\\n]|\\.)*"?) | (?P<number>\d\w*) | (?P<identifier>[A-Za-z_$][\w$]*)
      | (?P<embedded>%\{) | (?P<operator>@\w+|<<<|<<=|>>=|[-+*/%&|^.<>=!]=|<<|>>|&&|\|\||\+\+|--
      |->|=~|!~|%[(?:)]|\S)""",
    re.VERBOSE,
)
_NAMES = re.compile(r"'([^']+)'")
_POINT = re.compile(r"[\w*?$@\[\]{}]+(?:\([^()]*\))?(?:\.[\w*?\[\]{}]*(?:\([^()]*\))?)*\Z")
# Mistakes of the lexer, which SystemTap tells with no word that was seen.
_LEXICAL = frozenset({"E0101", "E0102", "E0103", "E0106", "E0107"})
# What the preprocessor finds is "at" a word, what the parser finds was "seen".
_PREPROCESSED = frozenset(f"E01{number}" for number in (*range(10, 17), *range(20, 29)))
# Mistakes of the parser that SystemTap places itself: "at" a word as well.
_PLACED = frozenset({"E0142", "E0151", "E0163"})
_MISMATCH = frozenset({"E0230"})
_SUFFIX = frozenset({"E0236"})
_ASSIGNED = frozenset({"E0254", "W0602"})  # SystemTap points to the operator
_SETS = re.compile(r"(?![=!<>]=)(?:[^\s\w]{0,3}=|<<<|\+\+|--)(?![=~])")
_DEFINED = " is defined here"
_UNRESOLVED = "unresolved type:"  # SystemTap has a blank before the colon, and no reason
_MISTYPED = re.compile(r"type mismatch: expected (\w+) but found (\w+)\Z")
_INFERRED = " first inferred here"
# What stands before the value of an assignment: a variable or an element of an array.
_GLOBAL = re.compile(r"(?:^|\W)global\s[^;{}]*\Z")
_TYPED = re.compile(r"\w+\s*:\s*(?:long|string)\b")
_ASSIGNED_TO = re.compile(r"([A-Za-z_]\w*)\s*(?:\[[^\[\]\n]*\]\s*)?=\s*\Z")
_NO_MATCH = frozenset({"E0231", "E0232", "E0233", "E0234"})


def form_of(name: str, sources: SourceMap, verbose: bool, keywords: Collection[str] = ()) -> Form:
    """Return what writes a message under ``--message-format=NAME``: with its pass, with colours.

    ``keywords`` are the words of the script language that are no identifiers.
    """
    if name == "json":
        return lambda item, at_pass, color: json_line(as_json(item, sources, at_pass)) + "\n"
    if name == "short":
        return lambda item, at_pass, color: short(item, sources)
    if name == "systemtap":
        systemtap = SystemTap(sources, verbose, keywords)
        return lambda item, at_pass, color: systemtap.text(item, color)
    return lambda item, at_pass, color: render(item, sources, color)


# --- one line -----------------------------------------------------------------


def short(item: Diagnostic, sources: SourceMap) -> str:
    """Write ``FILE:LINE:COLUMN: error: MESSAGE (where) [CODE]``, as compilers have it."""
    name, line, column = sources.position(item.span)
    place = f"{name}:{line}:{column}: " if name else ""
    kind = "warning" if item.severity == Diagnostic.WARNING else item.kind
    code = f" [{item.code}]" if item.code else ""
    where = f" ({item.where})" if item.where else ""
    hint = f"; {item.hint}" if item.hint else ""
    line_of_text = f"{place}{kind}: {item.message}{where}{hint}{code}"
    return harmless(line_of_text.replace("\n", " ")) + "\n"


# --- JSON ---------------------------------------------------------------------


def json_line(fields: dict[str, object]) -> str:
    """Write one object on one line; what is no UTF-8 is escaped."""
    return json.dumps(fields, ensure_ascii=True)


def as_json(item: Diagnostic, sources: SourceMap, at_pass: int) -> dict[str, object]:
    """Collect all that is known of a message; ``docs/diagnostics.md`` describes the fields."""
    fields: dict[str, object] = {
        "severity": item.severity,
        "kind": item.kind,
        "code": item.code,
        "pass": at_pass,
        "message": item.message,
        **_place(item.span, sources),
        "where": item.where,
        "labels": [{"text": one.text, **_place(one.span, sources)} for one in item.labels],
        "expansions": [
            {"text": text, **_place(span, sources)} for span, text in trail(item.span, sources)
        ],
        "notes": list(item.notes),
        "hint": item.hint,
    }
    return fields


def _place(span: Span, sources: SourceMap) -> dict[str, object]:
    name, line, column = sources.position(span)
    if not name:
        return {}
    last = Span(span.source, span.end, span.end)
    _, end_line, end_column = sources.position(last)
    return {
        "file": name,
        "line": line,
        "column": column,
        "end_line": end_line,
        "end_column": end_column,
    }


def trail(span: Span, sources: SourceMap) -> list[tuple[Span, str]]:
    """List what made a place appear (macro, alias, argument), the innermost first."""
    found: list[tuple[Span, str]] = []
    source: Source | None = sources.source(span)
    while source is not None and source.parent is not None and len(found) < 64:
        found.append((source.parent, source.label))
        source = sources.source(source.parent)
    return found


@lru_cache(maxsize=8)  # a line of thousands of mistakes is looked at once
def _shown(line: str) -> tuple[str, str]:
    """Make a line harmless, and blank but for its tabs; each character stays in its place."""
    return same_width(line), re.sub(r"[^\t]", " ", line)


# --- SystemTap ------------------------------------------------------------------


class SystemTap:
    """SystemTap's layout, which wrappers and test suites look for.

    A file is named where it is not the one of the message before.  Similar names
    stand in the message, other hints on a line of their own; who gets more errors of a kind
    than one is told how many (`session/messages.py`); notes, which SystemTap
    has not, are shown under ``-v``, and for messages that are about no place in a script.
    """

    def __init__(self, sources: SourceMap, verbose: bool, keywords: Collection[str]) -> None:
        self._sources = sources
        self._verbose = verbose
        self._keywords = keywords
        self._file = ""
        self._colors: dict[str, str] = {}

    def text(self, item: Diagnostic, in_color: bool) -> str:
        """Write one message with the lines that belong to it."""
        self._colors = colors_from(os.environ.get("SYSTEMTAP_COLORS")) if in_color else {}
        if item.span.source < 0 or not self._sources.position(item.span)[0]:
            text = self._kind(item) + f" {one_line(item.message)}{self._similar(item)}\n"
            return text + self._more(item, bool(item.severity == item.ERROR))
        if item.severity == Diagnostic.WARNING:
            span = self._operator(item) or item.span
            text = self._block(item, one_line(item.message), span, " ")
            return text + self._more(item, False)
        if item.kind == "parse error":
            return self._parse_error(item) + self._more(item, False) + "\n"
        return self._semantic_error(item) + self._more(item, False)

    # --- kinds

    def _semantic_error(self, item: Diagnostic) -> str:
        text = ""
        if item.code == "E0304" and item.message.startswith(_UNRESOLVED):
            item = replace(item, message=_UNRESOLVED)
        item = self._mistyped(item)
        message = one_line(item.message) + self._similar(item)
        if item.code in _MISMATCH | _NO_MATCH | _SUFFIX:
            start = self._point_start(item.span)
            resolving = "while resolving probe point"
            text = self._block(item, resolving, start, " " * 8) + "\n"
        if item.code in _NO_MATCH:
            return text + self._kind(item) + f" {message}\n\n"
        if item.code in _MISMATCH:
            message = "probe point mismatch" + self._similar(item)
        operator = self._operator(item)
        text += self._block(item, message, operator or item.span, " " * 8)
        if operator:
            text += self._second(item.span)
        for label in item.labels:
            if label.text.endswith(_DEFINED) and self._sources.position(label.span)[0]:
                text += self._second(label.span)
        text += "\n"
        for label in item.labels:
            if _INFERRED in label.text and self._sources.position(label.span)[0]:
                place = self._variable(label.span) or label.span
                text += self._block(item, one_line(label.text), place, " " * 8) + "\n"
        return text

    def _mistyped(self, item: Diagnostic) -> Diagnostic:
        """Move a type that does not fit to the variable, where one has it: what it should be."""
        found = _MISTYPED.match(item.message)
        origins = [label.span for label in item.labels if _INFERRED in label.text]
        if not found or not origins:
            return item
        changed: Diagnostic = item
        declared = self._declared(origins[0])
        if self._token(item.span).startswith("identifier"):
            if not declared:
                changed = replace(item, message=f"type mismatch ({found[1]})")
        elif variable := self._variable(item.span):
            both = f"type mismatch: expected {found[2]} but found {found[1]}"
            message = both if declared else f"type mismatch ({found[2]})"
            changed = replace(item, message=message, span=variable)
        return changed

    def _declared(self, span: Span) -> bool:
        """Tell whether a type was not inferred, but given: by ``:long``, or to a global."""
        source = self._sources.source(span)
        before = source.text[max(0, span.start - 200) : span.start] if source else ""
        after = source.text[span.start : span.start + 200] if source else ""
        return bool(_GLOBAL.search(before) or _TYPED.match(after))

    def _variable(self, span: Span) -> Span | None:
        """Find the variable that a literal is assigned to, None when it is not."""
        source = self._sources.source(span)
        if source is None or not self._token(span).startswith(("string", "number")):
            return None
        before = source.text[max(0, span.start - 200) : span.start]
        found = _ASSIGNED_TO.search(before)
        if not found:
            return None
        start = span.start - len(before) + found.start()
        return Span(span.source, start, start + len(found[1]))

    def _parse_error(self, item: Diagnostic) -> str:
        name, line, column = self._sources.position(item.span)
        name = one_line(name)
        text = self._kind(item) + f" {one_line(item.message)}\n"
        if item.code in _LEXICAL:
            text += f"         at: junk '{self._junk(item)}' at {name}:{line}:{column}\n"
        elif not self._token(item.span):
            return text + f"        saw: {name} EOF\n"
        else:
            where = self._paint("source", f"{name}:{line}:{column}")
            seen = " at" if item.code in _PREPROCESSED | _PLACED else "saw"
            text += f"        {seen}: {self._token(item.span)} at {where}\n"
        text += self._source(item.span, " " * 5)
        return text + self._expansions(item, " " * 5)

    def _block(self, item: Diagnostic, message: str, span: Span, indent: str) -> str:
        token = self._token(span) or "keyword"
        # Some messages end with the word itself, which is named once.
        message = message.removesuffix(f" {token}")
        message = message[:-1] + " " * (message == _UNRESOLVED) if message[-1:] == ":" else message
        text = f"{self._kind(item)} {message}: {token} at "
        text += self._where(span) + "\n" + self._source(span, indent)
        return text + (self._expansions(item, indent) if span is item.span else "")

    def _expansions(self, item: Diagnostic, indent: str) -> str:
        text = ""
        for span, label in trail(item.span, self._sources):
            what = "in expansion of macro" if "macro" in label else one_line(label)
            self._file = ""  # SystemTap names it each time
            text += f"\t{what}: {self._token(span)} at {self._where(span)}\n"
            text += self._source(span, indent)
        return text

    def _second(self, span: Span) -> str:
        """Write another word of the same message."""
        text = f"{self._token(span) or 'keyword'} at {self._where(span)}\n"
        return text + self._source(span, " " * 8)

    # --- pieces

    def _junk(self, item: Diagnostic) -> str:
        """Return what the lexer could make nothing of: the rest of a line behind an open quote."""
        source = self._sources.source(item.span)
        if item.code != "E0101" or source is None:
            return ""
        return harmless(source.text[item.span.start :].partition("\n")[0])

    def _operator(self, item: Diagnostic) -> Span | None:
        """Find the operator of the assignment that a message is about, None for other messages."""
        source = self._sources.source(item.span)
        if item.code not in _ASSIGNED or source is None:
            return None
        depth, at = 0, item.span.start
        while (word := _WORD.search(source.text, at, item.span.start + 400)) is not None:
            at, text = word.end(), word[0]
            if text in "([":
                depth += 1
            elif text in ")]":
                depth -= 1
            elif text in ";{}" or depth < 0:
                return None
            elif not depth and _SETS.fullmatch(text):
                return Span(item.span.source, word.start(), at)
        return None

    def _kind(self, item: Diagnostic) -> str:
        kind = "warning" if item.severity == Diagnostic.WARNING else "error"
        return self._paint(kind, item.kind + ":")

    def _paint(self, kind: str, text: str) -> str:
        code = self._colors.get(kind)
        return f"\x1b[{code}m\x1b[K{text}\x1b[m\x1b[K" if code else text

    def _where(self, span: Span) -> str:
        name, line, column = self._sources.position(span)
        shown = "" if name == self._file else name
        self._file = name
        return self._paint("source", f"{one_line(shown)}:{line}:{column}")

    def _token(self, span: Span) -> str:
        """Describe the word at a place as SystemTap does; "" at the end of the text."""
        source = self._sources.source(span)
        word = _WORD.match(source.text, span.start) if source else None
        if not word:
            return ""
        text = word[0]
        if word.lastgroup == "string":
            return "string '" + harmless(text.strip('"')) + "'"
        if word.lastgroup == "embedded":
            return "embedded-code"
        if text in self._keywords:
            return "keyword"
        return f"{word.lastgroup} '{harmless(text)}'"

    def _source(self, span: Span, indent: str) -> str:
        line, blanks = _shown(self._sources.line_text(span))
        column = self._sources.position(span)[2] - 1
        source = self._sources.source(span)
        word = _WORD.match(source.text, span.start) if source else None
        length = len(word[0]) if word and "\n" not in word[0] else 0
        # A tab before the place is one under it: the caret stands below whatever a tab is.
        pad = blanks[:column]
        before, token, rest = line[:column], line[column : column + length], line[column + length :]
        shown = before + self._paint("token", token) + rest
        head = f"{indent}source: "
        return f"{head}{shown}\n{' ' * len(head)}{pad}{self._paint('caret', '^')}\n"

    def _place_of(self, span: Span) -> str:
        name, line, column = self._sources.position(span)
        return f"{one_line(name)}:{line}:{column}" if name else ""

    def _similar(self, item: Diagnostic) -> str:
        if not item.hint.startswith("did you mean") or "(similar" in item.message:
            return ""
        names = _NAMES.findall(item.hint)
        return f" (similar: {', '.join(names)})" if names else ""

    def _point_start(self, span: Span) -> Span:
        """Extend a component's span to the beginning of its probe point."""
        source = self._sources.source(span)
        before = source.text[: span.start] if source else ""
        found = _POINT.search(before[-4096:])
        start = span.start - len(found[0]) if found else span.start
        if source and start == span.start and source.text[start : start + 1] == ".":
            return span
        return Span(span.source, start, span.end)

    def _more(self, item: Diagnostic, always: bool) -> str:
        every = always or self._verbose
        told = bool(self._similar(item)) or "(similar" in item.message
        lines = [f"hint: {item.hint}"] if item.hint and (every or not told) else []
        if every:
            lines += [f"note: {note}" for note in item.notes]
        lines += [
            f"note: {label.text}: {self._place_of(label.span)}"
            for label in item.labels
            if (every or item.kind == "semantic error")
            and _INFERRED not in label.text
            and not label.text.endswith(_DEFINED)
            and self._place_of(label.span)
        ]
        return "".join(f"        {line}\n" for line in harmless("\n".join(lines)).splitlines())
