"""A wrong name that a script uses again and again is told once, with the other places.

Where all is for eyes one message in full and a line with the other places say more than the same
six lines at each use. Forms for programs (a line or an object for each) have each place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stapy.record import replace

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from stapy.diagnostics.model import Diagnostic, SourceMap, Span

# Codes whose message, or the text under the caret, has the name: the same words, the same mistake.
_SAID = frozenset({
    "E0131", "E0201", "E0202", "E0203", "E0206", "E0217", "E0218", "E0231", "E0232", "E0240",
    "E0241", "E0242", "E0248", "E0250", "E0261", "E0305",
    "W0603", "W0607", "W0613", "W0641", "W0643",
})  # fmt: skip
# Those where the marked word has it. Of a point the message has all words, also those behind it.
_MARKED = frozenset({"E0106", "E0129", "E0230", "E0233", "E0304"})
_LINES = 12  # so many are named


def folded(items: Sequence[Diagnostic], sources: SourceMap) -> list[Diagnostic | None]:
    """Leave of each wrong name the first message, with where else it is used; None for others."""
    first: dict[Hashable, int] = {}
    more: dict[int, list[Span]] = {}
    out: list[Diagnostic | None] = list(items)
    for at, item in enumerate(items):
        key = _mistake(item, sources)
        known = first.setdefault(key, at) if key is not None else at
        if known != at:
            more.setdefault(known, []).append(item.span)
            out[at] = None
    for at, spans in more.items():
        note = _places(items[at].span, spans, sources)
        out[at] = replace(items[at], notes=[*items[at].notes, note])
    return out


def _mistake(item: Diagnostic, sources: SourceMap) -> Hashable | None:
    """Return what two messages about one wrong name have in common, None for other mistakes."""
    if item.span.source < 0:
        return None
    if item.code in _SAID:
        return item.code, item.message, item.where, item.hint, tuple(item.notes)
    if item.code in _MARKED:
        return item.code, sources.text(item.span), tuple(item.notes)
    return None


def _places(first: Span, spans: list[Span], sources: SourceMap) -> str:
    """Say how many more uses there are, and in which lines: ``3 more uses: lines 3, 5 and 8``."""
    home = _line(first, sources)
    lines: dict[tuple[str, int], None] = dict.fromkeys(_line(span, sources) for span in spans)
    many = f"{len(spans)} more use{'s' * (len(spans) > 1)}"
    if list(lines) == [home]:
        return f"{many} in this line"
    files: dict[str, list[str]] = {}
    for name, line in list(lines)[:_LINES]:
        files.setdefault(name, []).append(str(line))
    left = len(lines) - _LINES
    parts = []
    for name, numbers in files.items():
        of = "" if name == home[0] else f" of {name}"
        said = f"{', '.join(numbers[:-1])} and {numbers[-1]}" if numbers[1:] else numbers[0]
        said = ", ".join(numbers) if left > 0 else said
        parts.append(f"line{'s' * (len(numbers) > 1)} {said}{of}")
    rest = f" … and {left} others" if left > 0 else ""
    return f"{many}: {'; '.join(parts)}{rest}"


def _line(span: Span, sources: SourceMap) -> tuple[str, int]:
    """Find file and line where the user wrote it: of what a macro expands to, its use."""
    source = sources.source(span)
    while source is not None and source.parent is not None:
        span = source.parent
        source = sources.source(span)
    return sources.position(span)[:2]
