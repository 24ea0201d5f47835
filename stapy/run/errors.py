"""The exceptions of this package."""

from __future__ import annotations

from .printable import one_line


class RunError(Exception):
    """The session cannot go on; the text is for the user, after ``ERROR: ``.

    Each text is a line, whatever is in the names that it quotes; ``more`` stand below.
    """

    def __init__(self, text: str, *more: str) -> None:
        super().__init__("\n  ".join(one_line(line) for line in (text, *more)))


class GoneError(RunError):
    """There is no such module, or it is being removed."""
