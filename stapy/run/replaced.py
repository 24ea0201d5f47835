"""Whether the files that places are in are those that programs are run from.

A package manager puts a new file at the old one's path: what is started from then on is another
program, in which nothing is armed, and nothing in its silence says so.  Nor does anything when all
that runs is another file of that name.  Who looks is another process (`apart`): a path may lead to
a file system that does not answer, and the session goes on.
"""

from __future__ import annotations

import _socket
import os
import select
import time

from . import inside, looks
from .apart import Apart

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Dict, List, Optional, Tuple

    from .ground.manifest import Manifest

INTERVAL = 10.0  # seconds between two looks
WAITING = 30.0  # seconds that a file is waited for
AT_END = 5.0  # seconds that a session which ends waits for a file
ALL_AT_END = 15.0  # and for all of them
_STEP = 1.0  # seconds after which a look that is waited for counts as much, however long it was
_MOST = 1 << 16  # bytes of an answer
# What stands for a file of one process, by whatever name it has or had.
_OF_ONE = ("/exe", "/map_files/")


class Replacements:
    """The files of a session by where they are; each that is another one by now is told once."""

    def __init__(self, manifest: Manifest, namespaces: int, tell: "Callable[[str], None]") -> None:
        """Note which files are there, right after they were handed over.

        ``tell`` prints a warning, ``namespaces`` is the process of -N.
        """
        self._tell = tell
        self._held: "Dict[str, Tuple[int, int]]" = {}
        for named, row in sorted((manifest.get("files") or {}).items()):
            path = inside.place(named, manifest, namespaces)
            is_left_out = _is_of_one(path) or not row.get("identity")
            found = None if is_left_out else looks.look(path, None)
            if found:
                self._held[path] = found
        self._next = time.monotonic() + INTERVAL
        self._looker: "Optional[Apart]" = None
        self._lost: "List[Apart]" = []
        self._asked: "List[str]" = []  # what there is no answer for yet, in the order of answers
        self._waited, self._since = 0.0, 0.0  # for the first of these
        self._wake = -1
        self._is_hurried: "Callable[[], bool]" = lambda: False
        self._is_over = False  # nobody waits for what is still asked

    @property
    def fd(self) -> int:
        """What to listen to, -1 for nothing."""
        return self._looker.fd if self._looker else -1

    @property
    def patience(self) -> "Optional[int]":
        """Milliseconds until `serve` wants to be called, None for never."""
        if self._asked:
            return int(_STEP * 1000)
        if not self._held:
            return None
        return max(0, int((self._next - time.monotonic()) * 1000)) + 1

    def serve(self) -> None:
        """Tell of what was replaced or removed, and look again when it is time to."""
        self._lost = [one for one in self._lost if not one.is_gone()]
        self._hear()
        if self._asked:
            self._wait()
        elif self._held and time.monotonic() >= self._next:
            self._ask()

    def hurry_by(self, wake: int, is_hurried: "Callable[[], bool]") -> None:
        """Wait no more at the end when a descriptor is readable and ``is_hurried`` says so."""
        self._wake, self._is_hurried = wake, is_hurried

    def look(self) -> None:
        """Look a last time, and wait for what that tells."""
        end = time.monotonic() + ALL_AT_END
        self._hear()
        # What was asked for a while ago may have been answered before the file was replaced.
        for _ in range(1 + bool(self._asked)):
            if not self._asked and not self._is_over:
                self._ask()
            while self._asked and self._listen(min(end, time.monotonic() + AT_END)):
                self._hear()
        if self._is_over:
            self._drop()
        elif self._asked:
            self._give_up(f"has not answered within {AT_END:.0f} seconds")

    def elsewhere(self) -> "List[str]":
        """Say of files that nobody has in memory which process has another one of that name.

        Of none, when there was no time to look at all processes.
        """
        looker = self._start() if self._held and not (self._asked or self._is_over) else None
        if not looker:
            return []
        found: "List[str]" = []
        until = time.monotonic() + looks.PATIENCE + _STEP
        try:
            looker.send(looks.ELSEWHERE)
            while self._listen(until):
                answer = looker.receive(_MOST)
                if answer[:1] != looks.TOLD:
                    return found if answer == looks.END else []
                found.append(os.fsdecode(answer[1:]))
        except OSError:
            pass  # it is no more
        return []

    def end(self) -> None:
        """Leave nobody behind, and wait for nobody."""
        self._drop()

    # --- who looks ---------------------------------------------------------

    def _start(self) -> "Optional[Apart]":
        """Start who looks, unless there is one; None without room for it."""
        if not self._looker:
            held = dict(self._held)
            try:
                self._looker = Apart(
                    lambda theirs: looks.serve(theirs, held), _socket.SOCK_SEQPACKET, "stapy-looks"
                )
            except OSError:
                return None
        return self._looker

    def _drop(self) -> None:
        """Give up who looks: it may wait for a file for as long as the machine runs."""
        self._asked = []
        if self._looker:
            self._looker.end()
            if not self._looker.is_gone():
                self._lost.append(self._looker)
            self._looker = None

    def _ask(self) -> None:
        self._next = time.monotonic() + INTERVAL
        looker = self._start() if self._held else None
        if looker:
            try:
                looker.send(looks.LOOK)
            except OSError:
                self._drop()
                return
            self._asked = list(self._held)
            self._begin()

    def _begin(self) -> None:
        self._waited, self._since = 0.0, time.monotonic()

    def _listen(self, until: float) -> bool:
        """Wait for an answer; False when the time is over, or somebody cannot wait."""
        poll = select.poll()
        poll.register(self.fd, select.POLLIN)
        if self._wake >= 0:
            poll.register(self._wake, select.POLLIN)
        while not self._is_over:
            ready = dict(poll.poll(max(0, int((until - time.monotonic()) * 1000))))
            self._is_over = self._wake in ready and self._is_hurried()
            if self.fd in ready and not self._is_over:
                return True
            if time.monotonic() >= until:
                break
        return False

    def _hear(self) -> None:
        """Take the answers that are there."""
        while self._looker:
            try:
                answer = self._looker.receive(_MOST)
            except BlockingIOError:
                return
            except OSError:
                answer = b""
            if not answer or not self._asked:  # somebody has ended it
                self._drop()
                return
            path = self._asked.pop(0)
            self._begin()
            if answer[:1] == looks.TOLD:
                del self._held[path]
                if len(answer) > 1:
                    self._tell(os.fsdecode(answer[1:]))

    def _wait(self) -> None:
        """Give up who looks when a file was waited for too long."""
        now = time.monotonic()
        # Who has not been here for long was stopped, and who looks with him.
        self._waited += min(now - self._since, _STEP)
        self._since = now
        if self._waited > WAITING:
            self._give_up("does not answer")

    def _give_up(self, why: str) -> None:
        """Look no more at a file that is waited for, nor at those that are where it is."""
        first = self._asked[0]
        device = self._held[first][0]
        self._held = {path: one for path, one in self._held.items() if one[0] != device}
        self._drop()
        self._tell(f"whether {inside.told(first)} is replaced is not known: its file system {why}")


def _is_of_one(path: str) -> bool:
    return path.startswith("/proc/") and any(part in path for part in _OF_ONE)
