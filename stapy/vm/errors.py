"""What goes wrong with a machine."""

from __future__ import annotations


class VmError(Exception):
    """The machine cannot be had; ``hint`` is the one thing to do about it."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint
