"""The errors of this package."""

from __future__ import annotations


class DebuginfoError(Exception):
    """A file is damaged or of a kind that stapy does not read; the text says which and why."""


class DamagedIndexError(DebuginfoError):
    """A file of our own cache is damaged; it was dropped and will be made anew."""
