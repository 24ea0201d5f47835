"""One line on a terminal for what takes seconds; gone as soon as there is something to read.

Nothing is written where standard error is no terminal: programs that read it
look for messages only.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_ERASE = "\r\033[K"


class _Line:
    shown = False
    muted = False  # in a process that works beside the one that the user sees


def on_terminal() -> bool:
    """Tell whether a line could be erased again."""
    return sys.stderr.isatty() and os.environ.get("TERM", "") not in ("", "dumb")


def tell(text: str) -> None:
    """Show that something which may take seconds begins, in place of the line before."""
    if _Line.muted or not on_terminal():
        return
    _Line.shown = True
    from stapy.diagnostics.render import one_line, terminal_width

    room = (terminal_width() or 80) - 1
    line = f"{_ERASE}stapy: {one_line(text)} …"[: room + len(_ERASE)]
    print(line, end="", file=sys.stderr, flush=True)


def clear() -> None:
    """Erase the line: something is to be written, or all is over."""
    if _Line.shown:
        _Line.shown = False
        print(_ERASE, end="", file=sys.stderr, flush=True)


@contextmanager
def muted() -> Iterator[None]:
    """Say nothing for a while: the line is somebody else's."""
    before, _Line.muted = _Line.muted, True
    try:
        yield
    finally:
        _Line.muted = before


def mute() -> None:
    """Say nothing from now on."""
    _Line.muted = True
