"""Compares each promise of docs/features.md with the cases that are said to show it."""

from __future__ import annotations

import re
from pathlib import Path

from tests.features import cases, rows, specific, subjects


def check(row: rows.Row, root: Path = cases.ROOT) -> list[str]:
    """List what is wrong with the references of a row; nothing for what is not promised."""
    if not row.promised:
        return []
    if not row.shown:
        return ["no case is named"]
    problems: list[str] = []
    texts: dict[str, str] = {}
    for reference in row.shown:
        try:
            text = cases.text_of(reference, root)
        except cases.NoCase as error:
            problems.append(f"{reference}: {error}")
            continue
        texts[str(reference)] = text
        plain = specific.plain(text)
        problems += [
            f"{reference} does not contain `{quote}`"
            for quote in reference.quotes
            if not specific.within(quote, plain)
        ]
    return problems or _unsaid(row, texts, root)


def _unsaid(row: rows.Row, texts: dict[str, str], root: Path) -> list[str]:
    """List words of a row that its cases do not say, and quotations about something else."""
    quotes = [quote for reference in row.shown for quote in reference.quotes]
    words = [word for word in row.codes if not re.fullmatch(r"[\w/*.-]+\.stpm?", word)]
    if not words:
        if not quotes:
            return ["is told in prose: quote from the case what shows it"]
        return specific.problems(row, root)
    if not quotes:
        text = "\n".join(texts.values())
        return [
            f"no case says `{word}`"
            for word in words
            if not all(re.search(one, text) for one in subjects.expressions(word))
        ]
    told = words + rows.code_words(row.status)
    if any(subjects.shares(quote, told) for quote in quotes):
        return []
    return [f"no quotation has anything of {', '.join(f'`{word}`' for word in words)}"]


def problems(document: Path, root: Path = cases.ROOT) -> list[tuple[rows.Row, str]]:
    """List all that is wrong in a document."""
    return [(row, what) for row in rows.read(document) for what in check(row, root)]
