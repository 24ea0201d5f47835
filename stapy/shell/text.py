"""The script of a shell by its lines, and the declarations that lines belong to."""

from __future__ import annotations

from stapy.editor.cursor import CursorContext, cursor_at


def numbered(text: str) -> str:
    """Write a script with the numbers that messages have for its lines."""
    lines = _lines(text)
    width = len(str(len(lines)))
    return "".join(f"{number:{width}}  {line}\n" for number, line in enumerate(lines, 1))


def count(text: str) -> int:
    """Count the lines of a script."""
    return len(_lines(text))


def without(text: str, first: int, last: int) -> tuple[str, str]:
    """Take lines out of a script, from one to another, and all of the declarations they lie in.

    Returns what is left, and what was taken out.
    """
    lines = _lines(text)
    for begin, end in _declarations(lines):
        if begin <= last and end >= first:
            first, last = min(first, begin), max(last, end)
    left = joined("\n".join(lines[: first - 1]), "\n".join(lines[last:]))
    return left, "\n".join(lines[first - 1 : last])


def without_text(text: str, gone: str) -> str | None:
    """Take whole declarations out of a script; None when they do not stand there as they are."""
    lines, wanted = _lines(text), gone.split("\n")
    whole = _declarations(lines)
    ends = {end for _, end in whole}
    for begin, _ in whole:
        end = begin - 1 + len(wanted)
        if end in ends and lines[begin - 1 : end] == wanted:
            return joined("\n".join(lines[: begin - 1]), "\n".join(lines[end:]))
    return None


def joined(before: str, after: str) -> str:
    """Put a text behind another one, each ending with its own line."""
    return "".join(part.rstrip("\n") + "\n" for part in (before, after) if part.strip("\n"))


def _lines(text: str) -> list[str]:
    # Not splitlines(), which ends lines where messages see none.
    return text.rstrip("\n").split("\n") if text.strip("\n") else []


def _declarations(lines: list[str]) -> list[tuple[int, int]]:
    """List first and last lines of what braces and headers hold together."""
    found: list[tuple[int, int]] = []
    begin = 1
    for number in range(1, len(lines) + 1):
        text = "\n".join(lines[begin - 1 : number]) + "\n"
        if cursor_at(text, len(text)).kind is CursorContext.TOP:
            found.append((begin, number))
            begin = number + 1
    if begin <= len(lines):
        found.append((begin, len(lines)))
    return found
