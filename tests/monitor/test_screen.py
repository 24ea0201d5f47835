"""The screen, driven by keys, over files as a session has them."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import DataTable, RichLog, Static

from stapy.monitor.screen import KEPT_LINES, Screen
from stapy.monitor.spark import ASCII, BLOCKS
from tests.monitor.test_status import document

Drive = Callable[[Screen, Pilot[None]], Awaitable[None]]


@pytest.fixture
def session(tmp_path: Path) -> Path:
    told = document(hits=(4, 1), globals={"n": 3, "by": [["[red]x", 1]]})
    (tmp_path / "monitor_status").write_text(told)
    (tmp_path / "monitor_control").write_text("")
    return tmp_path


def run(session: Path, drive: Drive) -> Screen:
    """Show a session, let ``drive`` do something, end its output; return the screen."""
    reading, writing = os.pipe()
    os.write(writing, f"{session}\nfirst line\n".encode())
    screen = Screen(reading, os.getpid(), 3600, "THE END")

    async def main() -> None:
        async with screen.run_test(size=(120, 40)) as pilot:
            try:
                await until(pilot, lambda: is_ready(screen))
                await drive(screen, pilot)
            finally:
                os.close(writing)

    asyncio.run(main())
    os.close(reading)
    return screen


def is_ready(screen: Screen) -> bool:
    """Tell whether it shows a status and a line; in the beginning it has no parts yet."""
    return all(log.lines for log in screen.query(RichLog)) and any(
        table.row_count for table in screen.query(DataTable)
    )


async def until(pilot: Pilot[None], what: Callable[[], bool]) -> None:
    """Let the screen work until something is so, 20 seconds at most: machines are busy."""
    for _ in range(1000):
        await pilot.pause()
        if what():
            return
        await asyncio.sleep(0.02)


def rows(screen: Screen, table: str) -> list[list[Any]]:
    shown = screen.query_one(table, DataTable)
    return [shown.get_row_at(at) for at in range(shown.row_count)]


def test_what_is_shown(session: Path) -> None:
    async def drive(screen: Screen, pilot: Pilot[None]) -> None:
        probes = rows(screen, "#probes")
        assert [row[:3] for row in probes] == [["on", "timer.s(1)", "4"], ["on", "begin", "1"]]
        # Markup of a script's own texts is text.
        assert rows(screen, "#globals") == [["n", "", "", "3"], ['by["\\[red]x"]', "", "", "1"]]
        assert "stap_1  up 1 s  1.0 MB  skipped 2" in str(
            screen.query_one("#about", Static).render()
        )
        assert screen.query_one("#output", RichLog).lines[0].text == "first line"

    assert run(session, drive).printed == deque(["first line"])


@pytest.mark.parametrize("bars, least", [(BLOCKS, "▁"), (ASCII, ".")])
def test_rates_are_drawn(
    session: Path, monkeypatch: pytest.MonkeyPatch, bars: str, least: str
) -> None:
    """From look to look, of probes and globals, in the characters that the terminal has."""

    async def drive(screen: Screen, pilot: Pilot[None]) -> None:
        for uptime, hits, n in ((2.0, 84, 4), (3.0, 85, 804), (5.0, 85, 2)):
            told = document(uptime, (hits, 1), globals={"n": n, "text": "a"})
            (session / "monitor_status").write_text(told)
            screen.look()
        top, none = bars[-1], bars[0]
        shown = [row[3:5] for row in rows(screen, "#probes")]
        assert shown == [["0", top + least + none], ["0", none * 3]]
        # 1, 800 and -401 in two seconds each: from the least one to the greatest one.
        middle = bars[3]
        assert rows(screen, "#globals") == [
            ["n", "-401", middle + top + none, "2"],
            ["text", "", "", '"a"'],
        ]

    monkeypatch.setattr("stapy.monitor.screen.characters", lambda: bars)
    run(session, drive)


@pytest.mark.parametrize(
    "keys, expected",
    [
        (["c"], "reset\n"),
        (["down", "t"], "off 1\n"),
        (["down", "space"], "off 1\n"),
        (["p"], "off 1\n"),
        (["r"], "on 1\n"),
        (["t"], ""),  # the first one has no switch
    ],
)
def test_commands(session: Path, keys: list[str], expected: str) -> None:
    async def drive(screen: Screen, pilot: Pilot[None]) -> None:
        await pilot.press(*keys)
        await until(pilot, lambda: not expected or control.read_text() == expected)

    control = session / "monitor_control"
    run(session, drive)
    assert control.read_text() == expected


def test_sort_and_filter(session: Path) -> None:
    async def drive(screen: Screen, pilot: Pilot[None]) -> None:
        for _ in range(5):  # as far as the points
            await pilot.press("s")
        expected = ["begin", "timer.s(1)"]
        await until(pilot, lambda: [row[1] for row in rows(screen, "#probes")] == expected)
        assert [row[1] for row in rows(screen, "#probes")] == expected
        await pilot.press("slash", *"tim", "enter")
        await until(pilot, lambda: len(rows(screen, "#probes")) == 1)
        assert [row[1] for row in rows(screen, "#probes")] == ["timer.s(1)"]

    run(session, drive)


def test_a_look_that_fails_changes_nothing(session: Path) -> None:
    async def drive(screen: Screen, pilot: Pilot[None]) -> None:
        before = rows(screen, "#probes")
        for text in ("", "{}"):
            (session / "monitor_status").write_text(text)
            screen.look()
        (session / "monitor_status").unlink()
        (session / "monitor_control").unlink()
        (session / "monitor_control").mkdir()
        screen.look()
        await pilot.press("c")
        await pilot.pause()
        assert rows(screen, "#probes") == before

    run(session, drive)


@pytest.mark.parametrize("key", ["q", "ctrl+c"])
def test_leaving_asks_the_consumer(session: Path, key: str) -> None:
    came: list[int] = []
    old = signal.signal(signal.SIGINT, lambda number, frame: came.append(number))

    async def drive(screen: Screen, pilot: Pilot[None]) -> None:
        await pilot.press(key)
        await until(pilot, lambda: bool(came))
        assert came == [signal.SIGINT]
        assert screen.is_running  # until the session's last output has come

    try:
        run(session, drive)
    finally:
        signal.signal(signal.SIGINT, old)


@pytest.mark.parametrize(
    "text, printed",
    [
        ("THE END\n", ["first line"]),
        ("\nTHE END\nlater\n", ["first line", ""]),
        ("no breakTHE END\n", ["first line", "no break"]),
    ],
)
def test_the_end(session: Path, text: str, printed: list[str]) -> None:
    """Another program may have the pipe: the screen leaves when it is told."""
    reading, writing = os.pipe()
    os.write(writing, f"{session}\nfirst line\n{text}".encode())
    screen = Screen(reading, os.getpid(), 3600, "THE END")
    screen.run(headless=True)
    os.close(writing)
    os.close(reading)
    assert list(screen.printed) == printed


def test_a_flood(session: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who prints does not wait for the screen, here one that would take minutes for all lines."""
    monkeypatch.setattr(RichLog, "write", lambda log, text: time.sleep(0.005))
    reading, writing = os.pipe()
    count = 40_000

    def print_all() -> None:
        with os.fdopen(writing, "w") as file:
            file.write(f"{session}\n")
            for number in range(count):
                file.write(f"\x1b[1mline\x1b[m {number}\n")
            file.write("THE END\n")

    screen = Screen(reading, os.getpid(), 3600, "THE END")
    printer = threading.Thread(target=print_all)
    began = time.monotonic()
    printer.start()
    screen.run(headless=True)
    printer.join()
    os.close(reading)
    assert time.monotonic() - began < 100
    assert list(screen.printed) == [
        f"\x1b[1mline\x1b[m {number}" for number in range(count - KEPT_LINES, count)
    ]
