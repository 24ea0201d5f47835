"""The screen: probes, globals and what the script prints; keys switch probes and reset figures."""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from rich.markup import escape
from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import DataTable, Footer, Input, RichLog, Static

from stapy.monitor.history import SORTS, History, order
from stapy.monitor.spark import characters, draw
from stapy.monitor.status import SessionStatus, parse, values_of

KEPT_LINES = 10_000  # of what the script printed, for the terminal after the screen is gone
LINES_AT_ONCE = 1000  # more than a screen has
TICK = 0.1  # seconds from one look for lines to the next
PROBES = ("", "point", "hits", "per s", "", "min", "avg", "max")
GLOBALS = ("global", "per s", "", "value")


class Screen(App[None]):
    """Shows one session until its output ends.

    ``output`` is a descriptor: a line with the session's folder, then what the script prints, up
    to ``end`` at the end of a line.
    ``consumer`` is the process that is interrupted when the user has seen enough.
    """

    CSS = """
    #about { height: 1; background: $primary; color: $text; }
    #probes { height: 2fr; }
    #globals { height: 2fr; }
    #output { height: 1fr; border-top: solid $primary; }
    #words { display: none; }
    .hidden { display: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "leave", "quit"),
        Binding("ctrl+c", "leave", show=False, priority=True),
        Binding("t,space", "switch", "on/off"),
        Binding("p", "all(False)", "all off"),
        Binding("r", "all(True)", "all on"),
        Binding("c", "reset", "reset"),
        Binding("s", "sort", "sort"),
        Binding("slash", "filter", "filter"),
        Binding("x", "hide", "hide tables"),
    ]
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, output: int, consumer: int, interval: float, end: str) -> None:
        super().__init__()
        self.printed: deque[str] = deque(maxlen=KEPT_LINES)  # for the terminal
        # What the output's part has not shown yet: it is slower than a pipe, and who writes there
        # would lose records while waiting for it.
        self._fresh: deque[str] = deque(maxlen=LINES_AT_ONCE)
        self._output = output
        self._end = end
        self._consumer = consumer
        self._interval = interval
        self._folder: Path | None = None
        self._status: SessionStatus | None = None
        self._history = History()
        self._bars = characters()
        self._sort = SORTS[0]
        self._words = ""
        self._shown: list[int] = []

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        yield Static("waiting for the session", id="about", markup=False)
        with Vertical(id="tables"):
            yield DataTable(id="probes", cursor_type="row", zebra_stripes=True)
            yield DataTable(id="globals", cursor_type="row", zebra_stripes=True)
        yield Input(id="words", placeholder="words of a probe's point")
        yield RichLog(id="output", max_lines=KEPT_LINES, markup=False)
        yield Footer()

    def on_mount(self) -> None:
        """Begin to read."""
        for part, names in (("#globals", GLOBALS), ("#probes", PROBES)):
            table = self.query_one(part, DataTable)
            for name in names:
                table.add_column(name)
        table.focus()
        threading.Thread(target=self._read, daemon=True).start()
        self.set_interval(self._interval, self.look)
        self.set_interval(TICK, self._take)

    def _read(self) -> None:
        """Read what comes, in a thread of its own; leave when nothing more will."""
        with suppress(RuntimeError):  # the screen has gone meanwhile
            self._read_all()

    def _read_all(self) -> None:
        with open(self._output, encoding="utf-8", errors="replace", closefd=False) as file:
            self._folder = Path(file.readline().rstrip("\n"))
            self.call_from_thread(self.look)
            for line in file:
                text = line.rstrip("\n")
                is_last = text.endswith(self._end)
                text = text.removesuffix(self._end)
                if text or not is_last:
                    self.printed.append(text)
                    self._fresh.append(text)
                if is_last:
                    break
        if self.is_running:
            self.call_from_thread(self.exit)

    def _take(self) -> None:
        """Show what has come, the last lines of it when there is more than can be shown."""
        if not self._has_parts():
            return
        log = self.query_one("#output", RichLog)
        for _ in range(min(len(self._fresh), LINES_AT_ONCE)):
            log.write(Text.from_ansi(self._fresh.popleft()))

    def _has_parts(self) -> bool:
        """Tell whether there is something to show it on: clocks go on while the screen is left."""
        return bool(self.query("#output"))

    # --- what is shown ---------------------------------------------------

    def look(self) -> None:
        """Read the status and show it."""
        if self._folder is None:
            return
        try:
            self._status = parse((self._folder / "monitor_status").read_text(errors="replace"))
        except (OSError, ValueError):
            return  # not armed yet, skipped, or over: the next look tells
        self._history.add(self._status)
        self._show()

    def _show(self) -> None:
        status = self._status
        if status is None or not self._has_parts():
            return
        self.query_one("#about", Static).update(
            f"{status.module}  up {status.uptime:.0f} s  {status.memory / 1e6:.1f} MB  "
            f"skipped {status.skipped}  sorted by {self._sort}  in {status.units}"
        )
        self._shown = order(status, self._history, self._sort, self._words)
        _fill(self.query_one("#probes", DataTable), self._probe_rows(status))
        _fill(self.query_one("#globals", DataTable), self._global_rows(status))

    def _probe_rows(self, status: SessionStatus) -> list[list[str]]:
        rows = []
        for at in self._shown:
            probe = status.probes[at]
            state = "on" if probe.is_on else "off"
            rate, bars = f"{self._history.rate(at):.0f}", draw(self._history.rates(at), self._bars)
            figures = [probe.min, probe.avg, probe.max]
            rows.append(
                [state, escape(probe.point), str(probe.hits), rate, bars, *map(str, figures)]
            )
        return rows

    def _global_rows(self, status: SessionStatus) -> list[list[str]]:
        rows = []
        for name, value in status.globals.items():
            for one in values_of(name, value):
                rates = self._history.changes(one.name)
                rate = "" if not rates or rates[-1] is None else str(round(rates[-1]))
                rows.append([escape(one.name), rate, draw(rates, self._bars), escape(one.text)])
        return rows

    # --- keys ------------------------------------------------------------

    def _command(self, text: str) -> None:
        if self._folder is None:
            return
        try:
            (self._folder / "monitor_control").write_text(text, encoding="ascii")
        except OSError as error:
            self.notify(f"{text}: {error.strerror}", severity="error")

    def action_switch(self) -> None:
        """Switch the probe under the cursor."""
        at = self.query_one("#probes", DataTable).cursor_row
        if self._status is None or not 0 <= at < len(self._shown):
            return
        probe = self._status.probes[self._shown[at]]
        if not probe.switch:
            self.notify("this probe has no switch: it is hit once", severity="warning")
            return
        self._command(f"{'off' if probe.is_on else 'on'} {probe.switch}\n")
        self.look()

    def action_all(self, is_on: bool) -> None:
        """Switch all probes on, or off."""
        if self._status is None:
            return
        for switch in sorted({probe.switch for probe in self._status.probes} - {0}):
            self._command(f"{'on' if is_on else 'off'} {switch}\n")
        self.look()

    def action_reset(self) -> None:
        """Forget hits, and give globals their first values."""
        self._command("reset\n")
        self.look()

    def action_sort(self) -> None:
        """Sort by the next column."""
        self._sort = SORTS[(SORTS.index(self._sort) + 1) % len(SORTS)]
        self._show()

    def action_filter(self) -> None:
        """Ask for words that points must have."""
        words = self.query_one("#words", Input)
        words.styles.display = "block"
        words.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Show the probes with these words only."""
        self._words = event.value
        event.input.styles.display = "none"
        self.query_one("#probes", DataTable).focus()
        self._show()

    def action_hide(self) -> None:
        """Give the script's output the whole screen, or take it back."""
        self.query_one("#tables").toggle_class("hidden")

    def action_leave(self) -> None:
        """Ask the consumer to end the session; its last output ends this."""
        os.kill(self._consumer, signal.SIGINT)


def _fill(table: DataTable[str], rows: list[list[str]]) -> None:
    """Show rows, with the cursor and the scroll where they were."""
    cursor, scroll = table.cursor_row, table.scroll_y
    table.clear()
    for row in rows:
        table.add_row(*row)
    if rows:
        table.move_cursor(row=min(cursor, len(rows) - 1), scroll=False)
        table.scroll_to(y=scroll, animate=False)
