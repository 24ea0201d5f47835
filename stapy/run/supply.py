"""Sends the module the tables that a session needs, which other processes make."""

from __future__ import annotations

import errno
import os
import time

from . import maker as makers
from . import objects
from .control import Channel
from .maker import DONE, TABLE, Maker
from .printable import name as printable_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Dict, List, Optional, Set, Tuple

    from .ground.manifest import TableDemand
    from .maker import First

_QUEUED = 32  # files of an owner that wait for their table
_ALL_QUEUED = 256
_STRIKES = 3  # files of an owner that were given up before no other one is tried
_LOST = 8  # makers that cannot even be killed
_LOOK = 1000  # milliseconds
_FIRST = 120  # seconds that a session waits for what its first hits need
_NAME = 4000  # bytes of a name: the module takes no longer ones
# Beside owners.
_NO_ROOM, _NO_MAKER, _UNKNOWN = -2, -3, -4


class _Lane:
    """A maker and what it is to do: one for root's files, another one for those of all others."""

    def __init__(self) -> None:
        self.maker: Optional[Maker] = None
        self.queue: List[Tuple[int, int]] = []  # owner, file
        self.current: Optional[Tuple[int, int]] = None
        self.since = 0.0


class Supplier:
    """What is wanted first, then what the module asks for.

    Nothing here waits for a file: descriptors of them stand for a place only (O_PATH).
    """

    def __init__(
        self,
        channel: Channel,
        wanted: TableDemand,
        note: "Callable[[str], None]",
        tell: "Optional[Callable[[str], None]]" = None,
    ) -> None:
        self._channel = channel
        self._wanted = wanted
        self._note = note
        self._tell = tell or (
            lambda text: None
        )  # of progress, while a session waits; "": it is over
        self._first = 0  # tables that were made before the session begins
        self._lanes = (_Lane(), _Lane())
        self._spent: Dict[int, float] = {}  # seconds that files of an owner took
        self._strikes: Dict[int, int] = {}
        self._noted: Set[int] = set()  # owners whose files have no more room, and what is below
        self._lost: List[Maker] = []
        self._until = 0.0
        self.preparing = False  # what the first hits need is not all there yet

    def begin(self, files: "List[str]", command: str, pid: int) -> None:
        """Begin with what the first hits will need."""
        # Among it are files of whoever is traced: root's files have the other maker.
        lane = self._lanes[1]
        lane.maker = self._maker(lambda tables: tables.first(files, command, pid))
        self.preparing = lane.maker is not None
        self._until = time.monotonic() + _FIRST

    # --- the loop's side -------------------------------------------------

    @property
    def fds(self) -> "List[int]":
        """What to listen to."""
        return [lane.maker.fd for lane in self._lanes if lane.maker]

    @property
    def patience(self) -> "Optional[int]":
        """Milliseconds after which to look at them."""
        return _LOOK if any(lane.maker and lane.maker.is_busy for lane in self._lanes) else None

    def serve(self) -> None:
        """Do what can be done without waiting."""
        for lane in self._lanes:
            maker = lane.maker
            if not maker:
                continue
            reports = maker.hear()
            why = maker.overdue() if maker.is_busy else ""
            for report in reports or ():
                if report.kind == TABLE:
                    owner = lane.current[0] if lane.current else _UNKNOWN
                    self._write(report.fd, report.name, report.data, owner)
                    if report.fd >= 0:
                        os.close(report.fd)
                    self._first += self.preparing
                elif report.kind == DONE:
                    self._finish(lane)
            if reports is None or why:
                self._lose(lane, maker, why)
        # Anybody's process may map hundreds of files that take a minute each.
        if self.preparing and time.monotonic() > self._until:
            self._hurry()
        maker = self._lanes[1].maker
        if self.preparing and maker:
            at = _shown(maker.at)
            self._tell(f"making tables for user stacks (once): {self._first} done, now {at}")
        elif self._first:
            self._first = 0
            self._tell("")
        self._lost = [maker for maker in self._lost if not maker.is_gone()]
        for lane in self._lanes:
            self._give(lane)

    def end(self) -> None:
        """Leave nobody behind, and wait for nobody."""
        for lane in self._lanes:
            if lane.maker:
                lane.maker.end()
                lane.maker.is_gone()
                lane.maker = None
            for _, fd in lane.queue + ([lane.current] if lane.current else []):
                os.close(fd)
            lane.queue, lane.current = [], None
        self.preparing = False
        self._tell("")

    def answer(self, text: str) -> None:
        """Take what the module asks for: a number for the file, and whose it is."""
        number, _, owner = text.partition(" ")
        try:
            fd = self._channel.fetch(int(number))
            uid = int(owner or 0)
        except (OSError, ValueError):
            return  # it was asked for twice
        lane = self._lanes[uid != 0]
        full = uid in self._noted or _NO_ROOM in self._noted
        mine = sum(1 for one, _ in lane.queue if one == uid)
        if full or mine >= _QUEUED or len(lane.queue) >= _ALL_QUEUED:
            os.close(fd)  # it is asked for again when it is met again
            return
        lane.queue.append((uid, fd))
        self._give(lane)

    def _maker(self, first: "Optional[First]" = None) -> "Optional[Maker]":
        why = makers.unbounded()
        if why:
            self._note_once(_NO_MAKER, f"no tables for user stacks: {why}")
            return None
        try:
            return Maker(self._wanted, first)
        except OSError as error:
            self._note_once(_NO_MAKER, f"no tables for user stacks: {error.strerror}")
            return None

    # --- work ------------------------------------------------------------

    def _give(self, lane: _Lane) -> None:
        """Let a lane's maker go on with the file of whom it has worked least for."""
        while lane.queue and not lane.current and not (lane.maker and lane.maker.is_busy):
            one = min(lane.queue, key=lambda row: self._spent.get(row[0], 0.0))
            lane.queue.remove(one)
            uid, fd = one
            name = _path(fd)
            if (uid and self._strikes.get(uid, 0) >= _STRIKES) or len(self._lost) >= _LOST:
                self._write(fd, name, objects.NOTHING)
                os.close(fd)
                continue
            lane.maker = lane.maker or self._maker()
            if not lane.maker:
                os.close(fd)
                continue
            lane.current, lane.since = one, time.monotonic()
            if not lane.maker.give(fd, name, trusted=not uid):
                self._lose(lane, lane.maker, "")

    def _finish(self, lane: _Lane) -> None:
        """Note that a maker has done what it was told."""
        if lane.current:
            uid, fd = lane.current
            self._spent[uid] = self._spent.get(uid, 0.0) + time.monotonic() - lane.since
            os.close(fd)
            lane.current = None
        else:
            self.preparing = False

    def _hurry(self) -> None:
        """Begin without some tables: they are asked for when their files are met."""
        lane = self._lanes[1]
        if lane.maker:
            self._note(
                f"the first user stacks may end early: all their tables take more than {_FIRST} s, "
                f"the last one of {_shown(lane.maker.at)}"
            )
            self._end(lane, lane.maker)
        self.preparing = False

    def _end(self, lane: _Lane, maker: Maker) -> None:
        maker.end()
        if not maker.is_gone():
            self._lost.append(maker)
        lane.maker = None

    def _lose(self, lane: _Lane, maker: Maker, why: str) -> None:
        """Give up a maker; the file is not asked for again."""
        self._end(lane, maker)
        if not why:
            why = f"it takes more than {makers.PROCESSOR} s of processor time, or too much memory"
        self._note(f"user stacks end in {_shown(maker.at)}: no table of it was made, {why}")
        if lane.current:
            uid, fd = lane.current
            self._strikes[uid] = self._strikes.get(uid, 0) + 1
            if uid and self._strikes[uid] == _STRIKES:
                self._note(f"user stacks end in all further files of user {uid}")
            self._write(fd, maker.at, objects.NOTHING)
        self._finish(lane)

    def _write(self, fd: int, shown: str, data: bytes, owner: int = _UNKNOWN) -> None:
        name = printable_name(os.fsencode(shown))[:_NAME]
        try:
            self._channel.write(b"object %d %s\n" % (fd, name) + data)
        except OSError as error:
            shown = _shown(shown)
            text = f"no room for the table of {shown}"
            if error.errno == errno.ENOSPC:
                self._note_once(_NO_ROOM, f"{text}: -D STAPY_OBJECT_MEMORY=MIB")
            elif error.errno == errno.EDQUOT:
                text += " beside those of its owner's other files"
                self._note_once(owner, f"{text}: -D STAPY_OBJECT_MEMORY=MIB")
            else:
                self._note(f"the table of {shown} was refused: {error.strerror}")

    def _note_once(self, about: int, text: str) -> None:
        if about not in self._noted:
            self._noted.add(about)
            self._note(text)


def _shown(path: str) -> str:
    """Write a name for a message, whose lines nobody's file is to make."""
    return os.fsdecode(printable_name(os.fsencode(path))) or "a file"


def _path(fd: int) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        return ""
