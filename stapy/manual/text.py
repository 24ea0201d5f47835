"""Pages as plain text, for terminals and for what editors show."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from stapy.manual.entries import ALIAS
from stapy.manual.example import example

if TYPE_CHECKING:
    from stapy.manual.entries import DocArgument, DocEntry

WIDTH = 96
_LABELS = {"Returns": "Returns", "See": "See also"}
_SHOWN = 5  # tools of the gallery that are named


def page(entry: DocEntry) -> str:
    """Write the whole page of an entry."""
    text = f"{entry.signature}\n{_fill(entry.doc.summary, 4)}\n\n"
    rest = body(entry)
    if rest:
        text += textwrap.indent(rest, "    ") + "\n"
    if entry.kind == ALIAS and entry.points:
        text += _fill("Stands for: " + ", ".join(entry.points), 4) + "\n"
    since = f", since stapy {entry.since}" if entry.since else ""
    return text + f"    From {entry.file}{since}\n"


def body(entry: DocEntry) -> str:
    """Write what stands below the first line: arguments, prose, context, example."""
    parts = []
    if any(one.meaning for one in entry.arguments):
        parts.append(arguments(entry.arguments))
    parts += [_fill(one) + "\n" for one in entry.doc.paragraphs]
    if entry.context:
        parts.append(_fill(f"Context: {entry.context}") + "\n")
    for name, label in _LABELS.items():
        if name in entry.doc.sections:
            parts.append(_fill(f"{label}: {entry.doc.sections[name]}") + "\n")
    if shown := example(entry):
        parts.append("Example:\n" + textwrap.indent(shown, "    ") + "\n")
    if entry.tools:
        parts.append(_fill(f"Used by: {used_by([one.name for one in entry.tools])}") + "\n")
    return "\n".join(parts)


def used_by(names: list[str]) -> str:
    """Name the first tools, and count the others."""
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "") + " (--example)"


def brief(entry: DocEntry) -> str:
    """Write what an editor shows below the declaration: the first line and the rest."""
    return f"{entry.doc.summary}\n\n{body(entry)}".strip()


def arguments(rows: list[DocArgument]) -> str:
    """Lay arguments or variables out as a table of names and meanings."""
    names = [f"{one.name}:{one.type}" if one.type else one.name for one in rows]
    wide = min(max(map(len, names)), 28)
    return "".join(
        textwrap.fill(
            one.meaning,
            WIDTH - 4,
            initial_indent=f"{name:{wide}}  ",
            subsequent_indent=" " * (wide + 2),
            break_on_hyphens=False,
        ).rstrip()
        + "\n"
        for name, one in zip(names, rows, strict=True)
    )


def _fill(text: str, indent: int = 0) -> str:
    blanks = " " * indent
    return textwrap.fill(
        text,
        WIDTH - 4 + indent,
        initial_indent=blanks,
        subsequent_indent=blanks,
        break_on_hyphens=False,
        break_long_words=False,
    )
