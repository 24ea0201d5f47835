"""``--explain CODE``: the page that belongs to the code of a message."""

from __future__ import annotations

import sys

from stapy.diagnostics.suggest import nearest
from stapy.terminal.writing import write


def pages() -> dict[str, str]:
    """Map the codes of all pages to their texts; the first line of each is its title."""
    from stapy.diagnostics.pages import later, parse, points

    return {**parse.PAGES, **points.PAGES, **later.PAGES}


def page(code: str) -> str | None:
    """Return the text of one page with its code in front, None for an unknown code."""
    text = pages().get(code.strip().strip("[]").upper())
    if text is None:
        return None
    return f"{code.strip().strip('[]').upper()}: {text.rstrip()}\n"


def unknown(code: str) -> str:
    """Write what to say about a code that has no page."""
    number = code.strip().zfill(4)
    near = [name for name in pages() if name[1:] == number] or nearest(code.upper(), pages())
    hint = f"; similar: {', '.join(near)}" if near else ""
    return f"no message has the code '{code}'{hint}"


def explain(code: str) -> int:
    """Print the page of a code and return the exit status."""
    text = page(code)
    if text is None:
        print(unknown(code), file=sys.stderr)
        return 1
    write(text)
    return 0
