"""The whole screen as a terminal shows it."""

from __future__ import annotations

import fcntl
import os
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pyte

from tests.monitor.test_status import document

COLUMNS, LINES = 72, 20
EXPECTED = """\
stap_1  up 3 s  1.0 MB  skipped 2  sorted by script  in cycles
     point       hits  per s      min   avg  max
 on  timer.s(1)  110   10     █▁  -100  5    220
 on  begin       1     0          9     5    2

 global   per s      value
 n        2      ▄█  8
 name                "a"
 by["x"]  0          2

────────────────────────────────────────────────────────────────────────
printed







 q quit  t on/off  p all off  r all on  c reset  s sort  / filter  x hid
"""


class Terminal:
    """A terminal in memory with the program of --monitor on it, fed as the consumer feeds it."""

    def __init__(self, folder: Path) -> None:
        self.screen = pyte.Screen(COLUMNS, LINES)
        self._stream = pyte.ByteStream(self.screen)
        self._fd, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        reading, self._feed = os.pipe()
        environment = {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        environment.pop("NO_COLOR", None)
        self._program = subprocess.Popen(
            [sys.executable, "-m", "stapy.monitor", str(reading), str(os.getpid()), "0.2", "END"],
            stdin=slave, stdout=slave, stderr=slave, pass_fds=[reading], env=environment,
            start_new_session=True,
        )  # fmt: skip
        os.close(reading)
        os.close(slave)
        self.tell(f"{folder}\n")

    def tell(self, text: str) -> None:
        """Print something as the session does."""
        os.write(self._feed, text.encode())

    def rows(self) -> list[str]:
        """Return what can be read now."""
        return [row.rstrip() for row in self.screen.display]

    def until(self, what: Callable[[list[str]], bool], seconds: float = 60) -> list[str]:
        """Take in what comes until the rows are so, or time is over; return them."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not what(self.rows()):
            if not select.select([self._fd], [], [], 0.2)[0]:
                continue
            try:
                self._stream.feed(os.read(self._fd, 65536))
            except OSError:
                break  # nobody is there any more
        return self.rows()

    def close(self) -> int:
        """End the output; return the status of the program."""
        self.tell("END\n")
        os.close(self._feed)
        self.until(lambda rows: self._program.poll() is not None)
        os.close(self._fd)
        return self._program.wait(60)


def test_the_whole_screen(tmp_path: Path) -> None:
    """Two looks with rates: each row as it stands there, the figures and bars in their columns."""

    def tell(uptime: float, hits: int, n: int) -> None:
        known = {"n": n, "name": "a", "by": [["x", 2]]}
        new = tmp_path / "new"
        new.write_text(document(uptime, (hits, 1), globals=known))
        new.rename(tmp_path / "monitor_status")

    (tmp_path / "monitor_control").write_text("")
    tell(1.0, 0, 5)
    terminal = Terminal(tmp_path)
    try:
        terminal.tell("printed\n")
        terminal.until(lambda rows: "up 1 s" in rows[0])
        tell(2.0, 100, 6)
        terminal.until(lambda rows: "up 2 s" in rows[0])
        tell(3.0, 110, 8)
        expected = EXPECTED.splitlines()
        assert terminal.until(lambda rows: rows == expected) == expected
    finally:
        status = terminal.close()
    assert status == 0
