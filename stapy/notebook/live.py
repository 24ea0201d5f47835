"""Records of a session as they come: text, tables and pictures that change while it runs."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

from stapy.notebook import tables
from stapy.notebook.result import Arrays, StapyResult
from stapy.plot import choice, files
from stapy.plot.errors import PlotError
from stapy.plot.recording import JsonReader

if TYPE_CHECKING:
    from collections.abc import Callable

    from IPython.display import DisplayHandle

_FRESH = 0.5  # seconds between two pictures of what has changed, at least
_SHARE = 5  # of the time that a picture takes, so many times as long is nothing drawn
_DRAWN = 2000  # prints of each place that a picture which changes has, the latest


class CellOutput:
    """Where things are shown: a notebook changes them, a terminal has them once, at the end."""

    def __init__(
        self, is_notebook: bool, text: Callable[[str], None], complain: Callable[[str], None]
    ) -> None:
        self.is_notebook = is_notebook
        self.text = text
        self.complain = complain
        self._shown: dict[str, DisplayHandle] = {}

    def show(self, place: str, bundle: dict[str, str]) -> None:
        """Show something in its place, instead of what was there; in a notebook only."""
        from IPython.display import DisplayHandle

        if place in self._shown:
            self._shown[place].update(bundle, raw=True)  # type: ignore[no-untyped-call]
        else:
            self._shown[place] = DisplayHandle()  # type: ignore[no-untyped-call]
            self._shown[place].display(bundle, raw=True)  # type: ignore[no-untyped-call]


class LiveRecords:
    """Takes lines of ``--format=json``."""

    def __init__(self, screen: CellOutput) -> None:
        self.result = StapyResult()
        self._screen = screen
        self._reader = JsonReader("the session")
        self._arrays: Arrays = {}
        self._rest = ""
        self._is_stale = False
        self._next = 0.0  # when something may be drawn again
        self._lacks = ""  # why there are no pictures

    def feed(self, text: str) -> None:
        """Take a piece of the output, which may end within a line."""
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            self._take(line)

    def tick(self) -> None:
        """Show what has changed, unless that was done just now."""
        if self._is_stale and self._screen.is_notebook and time.monotonic() >= self._next:
            self._draw(is_last=False)

    def end(self, status: int) -> StapyResult:
        """Take what is left, show all for the last time and return the result."""
        if self._rest:
            self._take(self._rest)
        self.result.status = status
        self.result.take(self._arrays)
        if self._screen.is_notebook:
            self._draw(is_last=True)
        elif self._arrays:
            self._screen.text(tables.as_text(self._arrays))
        if self._lacks:
            self._screen.complain(self._lacks)
        return self.result

    def _take(self, line: str) -> None:
        try:
            record = json.loads(line)
            if not isinstance(record, dict):
                raise TypeError
            self._reader.take(record)
        except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError):
            # What the program of -c prints comes on the same stream.
            self._screen.text(f"{line}\n")
            return
        kind = record["type"]
        if kind in ("print", "text"):
            self._screen.text(str(record["text"]))
        if kind == "print":
            self.result.prints.append(record)
        if kind == "error":
            self.result.errors.append(str(record["message"]))
        if kind == "global":
            host = [record["host"]] if "host" in record else []
            keys = (*host, *record.get("keys", ()))
            self._arrays.setdefault(str(record["name"]), {})[keys] = record["value"]
        self._is_stale = self._is_stale or kind in ("print", "global")

    def _draw(self, is_last: bool) -> None:
        began = time.monotonic()
        self._is_stale = False
        if self._arrays:
            page, text = tables.as_html(self._arrays), tables.as_text(self._arrays)
            self._screen.show("tables", {"text/html": page, "text/plain": text})
        self._picture(is_last)
        spent = time.monotonic() - began
        self._next = time.monotonic() + max(_FRESH, _SHARE * spent)

    def _picture(self, is_last: bool) -> None:
        """Draw the charts that ``--plot`` would draw, if there are any yet."""
        if self._lacks:
            return
        try:
            files.check("cell.svg")
        except PlotError as error:
            self._lacks = str(error)
            return
        recording = self._reader.recording
        rows = [(place, place.rows) for place in recording.places.values()]
        try:
            if not is_last:
                for place, all_rows in rows:
                    place.rows = all_rows[-_DRAWN:]
            drawn = choice.choose(recording, choice.PlotWish())
            picture = files.WRITERS[".svg"](drawn, "").decode("utf-8")
        except PlotError:
            return  # nothing that could be drawn has come
        finally:
            for place, all_rows in rows:
                place.rows = all_rows
        bundle = {"image/svg+xml": picture, "text/plain": files.summary(drawn)}
        self._screen.show("plot", bundle)
