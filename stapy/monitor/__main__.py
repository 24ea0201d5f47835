"""Run the screen: ``python -m stapy.monitor OUTPUT CONSUMER SECONDS END``.

It is for the consumer only (stapy/run/screen.py).
"""

from __future__ import annotations

import signal
import sys


def main(words: list[str]) -> int:
    """Show a session, then leave on the terminal what it printed; return the exit status."""
    from stapy.monitor.screen import Screen

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    output, consumer, seconds, end = words
    screen = Screen(int(output), int(consumer), float(seconds), end)
    screen.run()
    sys.stdout.write("".join(line + "\n" for line in screen.printed))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
