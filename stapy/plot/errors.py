"""Why nothing was drawn."""

from __future__ import annotations


class PlotError(Exception):
    """What cannot be drawn, or not into that file; the text says why."""
