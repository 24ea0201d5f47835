"""Types into a program in a terminal, and prints what its screen shows at the end, as JSON.

    drive.py '{"command": […], "size": [40, 120], "steps": [[["words"], "keys"], …], "seconds": 60}'

Each step waits until the screen has all of its words and then types its keys; the screen is taken
when the last step's words are there, before its keys.  It runs where the program does, here or in
a virtual machine, and needs pyte only.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import struct
import sys
import termios
import time

import pyte

QUIET = 1.0  # seconds without a change until a screen counts as drawn


def main() -> int:
    """Run the program and type; return 1 when a step's words never came."""
    asked = json.loads(sys.argv[1])
    pid, fd = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm-256color", COLORTERM="truecolor")
        os.execvp(asked["command"][0], asked["command"])
    rows, columns = asked["size"]
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    screen = pyte.Screen(columns, rows)
    stream = pyte.ByteStream(screen)
    steps, end, changed = asked["steps"], time.monotonic() + asked["seconds"], time.monotonic()
    taken = None
    while time.monotonic() < end:
        if select.select([fd], [], [], 0.2)[0]:
            try:
                data = os.read(fd, 65536)
            except OSError:
                break
            stream.feed(data)
            changed = time.monotonic()
            if b"\x1b[6n" in data:  # a program asks where the cursor is
                os.write(fd, f"\x1b[{screen.cursor.y + 1};{screen.cursor.x + 1}R".encode())
        text = "\n".join(screen.display)
        is_still = time.monotonic() - changed > QUIET or asked.get("moves", False)
        if steps and is_still and all(word in text for word in steps[0][0]):
            if len(steps) == 1:
                taken = cells(screen)
            os.write(fd, steps.pop(0)[1].encode())
            changed = time.monotonic()
    if taken is None:
        print("never seen:", steps[:1], *screen.display, sep="\n", file=sys.stderr)
        return 1
    print(json.dumps(taken))
    return 0


def cells(screen: pyte.Screen) -> list[list[list[object]]]:
    """List the lines of a screen as pieces: text, colour, background, bold, reversed."""
    lines = []
    for row in range(screen.lines):
        pieces: list[list[object]] = []
        for column in range(screen.columns):
            char = screen.buffer[row][column]
            style = [char.fg, char.bg, char.bold, char.reverse]
            if pieces and pieces[-1][1:] == style:
                pieces[-1][0] = f"{pieces[-1][0]}{char.data}"
            else:
                pieces.append([char.data, *style])
        lines.append(pieces)
    return lines


if __name__ == "__main__":
    sys.exit(main())
