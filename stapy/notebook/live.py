"""Records of a session as they come: text, tables and pictures that change while it runs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from stapy.notebook import tables
from stapy.notebook.incoming import Lines, taken_apart
from stapy.notebook.result import Arrays, StapyResult
from stapy.plot import choice, files
from stapy.plot.errors import PlotError
from stapy.plot.recording import JsonReader
from stapy.run.ground.manifest import SNAPSHOT_ELEMENTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from IPython.display import DisplayHandle

_FRESH = 0.5  # seconds between two pictures of what has changed, at least
_SHARE = 5  # of the time that a picture takes, so many times as long is nothing drawn
_BLANK = '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'
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

    def __init__(self, cell: CellOutput) -> None:
        """Show records in a cell."""
        self.result = StapyResult()
        self._cell = cell
        self._reader = JsonReader("the session")
        self._arrays: Arrays = {}
        # Of each global, and host, whether a snapshot or the end told it last.
        self._told: dict[tuple[str, ...], str] = {}
        # How many keys elements of each global have, and whether they are statistics.
        self._shapes: dict[str, tuple[int, bool]] = {}
        self._lines = Lines()
        self._is_stale = False
        # In a notebook: what goes when there is nothing left to show in it.
        self._has_plot = self._has_tables = False
        self._next = 0.0  # when something may be drawn again
        self._lacks = ""  # why there are no pictures

    def feed(self, text: str) -> None:
        """Take a piece of the output, which may end within a line."""
        for line in self._lines.feed(text):
            self._take(line)

    def tick(self) -> None:
        """Show what has changed, unless that was done just now."""
        if self._is_stale and self._cell.is_notebook and time.monotonic() >= self._next:
            self._draw(is_last=False)

    def end(self, status: int) -> StapyResult:
        """Take what is left, show all for the last time and return the result."""
        rest = self._lines.rest()
        if rest:
            self._take(rest)
        self._settle_snapshots()
        self.result.status = status
        self.result.take(self._arrays)
        if self._cell.is_notebook:
            self._draw(is_last=True)
        elif self._arrays:
            self._cell.text(tables.as_text(self._arrays, self._cut()))
        if self._lacks:
            self._cell.complain(self._lacks)
        return self.result

    def _take(self, line: str) -> None:
        text, record = taken_apart(line)
        if record is None:
            self._cell.text(f"{text}\n")  # of the program of -c, on the same stream
            return
        if text:
            self._cell.text(text)
        kind = record["type"]
        if kind in ("global", "snapshot"):
            self._take_global(record)
        elif kind == "look":
            self._begin_look(record["name"], "snapshot", self._reader.origin(record))
        else:
            self._reader.take(record)
        if kind in ("print", "text"):
            self._cell.text(record["text"])
        if kind == "print":
            self.result.prints.append(record)
        if kind == "error":
            self.result.errors.append(record["message"])
        self._is_stale = self._is_stale or kind in ("print", "look", "global", "snapshot")

    def _take_global(self, record: dict[str, Any]) -> None:
        """Take a global, or an element; the first one of the end replaces what was there."""
        name, kind, origin = record["name"], record["type"], self._reader.origin(record)
        keys = (*origin, *record.get("keys", ()))
        self._keep_shape(name, (len(keys), isinstance(record["value"], dict)))
        if self._told.get((name, *origin)) != kind:
            self._begin_look(name, kind, origin)
        self._reader.take({**record, "type": "global"})
        self._arrays.setdefault(name, {})[keys] = record["value"]

    def _begin_look(self, name: str, kind: str, origin: list[str]) -> None:
        self._told[name, *origin] = kind
        self._forget(name, tuple(origin))

    def _keep_shape(self, name: str, shape: tuple[int, bool]) -> None:
        """Drop all of a global that is told of in another shape: what was there was not its own.

        A program of -c can print what looks like a record.
        """
        if self._shapes.setdefault(name, shape) != shape:
            self._shapes[name] = shape
            self._forget(name, ())

    def _forget(self, name: str, origin: tuple[str, ...]) -> None:
        """Drop what was told of a global, by one host where there are several."""
        told, read = self._arrays.get(name, {}), self._reader.recording.globals.get(name, {})
        for keys in [keys for keys in told if keys[: len(origin)] == origin]:
            del told[keys]
            del read[keys]
        if not told:
            self._arrays.pop(name, None)
            self._reader.recording.globals.pop(name, None)

    def _settle_snapshots(self) -> None:
        """Drop what the end did not tell of again, arrays that were emptied since.

        Where there was no such end, the last look at each is what there is: say so.
        """
        old = [place for place, kind in self._told.items() if kind == "snapshot"]
        recording = self._reader.recording
        if recording.is_ended and not recording.errors:
            for name, *origin in old:
                self._forget(name, tuple(origin))
        elif names := dict.fromkeys(name for name, *_ in old if name in self._arrays):
            self.result.snapshots = set(names)
            self._cell.complain(
                f"the session did not tell its globals at the end: {', '.join(names)} "
                f"{'is' if len(names) == 1 else 'are'} as in the last snapshot, which has at most "
                f"{SNAPSHOT_ELEMENTS} elements of an array"
            )

    def _cut(self) -> set[str]:
        """Name the arrays of which snapshots may have told only a part."""
        last: dict[str, int] = {}
        for (name, *origin), kind in self._told.items():
            if kind == "snapshot":
                found = self._arrays.get(name, {})
                count = sum(list(keys[: len(origin)]) == origin for keys in found)
                last[name] = max(count, last.get(name, 0))
        return {name for name, count in last.items() if count >= SNAPSHOT_ELEMENTS}

    def _draw(self, is_last: bool) -> None:
        began = time.monotonic()
        self._is_stale = False
        if self._arrays or self._has_tables:
            self._has_tables = True
            cut = self._cut()
            page, text = tables.as_html(self._arrays, cut), tables.as_text(self._arrays, cut)
            self._cell.show("tables", {"text/html": page, "text/plain": text})
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
            # Nothing that could be drawn has come, or what was drawn is there no longer.
            drawn, picture = [], ""
        finally:
            for place, all_rows in rows:
                place.rows = all_rows
        if not (drawn or self._has_plot):
            return
        self._has_plot = True
        bundle = {"image/svg+xml": picture or _BLANK, "text/plain": files.summary(drawn)}
        self._cell.show("plot", bundle)
