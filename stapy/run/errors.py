"""The exceptions of this package."""

from __future__ import annotations


class RunError(Exception):
    """The session cannot go on; the text is for the user, after ``ERROR: ``."""


class GoneError(RunError):
    """There is no such module, or it is being removed."""
