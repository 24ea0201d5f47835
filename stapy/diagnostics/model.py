"""Messages to the user as values: where, what, why and what to do next.

A pass adds `Diagnostic` values to a `Diagnostics` collector and goes on as far
as it can; `render.py` draws them.  Nothing here prints.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from stapy.record import Record, new

if TYPE_CHECKING:
    from collections.abc import Iterator


class Span(NamedTuple):
    """Half-open range ``[start, end)`` of character offsets in one source of a `SourceMap`."""

    source: int
    start: int
    end: int

    def to(self, last: Span) -> Span:
        """Return the span from this one's start to the end of ``last`` (when in one source)."""
        if last.source != self.source or last.end < self.start:
            return self
        return Span(self.source, self.start, last.end)


NOWHERE = Span(-1, 0, 0)


class Source(Record):
    """One text that spans point into.

    ``parent`` is the place that made this text appear (a macro call, an alias
    use), None for a text that the user or the library wrote; ``label`` says
    what kind of appearance it is ("in expansion of macro 'x'").
    """

    name: str
    text: str
    parent: Span | None = None
    label: str = ""
    is_library: bool = False


class SourceMap:
    """All sources of one session; a span's line and column are computed on demand."""

    def __init__(self) -> None:
        self.sources: list[Source] = []
        self.folders: list[str] = []  # of the tapset library
        self._starts: dict[int, list[int]] = {}

    def add(
        self,
        name: str,
        text: str,
        *,
        parent: Span | None = None,
        label: str = "",
        is_library: bool = False,
    ) -> int:
        """Register a text, return its number for use in `Span.source`."""
        self.sources.append(Source(name, text, parent, label, is_library))
        return len(self.sources) - 1

    def source(self, span: Span) -> Source | None:
        """Return the text that a span lies in, None for `NOWHERE`."""
        return self.sources[span.source] if span.source >= 0 else None

    def position(self, span: Span) -> tuple[str, int, int]:
        """Return ``(file, line, column)``, counted from 1; ``("", 0, 0)`` for `NOWHERE`."""
        source = self.source(span)
        if source is None:
            return "", 0, 0
        starts = self._starts.get(span.source)
        if starts is None:
            starts = [0]
            at = source.text.find("\n")
            while at >= 0:
                starts.append(at + 1)
                at = source.text.find("\n", at + 1)
            self._starts[span.source] = starts
        from bisect import bisect_right

        line = bisect_right(starts, span.start)
        return source.name, line, span.start - starts[line - 1] + 1

    def used(self, span: Span) -> Span:
        """Find where the user wrote what a macro of the library stands for, else the same span."""
        found, source = span, self.source(span)
        while source is not None and source.is_library and source.parent is not None:
            found = source.parent
            source = self.source(found)
        return span if source is None or source.is_library else found

    def place(self, span: Span) -> tuple[str, int, int]:
        """Return `position`, equal on each machine: library files by their names in the library."""
        file, line, column = self.position(span)
        return self.name_in_library(file), line, column

    def name_in_library(self, name: str) -> str:
        """Return ``core/ctime.stp`` for a file of a tapset folder; other names as they are."""
        inside = [folder for folder in self.folders if name.startswith(folder.rstrip("/") + "/")]
        return name[len(max(inside, key=len).rstrip("/")) + 1 :] if inside else name

    def text(self, span: Span) -> str:
        """Return the characters that a span covers."""
        source = self.source(span)
        return source.text[span.start : span.end] if source else ""

    def line_text(self, span: Span) -> str:
        """Return the whole line in which a span starts, without its end."""
        source = self.source(span)
        if source is None:
            return ""
        start = source.text.rfind("\n", 0, span.start) + 1
        end = source.text.find("\n", span.start)
        return source.text[start : end if end >= 0 else len(source.text)].removesuffix("\r")


class Label(Record):
    """A secondary place with its own short text ("first used as a string here")."""

    span: Span
    text: str


def used_at(place: Span, use: Span, text: str) -> list[Label]:
    """Label where something is used, unless the message is about that place itself."""
    if use == NOWHERE or place == NOWHERE:
        return []
    if place.source == use.source and use.start <= place.start <= use.end:
        return []
    return [Label(use, text)]


class Diagnostic(Record):
    """One message.

    ``message`` is the first line, in SystemTap's words, without the leading
    "parse error: "; ``where`` is the short text under the caret; ``notes``
    give facts, ``hint`` is one action the user can take.
    """

    ERROR: ClassVar[str] = "error"
    WARNING: ClassVar[str] = "warning"

    severity: str
    kind: str  # "parse error", "semantic error", "WARNING", "build error", …
    code: str  # "E0231"
    message: str
    span: Span = NOWHERE
    where: str = ""
    labels: list[Label] = new(list)
    notes: list[str] = new(list)
    hint: str = ""


class Diagnostics:
    """Collector that one session hands to all passes."""

    def __init__(self, sources: SourceMap) -> None:
        self.sources = sources
        self.items: list[Diagnostic] = []
        self._seen: set[tuple[str, str, Span]] = set()

    @contextmanager
    def quiet(self) -> Iterator[Diagnostics]:
        """Try something: what is said here meanwhile goes into the collector that this gives.

        What is said to a collector of `about_files` is told all the same.
        """
        mine = self.items, self._seen
        heard = Diagnostics(self.sources)
        self.items, self._seen = heard.items, heard._seen
        try:
            yield heard
        finally:
            self.items, self._seen = mine

    def about_files(self) -> Diagnostics:
        """Make a collector for the same messages that is never quiet.

        It is for those who read a file once, whoever asks first: that it is damaged is not said
        again when the next one asks.
        """
        beside = Diagnostics(self.sources)
        beside.items, beside._seen = self.items, self._seen
        return beside

    def add(self, diagnostic: Diagnostic) -> None:
        """Keep a message; the same one at the same place is kept once."""
        used = self.sources.used(diagnostic.span)
        if used != diagnostic.span:
            inside = Label(diagnostic.span, "in the library's macro")
            diagnostic.labels = [*diagnostic.labels, inside]
            diagnostic.span = used
        key = (diagnostic.code, diagnostic.message, diagnostic.span)
        if key not in self._seen:
            self._seen.add(key)
            self.items.append(diagnostic)

    def joins(self, message: str, span: Span, text: str) -> bool:
        """Label one more place in the message that says the same; False when there is none."""
        for item in self.items:
            if item.message == message:
                if span != item.span and all(label.span != span for label in item.labels):
                    item.labels.append(Label(span, text))
                return True
        return False

    def error(
        self,
        kind: str,
        code: str,
        message: str,
        span: Span = NOWHERE,
        *,
        where: str = "",
        labels: list[Label] | None = None,
        notes: list[str] | None = None,
        hint: str = "",
    ) -> Diagnostic:
        """Add an error and return it (so that the caller may raise `Stop` from it)."""
        item = Diagnostic(
            Diagnostic.ERROR, kind, code, message, span, where, labels or [], notes or [], hint
        )
        self.add(item)
        return item

    def warning(
        self,
        code: str,
        message: str,
        span: Span = NOWHERE,
        *,
        where: str = "",
        labels: list[Label] | None = None,
        notes: list[str] | None = None,
        hint: str = "",
    ) -> Diagnostic:
        """Add a warning and return it."""
        item = Diagnostic(
            Diagnostic.WARNING,
            "WARNING",
            code,
            message,
            span,
            where,
            labels or [],
            notes or [],
            hint,
        )
        self.add(item)
        return item

    @property
    def errors(self) -> list[Diagnostic]:
        """The errors so far."""
        return [item for item in self.items if item.severity == Diagnostic.ERROR]


class Stop(Exception):
    """Raised when a pass cannot go on; the reason is already in the collector."""


class Bug(Exception):
    """Something that only a mistake in stapy can cause; shown as "this is our mistake"."""
